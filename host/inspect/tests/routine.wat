;; A whole routine by hand: it imports the five capabilities and answers `waiting`.
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
  (import "stateous:routine/context@0.1.0" (instance
    (alias outer 1 $refusal (type $r)) (export "refusal" (type $refusal (eq $r)))
    (export "get" (func (param "key" string) (result (option string))))
    (export "all" (func (result string)))
    (export "set" (func (param "key" string) (param "value" string) (result (result (error $refusal)))))))
  (import "stateous:routine/memory@0.1.0" (instance
    (alias outer 1 $refusal (type $r)) (export "refusal" (type $refusal (eq $r)))
    (export "delete" (func (param "key" string) (result (result bool (error $refusal)))))
    (export "keys" (func (result (list string))))))
  (import "stateous:routine/timers@0.1.0" (instance
    (alias outer 1 $refusal (type $r)) (export "refusal" (type $refusal (eq $r)))
    (alias outer 1 $event (type $e)) (export "event" (type $event (eq $e)))
    (export "schedule" (func (param "event" $event) (param "after" string) (result (result (error $refusal)))))))
  (import "stateous:routine/log@0.1.0" (instance
    (type $level (enum "debug" "info" "warn" "error")) (export "level" (type $level-name (eq $level)))
    (export "write" (func (param "level" $level-name) (param "text" string)))))
  (import "wasi:cli/environment@0.2.6" (instance
    (export "get-arguments" (func (result (list string))))))

  (core module $code
    (memory (export "memory") 1)
    ;; The answer lies at 1024: result is ok (0), outcome is waiting (1).
    (data (i32.const 1024) "\00\00\00\00\01")
    (func (export "init"))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 2048)
    (func (export "run")
      (param i32 i32 i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64) (result i32)
      i32.const 1024))
  (core instance $code (instantiate $code))
  (func (export "run") (param "task" $task) (result (result $outcome (error $failure)))
    (canon lift (core func $code "run") (memory (core memory $code "memory"))
      (realloc (core func $code "realloc"))))
  ;; QuickJS and Python components have exports of their own.
  (func (export "init") (canon lift (core func $code "init"))))
