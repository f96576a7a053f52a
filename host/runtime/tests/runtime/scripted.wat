;; A routine by hand, so that `cargo test` needs no guest toolchain. `scripted.rs` fills in data and code.
(component
  (import "stateous:routine/types@0.1.0" (instance $types
    (type $event (record (field "name" string) (field "payload" (option string))))
    (export "event" (type $event-name (eq $event)))
    (type $task (record
      (field "token" string) (field "id" u64) (field "workflow" string) (field "state" string) (field "visit" u32)
      (field "attempt" u32) (field "entered-by" $event-name) (field "now-ms" u64)))
    (export "task" (type (eq $task)))
    (type $outcome (variant (case "event" $event-name) (case "waiting")))
    (export "outcome" (type (eq $outcome)))
    (type $failure (record (field "message" string) (field "retry" bool)))
    (export "failure" (type (eq $failure)))
    (type $refusal (record (field "code" string) (field "message" string)))
    (export "refusal" (type (eq $refusal)))))
  (alias export $types "event" (type $event))
  (alias export $types "task" (type $task))
  (alias export $types "outcome" (type $outcome))
  (alias export $types "failure" (type $failure))
  (alias export $types "refusal" (type $refusal))
  (import "stateous:routine/context@0.1.0" (instance $context
    (alias outer 1 $refusal (type $r)) (export "refusal" (type $refusal (eq $r)))
    (export "get" (func (param "key" string) (result (option string))))
    (export "all" (func (result string)))
    (export "set" (func (param "key" string) (param "value" string) (result (result (error $refusal)))))))
  (import "stateous:routine/memory@0.1.0" (instance $memory
    (alias outer 1 $refusal (type $r)) (export "refusal" (type $refusal (eq $r)))
    (export "get" (func (param "key" string) (result (option string))))
    (export "set" (func (param "key" string) (param "value" string) (result (result (error $refusal)))))
    (export "delete" (func (param "key" string) (result (result bool (error $refusal)))))
    (export "keys" (func (result (list string))))))
  (import "stateous:routine/notes@0.1.0" (instance $notes
    (alias outer 1 $refusal (type $r)) (export "refusal" (type $refusal (eq $r)))
    (export "add" (func (param "text" string) (result (result (error $refusal)))))))
  (import "stateous:routine/timers@0.1.0" (instance $timers
    (alias outer 1 $refusal (type $r)) (export "refusal" (type $refusal (eq $r)))
    (alias outer 1 $event (type $e)) (export "event" (type $event (eq $e)))
    (export "schedule" (func (param "event" $event) (param "after" string) (result (result (error $refusal)))))))
  (import "stateous:routine/log@0.1.0" (instance $log
    (type $level (enum "debug" "info" "warn" "error")) (export "level" (type $level-name (eq $level)))
    (export "write" (func (param "level" $level-name) (param "text" string)))))

  (core module $libc
    (memory (export "memory") 4)
    (global $top (mut i32) (i32.const 131072))
    (func (export "realloc") (param i32 i32 i32) (param $size i32) (result i32)
      (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
      (global.set $top (i32.add (local.get $at) (local.get $size)))
      (loop $more
        (if (i32.gt_u (global.get $top) (i32.mul (memory.size) (i32.const 65536)))
          (then
            (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))
            (br $more))))
      (local.get $at)))
  (core instance $libc (instantiate $libc))
  (alias core export $libc "memory" (core memory $mem))
  (alias core export $libc "realloc" (core func $realloc))

  (core func $context-get (canon lower (func $context "get") (memory $mem) (realloc $realloc)))
  (core func $context-all (canon lower (func $context "all") (memory $mem) (realloc $realloc)))
  (core func $context-set (canon lower (func $context "set") (memory $mem) (realloc $realloc)))
  (core func $memory-get (canon lower (func $memory "get") (memory $mem) (realloc $realloc)))
  (core func $memory-set (canon lower (func $memory "set") (memory $mem) (realloc $realloc)))
  (core func $memory-delete (canon lower (func $memory "delete") (memory $mem) (realloc $realloc)))
  (core func $memory-keys (canon lower (func $memory "keys") (memory $mem) (realloc $realloc)))
  (core func $notes-add (canon lower (func $notes "add") (memory $mem) (realloc $realloc)))
  (core func $timers-schedule (canon lower (func $timers "schedule") (memory $mem) (realloc $realloc)))
  (core func $log-write (canon lower (func $log "write") (memory $mem)))

  (core module $main
    (import "libc" "memory" (memory 4))
    (import "host" "context-get" (func $context-get (param i32 i32 i32)))
    (import "host" "context-all" (func $context-all (param i32)))
    (import "host" "context-set" (func $context-set (param i32 i32 i32 i32 i32)))
    (import "host" "memory-get" (func $memory-get (param i32 i32 i32)))
    (import "host" "memory-set" (func $memory-set (param i32 i32 i32 i32 i32)))
    (import "host" "memory-delete" (func $memory-delete (param i32 i32 i32)))
    (import "host" "memory-keys" (func $memory-keys (param i32)))
    (import "host" "notes-add" (func $notes-add (param i32 i32 i32)))
    (import "host" "timers-schedule" (func $timers-schedule (param i32 i32 i32 i32 i32 i32 i32 i32)))
    (import "host" "log-write" (func $log-write (param i32 i32 i32)))
    ;; 0..64 is the answer of a host call, 64..128 the outcome; data begins at 1024.
    (;data;)
    (func $info (param $at i32) (param $len i32)
      (call $log-write (i32.const 1) (local.get $at) (local.get $len)))
    ;; An option<string> at 0: logs what is in it, or `none`.
    (func $log-option
      (if (i32.load8_u (i32.const 0))
        (then (call $info (i32.load (i32.const 4)) (i32.load (i32.const 8))))
        (else (call $info (i32.const 256) (i32.const 4)))))
    ;; A result<_, refusal> at 0: logs the code of a refusal.
    (func $log-refusal
      (if (i32.load8_u (i32.const 0))
        (then (call $log-write (i32.const 3) (i32.load (i32.const 4)) (i32.load (i32.const 8))))))
    (func $deep (param $n i32) (result i32)
      (i32.add (call $deep (i32.add (local.get $n) (i32.const 1))) (local.get $n)))
    (data (i32.const 256) "none")
    (func (export "run")
      (param $token i32) (param $token-len i32) (param $id i64) (param $workflow i32) (param $workflow-len i32)
      (param $state i32) (param $state-len i32) (param $visit i32) (param $attempt i32)
      (param $name i32) (param $name-len i32) (param $has-payload i32) (param $payload i32) (param $payload-len i32)
      (param $now i64) (result i32)
      (local $i i32)
      (;code;)
      ;; Where no outcome was given: waiting.
      (i32.store8 (i32.const 68) (i32.const 1))
      (i32.const 64)))
  (core instance $main (instantiate $main
    (with "libc" (instance $libc))
    (with "host" (instance
      (export "context-get" (func $context-get)) (export "context-all" (func $context-all))
      (export "context-set" (func $context-set)) (export "memory-get" (func $memory-get))
      (export "memory-set" (func $memory-set)) (export "memory-delete" (func $memory-delete))
      (export "memory-keys" (func $memory-keys)) (export "notes-add" (func $notes-add))
      (export "timers-schedule" (func $timers-schedule)) (export "log-write" (func $log-write))))))
  (func (export "run") (param "task" $task) (result (result $outcome (error $failure)))
    (canon lift (core func $main "run") (memory $mem) (realloc $realloc))))
