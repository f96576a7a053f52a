;; A routine that uses WASI: attempt 1 prints and crashes, 2 exits, 3 looks at its surroundings, 4 takes a mebibyte of
;; random numbers, 5 floods standard output, 6 sleeps for an hour.
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
    (export "failure" (type (eq $failure)))))
  (alias export $types "task" (type $task))
  (alias export $types "outcome" (type $outcome))
  (alias export $types "failure" (type $failure))
  (import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
  (alias export $error "error" (type $error-type))
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "output-stream" (type $stream (sub resource)))
    (alias outer 1 $error-type (type $e)) (export "error" (type $error (eq $e)))
    (type $stream-error (variant (case "last-operation-failed" (own $error)) (case "closed")))
    (export "stream-error" (type $stream-error-name (eq $stream-error)))
    (export "[method]output-stream.blocking-write-and-flush"
      (func (param "self" (borrow $stream)) (param "contents" (list u8)) (result (result (error $stream-error-name)))))))
  (alias export $streams "output-stream" (type $stream))
  (import "wasi:cli/stdout@0.2.0" (instance $stdout
    (alias outer 1 $stream (type $s)) (export "output-stream" (type $stream (eq $s)))
    (export "get-stdout" (func (result (own $stream))))))
  (import "wasi:cli/stderr@0.2.0" (instance $stderr
    (alias outer 1 $stream (type $s)) (export "output-stream" (type $stream (eq $s)))
    (export "get-stderr" (func (result (own $stream))))))
  (import "wasi:cli/exit@0.2.0" (instance $exit (export "exit" (func (param "status" (result))))))
  (import "wasi:cli/environment@0.2.0" (instance $environment
    (export "get-environment" (func (result (list (tuple string string)))))
    (export "get-arguments" (func (result (list string))))))
  (import "wasi:random/random@0.2.0" (instance $random
    (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (alias outer 1 $pollable (type $p)) (export "pollable" (type $pollable (eq $p)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))

  (core module $libc
    (memory (export "memory") 32)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536)))
  (core instance $libc (instantiate $libc))
  (alias core export $libc "memory" (core memory $mem))
  (alias core export $libc "realloc" (core func $realloc))
  (core func $write (canon lower (func $streams "[method]output-stream.blocking-write-and-flush") (memory $mem)))
  (core func $get-stdout (canon lower (func $stdout "get-stdout")))
  (core func $get-stderr (canon lower (func $stderr "get-stderr")))
  (core func $exit (canon lower (func $exit "exit")))
  (core func $get-environment (canon lower (func $environment "get-environment") (memory $mem) (realloc $realloc)))
  (core func $get-arguments (canon lower (func $environment "get-arguments") (memory $mem) (realloc $realloc)))
  (core func $get-random-bytes (canon lower (func $random "get-random-bytes") (memory $mem) (realloc $realloc)))
  (core func $subscribe (canon lower (func $clock "subscribe-duration")))
  (core func $block (canon lower (func $poll "[method]pollable.block")))

  (core module $main
    (import "libc" "memory" (memory 32))
    (import "host" "write" (func $write (param i32 i32 i32 i32)))
    (import "host" "get-stdout" (func $get-stdout (result i32)))
    (import "host" "get-stderr" (func $get-stderr (result i32)))
    (import "host" "exit" (func $exit (param i32)))
    (import "host" "get-environment" (func $get-environment (param i32)))
    (import "host" "get-arguments" (func $get-arguments (param i32)))
    (import "host" "get-random-bytes" (func $get-random-bytes (param i64 i32)))
    (import "host" "subscribe" (func $subscribe (param i64) (result i32)))
    (import "host" "block" (func $block (param i32)))
    (data (i32.const 1024) "KeyError: 'price'\nlast line on standard error\n")
    (func (export "run")
      (param i32 i32 i64 i32 i32 i32 i32 i32) (param $attempt i32) (param i32 i32 i32 i32 i32 i64) (result i32)
      (local $i i32)
      (if (i32.eq (local.get $attempt) (i32.const 1)) (then
        (call $write (call $get-stdout) (i32.const 1024) (i32.const 17) (i32.const 0))
        (call $write (call $get-stderr) (i32.const 1024) (i32.const 45) (i32.const 0))
        unreachable))
      (if (i32.eq (local.get $attempt) (i32.const 2)) (then (call $exit (i32.const 1))))
      (if (i32.eq (local.get $attempt) (i32.const 3)) (then
        (call $get-environment (i32.const 0))
        (if (i32.load (i32.const 4)) (then unreachable))
        (call $get-arguments (i32.const 0))
        (if (i32.load (i32.const 4)) (then unreachable))))
      (if (i32.eq (local.get $attempt) (i32.const 4)) (then (call $get-random-bytes (i64.const 1048576) (i32.const 0))))
      (if (i32.eq (local.get $attempt) (i32.const 5)) (then
        (loop $more
          (call $write (call $get-stdout) (i32.const 1024) (i32.const 17) (i32.const 0))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $more (i32.lt_u (local.get $i) (i32.const 900))))))
      (if (i32.eq (local.get $attempt) (i32.const 6)) (then
        (call $block (call $subscribe (i64.const 3600000000000)))))
      (i32.store8 (i32.const 68) (i32.const 1))
      (i32.const 64)))
  (core instance $main (instantiate $main
    (with "libc" (instance $libc))
    (with "host" (instance
      (export "write" (func $write)) (export "get-stdout" (func $get-stdout)) (export "get-stderr" (func $get-stderr))
      (export "exit" (func $exit)) (export "get-environment" (func $get-environment))
      (export "get-arguments" (func $get-arguments)) (export "get-random-bytes" (func $get-random-bytes))
      (export "subscribe" (func $subscribe)) (export "block" (func $block))))))
  (func (export "run") (param "task" $task) (result (result $outcome (error $failure)))
    (canon lift (core func $main "run") (memory $mem) (realloc $realloc))))
