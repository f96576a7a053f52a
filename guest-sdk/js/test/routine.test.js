// A routine with everything a context offers, run natively through the mock.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Failure, Refusal, event, routine, waiting } from "stateous-routine";
import { Mock } from "stateous-routine/testing";

const order = routine((ctx) => {
  const seen = (ctx.memory.get("seen") ?? 0) + 1;
  ctx.memory.set("seen", seen);
  ctx.note(`  ${ctx.data.title} for the ${seen}. time  `);
  switch (ctx.data.title) {
    case "wait":
      ctx.schedule(event("reminded"), "6h");
      ctx.schedule(event("filled", { count: seen }), 89_001);
      return waiting;
    case "fill":
      ctx.set("count", seen);
      assert.equal(ctx.get("count"), seen);
      return event("filled", { count: seen });
    case "fail":
      throw new Error("the warehouse does not answer");
    case "never":
      throw Failure.fatal("there is no such thing");
    case "payload":
      return event("filled", [1]);
    case "async":
      return Promise.resolve(event("submitted"));
    case "nothing":
      return undefined;
    default:
      return event("submitted");
  }
});

test("an event moves the token and the writes go with it", () => {
  const mock = new Mock({ title: "fill" });
  assert.deepEqual(mock.run(order), { kind: "event", event: "filled", payload: { count: 1 } });
  assert.deepEqual(mock.tokenContext(), { title: "fill", count: 1 });
  assert.deepEqual(mock.notes(), ["fill for the 1. time"]);
  assert.equal(mock.run(order).payload.count, 2, "memory outlives a visit");
});

test("waiting keeps the timers", () => {
  const mock = new Mock({ title: "wait" });
  assert.deepEqual(mock.run(order), { kind: "waiting" });
  assert.deepEqual(mock.scheduled(), [
    { event: "reminded", payload: {}, after: "6h" },
    { event: "filled", payload: { count: 1 }, after: "90s" },
  ]);
});

test("failures say whether to retry", () => {
  const failed = new Mock({ title: "fail" }).run(order);
  assert.deepEqual([failed.kind, failed.retry, failed.message], ["failed", true, "Error: the warehouse does not answer"]);
  const never = new Mock({ title: "never" }).run(order);
  assert.deepEqual([never.retry, never.message], [false, "there is no such thing"]);
});

test("what is no outcome fails for good, and says what it is", () => {
  const message = (title) => new Mock({ title }).run(order).message;
  assert.equal(message("payload"), "the payload of event `filled` must be an object, not [1]");
  assert.match(message("async"), /async function/);
  assert.equal(message("nothing"), 'a routine returns event("…") or waiting, not undefined');
});

test("a kill keeps memory and notes and nothing else", () => {
  const steps = routine((ctx) => {
    const step = ctx.memory.get("step") ?? 0;
    ctx.note(`attempt ${ctx.attempt} from step ${step}`);
    ctx.set("attempt", ctx.attempt);
    for (let next = step + 1; next <= 3; next += 1) {
      try {
        ctx.memory.set("step", next);
      } catch {
        // Even a routine that goes on after everything dies with its machine.
      }
    }
    return event("submitted");
  });
  const mock = new Mock().killAfterMemoryWrites(2);
  assert.deepEqual(mock.run(steps), { kind: "killed" });
  assert.deepEqual([mock.memory(), mock.tokenContext()], [{ step: 2 }, {}]);
  assert.equal(mock.run(steps).event, "submitted");
  assert.deepEqual(mock.notes(), ["attempt 1 from step 0", "attempt 2 from step 2"]);
  assert.deepEqual(mock.tokenContext(), { attempt: 2 });
});

test("the task can be read", () => {
  const ctx = new Mock()
    .token("ORDER-7")
    .state("orders", "draft")
    .visit(2)
    .attempt(3)
    .enteredBy("reviewed", { note: "longer" })
    .nowMs(1_500)
    .remembers("seen", 4)
    .context();
  assert.deepEqual([ctx.token, ctx.workflow, ctx.state], ["ORDER-7", "orders", "draft"]);
  assert.deepEqual([ctx.task, ctx.visit, ctx.attempt], [1, 2, 3]);
  assert.deepEqual(ctx.enteredBy, { name: "reviewed", payload: { note: "longer" } });
  assert.deepEqual([ctx.nowMs, ctx.now.toISOString()], [1_500, "1970-01-01T00:00:01.500Z"]);
  assert.deepEqual(ctx.memory.keys(), ["seen"]);
  assert.equal(ctx.memory.delete("seen"), true);
  assert.equal(ctx.memory.delete("seen"), false);
  assert.equal(ctx.memory.get("seen"), undefined);
});

test("integers keep every digit, in and out", () => {
  const context = { big: 12345678901234567890123n, small: 7, text: "naïve 🖋", nested: { list: [1, { deep: -9007199254740993n }] } };
  const mock = new Mock(context);
  const ctx = mock.context();
  assert.deepEqual(ctx.data, context);
  ctx.memory.set("copy", ctx.data);
  assert.deepEqual(ctx.memory.get("copy"), context);
  ctx.set("twice", ctx.data.big * 2n);
  assert.deepEqual(mock.writes(), { twice: 24691357802469135780246n });
});

test("the mock refuses what the host would", () => {
  const mock = new Mock();
  const ctx = mock.context();
  const code = (call) => {
    try {
      call();
    } catch (error) {
      assert.ok(error instanceof Refusal, String(error));
      return error.code;
    }
    return "taken";
  };
  assert.equal(code(() => ctx.note("x".repeat(501))), "too_large");
  assert.equal(code(() => ctx.memory.set("", 1)), "invalid_key");
  assert.equal(code(() => ctx.memory.set("k".repeat(129), 1)), "invalid_key");
  assert.equal(code(() => ctx.memory.set("k", null)), "invalid_json");
  assert.equal(code(() => ctx.memory.set("k", "x".repeat(1 << 20))), "too_large");
  assert.equal(code(() => ctx.schedule(event("reminded"), "soon")), "invalid_duration");
  assert.equal(code(() => ctx.schedule(event("timeout"), "1s")), "invalid_event");
  for (let count = 0; count < 100; count += 1) ctx.schedule(event("reminded"), "1s");
  assert.equal(code(() => ctx.schedule(event("reminded"), "1s")), "too_many");
  ctx.note("   ");
  assert.deepEqual(mock.notes(), []);
  assert.throws(() => ctx.set("f", () => 1), /cannot be written as JSON/);
  ctx.warn("careful");
  assert.deepEqual(mock.logs(), [{ level: "warn", text: "careful" }]);
});
