/** Native tests of routines: a host that records, without wasm. */

import type { Context, Json, Level, Routine } from "./index.d.ts";

/** How a run on the mock ended. */
export type Ended =
  /** The token moves; the payload is `{}` when the event has none. */
  | { kind: "event"; event: string; payload: any }
  /** The token stays, until somebody reports or fires. */
  | { kind: "waiting" }
  /** The attempt failed; `error` is what was thrown. */
  | { kind: "failed"; message: string; retry: boolean; error: unknown }
  /** The machine died: {@link Mock.killAfterMemoryWrites}. */
  | { kind: "killed" };

/**
 * A token in a state, and a host for it that records what routines do.
 *
 * Each {@link run} is the next grant of the same (token, state), as the control plane would give it: after a failure or
 * a kill another attempt of the same task, after an event the next visit. Memory stays; context writes count only when
 * the attempt did not fail.
 */
export class Mock {
  /** Token `T-1` in its first visit, first attempt, entered by `__started__`, with this context. */
  constructor(context?: object);
  /** The token's id. */
  token(id: string): this;
  /** The workflow's and the state's name. */
  state(workflow: string, state: string): this;
  /** Which visit the next run is; 1 is the first. */
  visit(visit: number): this;
  /** Which attempt the next run is; 1 is the first. */
  attempt(attempt: number): this;
  /** The event that brought the token here. */
  enteredBy(event: string, payload?: object): this;
  /** The host's time, in milliseconds since 1970-01-01 UTC. */
  nowMs(ms: number): this;
  /** Something that an earlier attempt or visit left in memory. */
  remembers(key: string, value: unknown): this;
  /** Kills the machine in the next run, right after so many memory writes were kept. */
  killAfterMemoryWrites(writes: number): this;
  /** Runs the routine once, as the host would. */
  run(routine: Routine): Ended;
  /** The context that a routine would be given, for tests of the functions that it calls. */
  context(): Context<any, any>;
  /** The token's context now: what the mock was given and what attempts that did not fail wrote. */
  tokenContext(): { [key: string]: any };
  /** What the latest run wrote into the context, kept or not. */
  writes(): { [key: string]: any };
  /** What the state remembers now. */
  memory(): { [key: string]: any };
  /** Every note of every run, stripped. */
  notes(): string[];
  /** What the latest run scheduled. */
  scheduled(): { event: string; payload: Json; after: string }[];
  /** Every log line of every run. */
  logs(): { level: Level; text: string }[];
}
