// The real host: the contract's imports behind the SDK's own seam, and the way in from `run`. Only a build imports this:
// the entry that build.mjs writes calls `serve` with the module's default export.

import * as context from "stateous:routine/context@0.1.0";
import * as log from "stateous:routine/log@0.1.0";
import * as memory from "stateous:routine/memory@0.1.0";
import * as notes from "stateous:routine/notes@0.1.0";
import * as timers from "stateous:routine/timers@0.1.0";

import { attempt } from "./index.js";
import { waiting } from "./event.js";
import { Failure, Refusal } from "./failure.js";
import { inSources } from "./source_map.js";
import "./globals.js";

const host = {
  contextAll: () => context.all(),
  contextGet: (key) => context.get(key),
  contextSet: (key, json) => asked(() => context.set(key, json)),
  memoryGet: (key) => memory.get(key),
  memorySet: (key, json) => asked(() => memory.set(key, json)),
  memoryDelete: (key) => asked(() => memory.delete(key)),
  memoryKeys: () => memory.keys(),
  note: (text) => asked(() => notes.add(text)),
  schedule: (event, after) => asked(() => timers.schedule({ name: event.name, payload: event.payload }, after)),
  log: (level, text) => log.write(level, text),
};

/** The most characters of a message, so that the stack after it is not cut off. */
const MESSAGE_CHARS_MAX = 4_000;

/** The component's `run`. `places` is what source_map.js reads, so that a stack names the author's own files. */
export function serve(routine, places) {
  if (typeof routine?.run !== "function") {
    throw new TypeError("the module's default export is not a routine: write `export default routine((ctx) => …)`");
  }
  return (task) => {
    try {
      const outcome = attempt(routine, task, host);
      return outcome === waiting ? { tag: "waiting" } : { tag: "event", val: outcome };
    } catch (error) {
      // Only a value of the contract's own type is a failure; anything else would be a trap without a reason.
      throw failure(error, places);
    }
  };
}

/** A refusal of the host as the SDK's own error. */
function asked(call) {
  try {
    return call();
  } catch (error) {
    const refusal = error?.payload;
    if (typeof refusal?.code === "string") throw new Refusal(refusal.code, refusal.message);
    throw error;
  }
}

function failure(error, places) {
  if (error instanceof Failure) {
    return { message: withCauses(error.message, error.cause), retry: error.retry };
  }
  if (!(error instanceof Error)) return { message: `thrown: ${String(error)}`, retry: true };
  const said = withCauses(`${error.name}: ${error.message}`, error.cause);
  const stack = inSources(error.stack ?? "", places).trimEnd();
  return { message: stack === "" ? said : `${said}\n${stack}`, retry: true };
}

function withCauses(message, cause) {
  let text = message;
  for (let depth = 0; cause !== undefined && depth < 8; depth += 1) {
    text += `: ${cause instanceof Error ? cause.message : String(cause)}`;
    cause = cause?.cause;
  }
  return text.length > MESSAGE_CHARS_MAX ? `${text.slice(0, MESSAGE_CHARS_MAX)}…` : text;
}
