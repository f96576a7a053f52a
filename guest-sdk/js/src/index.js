// What a routine's author imports: `routine`, `event`, `waiting`, `Failure`, `Refusal`.
//
// This file owns the way from a plain function to one attempt. Where the host is, the sandbox's or the mock's, is said
// by whoever runs the attempt (wasm.js, testing.js).

import { Context } from "./context.js";
import { lowered, waiting } from "./event.js";
import { Failure } from "./failure.js";

export { event, waiting } from "./event.js";
export { Failure, Refusal } from "./failure.js";

/** Makes a function the component's routine: export it as the module's default. */
export function routine(run) {
  if (typeof run !== "function") {
    throw new TypeError(`routine() takes a function of the context, not ${typeof run}`);
  }
  return { run };
}

/**
 * One attempt: the routine runs, and what it came to is put into the contract's words, `{ name, payload?: string }` or
 * {@link waiting}. What the routine throws is thrown on as it is.
 */
export function attempt({ run }, task, host) {
  const outcome = run(new Context(task, host));
  if (typeof outcome?.then === "function") {
    throw Failure.fatal("the routine is an async function; a sandbox has nothing to wait for, so write a plain one");
  }
  return outcome === waiting ? waiting : lowered(outcome);
}
