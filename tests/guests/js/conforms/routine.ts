// What every SDK can do, one thing at a time: the same list in every language (tests/guests/conforms is Rust's).

import { Failure, Refusal, event, routine, waiting } from "stateous-routine";

import { look } from "./look.ts";

interface Given {
  do: string;
  value?: any;
}

export default routine<Given>((ctx) => {
  const { value } = ctx.data;
  switch (ctx.data.do) {
    case "read":
      return event("done", {
        value,
        token: ctx.token,
        task: ctx.task,
        workflow: ctx.workflow,
        state: ctx.state,
        visit: ctx.visit,
        attempt: ctx.attempt,
        now_ms: ctx.nowMs,
        entered_by: ctx.enteredBy.name,
        given: ctx.enteredBy.payload,
        known: ctx.memory.get("known") ?? null,
        none: ctx.memory.get("none") === undefined && ctx.get("none") === undefined,
      });
    case "write":
      ctx.set("copy", value);
      ctx.memory.set("copy", ctx.get("copy"));
      ctx.memory.delete("known");
      ctx.set("keys", ctx.memory.keys());
      ctx.note("  noted 🖋  ");
      ctx.schedule(event("reminded", { n: 1 }), "6h");
      for (const level of ["debug", "info", "warn", "error"] as const) ctx.log(level, "a line");
      return waiting;
    case "fatal":
      throw Failure.fatal("there is no such thing");
    case "retry":
      throw Failure.retryable("no answer");
    case "refused":
      try {
        ctx.memory.set("", 1);
      } catch (error) {
        return event("refused", { code: error instanceof Refusal ? error.code : "none" });
      }
      break;
    case "careless":
      ctx.memory.set("", 1);
      break;
    case "crash":
      look("no such order");
      break;
    case "shout":
      look("x".repeat(20_000));
      break;
    case "spin":
      for (;;);
    case "hoard": {
      const hoard = [];
      for (;;) hoard.push(new Uint8Array(1 << 20).fill(1));
    }
    default:
      throw Failure.fatal(`unknown: ${ctx.data.do}`);
  }
  return event("done");
});
