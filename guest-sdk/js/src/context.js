// What a routine was given, and what it may ask of its host.

import { lifted, lowered } from "./event.js";
import { parse, stringify } from "./json.js";

/** One attempt's view of its token, and everything it may do. index.d.ts documents it. */
export class Context {
  #host;

  constructor(task, host) {
    this.#host = host;
    this.data = parse(host.contextAll());
    this.token = task.token;
    this.task = task.id;
    this.workflow = task.workflow;
    this.state = task.state;
    this.visit = task.visit;
    this.attempt = task.attempt;
    this.enteredBy = lifted(task.enteredBy);
    this.nowMs = Number(task.nowMs);
    this.memory = new Memory(host);
  }

  get now() {
    return new Date(this.nowMs);
  }

  get(key) {
    return read(this.#host.contextGet(key));
  }

  all() {
    return parse(this.#host.contextAll());
  }

  set(key, value) {
    this.#host.contextSet(key, written(value, `the value for the context's \`${key}\``));
  }

  note(text) {
    this.#host.note(String(text));
  }

  schedule(event, after) {
    this.#host.schedule(lowered(event), delay(after));
  }

  log(level, text) {
    this.#host.log(level, String(text));
  }

  debug(text) {
    this.log("debug", text);
  }

  info(text) {
    this.log("info", text);
  }

  warn(text) {
    this.log("warn", text);
  }

  error(text) {
    this.log("error", text);
  }
}

class Memory {
  #host;

  constructor(host) {
    this.#host = host;
  }

  get(key) {
    return read(this.#host.memoryGet(key));
  }

  set(key, value) {
    this.#host.memorySet(key, written(value, `the value for the memory's \`${key}\``));
  }

  delete(key) {
    return this.#host.memoryDelete(key);
  }

  keys() {
    return this.#host.memoryKeys();
  }
}

/** A number of milliseconds is rounded up to whole seconds; text is the host's to check. */
function delay(after) {
  return typeof after === "number" ? `${Math.max(1, Math.ceil(after / 1000))}s` : after;
}

function read(json) {
  return json == null ? undefined : parse(json);
}

function written(value, what) {
  const json = stringify(value);
  if (json === undefined) throw new TypeError(`${what} cannot be written as JSON: it is ${typeof value}`);
  return json;
}
