// Events: a name and perhaps a payload, in the author's form and in the contract's.

import { Failure } from "./failure.js";
import { parse, stringify } from "./json.js";

/** The work goes on outside; somebody will report the task or fire an event. */
export const waiting = Object.freeze({ waiting: true });

/** An event, with its payload (an object) if it has one. */
export function event(name, payload) {
  return payload === undefined ? { name } : { name, payload };
}

/** An event in the contract's words: its payload as JSON text. */
export function lowered(event) {
  if (typeof event?.name !== "string") {
    throw Failure.fatal(`a routine returns event("…") or waiting, not ${stringify(event) ?? typeof event}`);
  }
  const { name, payload } = event;
  if (payload === undefined) return { name };
  const json = stringify(payload);
  if (!json?.startsWith("{")) {
    throw Failure.fatal(`the payload of event \`${name}\` must be an object, not ${json ?? typeof payload}`);
  }
  return { name, payload: json };
}

/** An event as the contract gives it: its payload as an object, `{}` when it has none. */
export function lifted({ name, payload }) {
  return { name, payload: payload == null ? {} : parse(payload) };
}
