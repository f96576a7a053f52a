"""What every SDK can do, one thing at a time: the same list in every language (tests/guests/conforms is Rust's)."""

from typing import Any

from look import look
from stateous_routine import Context, Failure, Refusal, event, routine, waiting


@routine
def conforms(ctx: Context[dict[str, Any]]):
    value = ctx.data.get("value")
    match ctx.data["do"]:
        case "read":
            return event(
                "done",
                {
                    "value": value,
                    "token": ctx.token,
                    "task": ctx.task,
                    "workflow": ctx.workflow,
                    "state": ctx.state,
                    "visit": ctx.visit,
                    "attempt": ctx.attempt,
                    "now_ms": ctx.now_ms,
                    "entered_by": ctx.entered_by.name,
                    "given": ctx.entered_by.payload,
                    "known": ctx.memory.get("known"),
                    "none": ctx.memory.get("none") is None and ctx.get("none") is None,
                },
            )
        case "write":
            ctx.set("copy", value)
            ctx.memory.set("copy", ctx.get("copy"))
            ctx.memory.delete("known")
            ctx.set("keys", ctx.memory.keys())
            ctx.note("  noted 🖋  ")
            ctx.schedule(event("reminded", {"n": 1}), "6h")
            for level in ("debug", "info", "warn", "error"):
                ctx.log(level, "a line")
            return waiting
        case "fatal":
            raise Failure.fatal("there is no such thing")
        case "retry":
            raise Failure.retryable("no answer")
        case "refused":
            try:
                ctx.memory.set("", 1)
            except Refusal as refusal:
                return event("refused", {"code": refusal.code})
        case "careless":
            ctx.memory.set("", 1)
        case "crash":
            look("no such order")
        case "shout":
            look("x" * 20_000)
        case "spin":
            while True:
                pass
        case "hoard":
            hoard = []
            while True:
                hoard.append(bytearray(b"1" * (1 << 20)))
        case other:
            raise Failure.fatal(f"unknown: {other}")
    return event("done")
