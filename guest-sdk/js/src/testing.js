// Native tests of routines: a host that records, without wasm. testing.d.ts documents it.
//
// The mock refuses what the host would refuse by its form (sizes, keys, durations). It knows no workflow: whether the
// state may emit an event, and whether a payload fits its schema, only the control plane says.

import { Context } from "./context.js";
import { waiting } from "./event.js";
import { Failure, Refusal } from "./failure.js";
import { attempt } from "./index.js";
import { parse, stringify } from "./json.js";

const NOTE_CHARS_MAX = 500;
const NOTES_MAX = 1_000;
const SCHEDULES_MAX = 100;
const MEMORY_KEY_CHARS_MAX = 128;
/** 1 MiB less what is written around a value on its way. */
const VALUE_BYTES_MAX = (1 << 20) - (4 << 10);
const MEMORY_BYTES_MAX = 16 << 20;
const DELAY_SECONDS_MAX = 3650 * 86_400;
const EVENT = /^[a-z][a-z0-9_-]{0,63}$/;
const ENGINE_EVENTS = ["timeout", "error", "joined"];
const DELAY = /^([1-9][0-9]*)([smhd])$/;
const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** What a run throws where the machine dies. Routines that catch everything meet it again at their next call. */
class Killed extends Error {}

export class Mock {
  #task = { token: "T-1", id: 1, workflow: "workflow", state: "state", visit: 1, attempt: 1, nowMs: 1_767_225_600_000 };
  #enteredBy = { name: "__started__", payload: undefined };
  #context;
  #writes = {};
  #memory = new Map();
  #notes = [];
  #notesOfAttempt = 0;
  #scheduled = [];
  #logs = [];
  #writesToLive;
  #isDead = false;

  constructor(context = {}) {
    if (context === null || typeof context !== "object" || Array.isArray(context)) {
      throw new TypeError(`a token's context is an object, not ${stringify(context) ?? typeof context}`);
    }
    this.#context = copy(context);
  }

  token(id) {
    this.#task.token = id;
    return this;
  }

  state(workflow, state) {
    Object.assign(this.#task, { workflow, state });
    return this;
  }

  visit(visit) {
    this.#task.visit = visit;
    return this;
  }

  attempt(attempt) {
    this.#task.attempt = attempt;
    return this;
  }

  enteredBy(name, payload) {
    this.#enteredBy = { name, payload: payload === undefined ? undefined : stringify(payload) };
    return this;
  }

  nowMs(ms) {
    this.#task.nowMs = ms;
    return this;
  }

  remembers(key, value) {
    this.#memory.set(key, stringify(value));
    return this;
  }

  killAfterMemoryWrites(writes) {
    this.#writesToLive = Math.max(1, writes);
    return this;
  }

  run(routine) {
    this.#notesOfAttempt = 0;
    this.#writes = {};
    this.#scheduled = [];
    this.#isDead = false;
    const ended = this.#attempt(routine);
    this.#writesToLive = undefined;
    if (ended.kind === "event" || ended.kind === "waiting") {
      Object.assign(this.#context, this.#writes);
      this.#task.id += 1;
      this.#task.visit += 1;
      this.#task.attempt = 1;
    } else {
      this.#task.attempt += 1;
    }
    return ended;
  }

  context() {
    return new Context(this.#given(), this.#host());
  }

  tokenContext() {
    return copy(this.#context);
  }

  writes() {
    return copy(this.#writes);
  }

  memory() {
    return Object.fromEntries([...this.#memory].map(([key, json]) => [key, parse(json)]));
  }

  notes() {
    return [...this.#notes];
  }

  scheduled() {
    return [...this.#scheduled];
  }

  logs() {
    return [...this.#logs];
  }

  #attempt(routine) {
    try {
      const outcome = attempt(routine, this.#given(), this.#host());
      if (this.#isDead) return { kind: "killed" };
      if (outcome === waiting) return { kind: "waiting" };
      return { kind: "event", event: outcome.name, payload: parse(outcome.payload ?? "{}") };
    } catch (error) {
      if (this.#isDead) return { kind: "killed" };
      if (error instanceof Failure) return { kind: "failed", message: error.message, retry: error.retry, error };
      return { kind: "failed", message: `${error?.name ?? "thrown"}: ${error?.message ?? error}`, retry: true, error };
    }
  }

  #given() {
    return { ...this.#task, enteredBy: this.#enteredBy };
  }

  #host() {
    const memoryWasWritten = () => {
      if (this.#writesToLive === undefined) return;
      this.#writesToLive -= 1;
      if (this.#writesToLive === 0) {
        this.#isDead = true;
        throw new Killed("the machine died");
      }
    };
    const host = {
      contextAll: () => stringify({ ...this.#context, ...this.#writes }),
      contextGet: (key) => {
        const from = Object.hasOwn(this.#writes, key) ? this.#writes : this.#context;
        return Object.hasOwn(from, key) ? stringify(from[key]) : undefined;
      },
      contextSet: (key, json) => {
        checkSize(`context value \`${key}\``, json);
        this.#writes[key] = parse(json);
      },
      memoryGet: (key) => this.#memory.get(key),
      memorySet: (key, json) => {
        checkMemoryKey(key);
        checkSize(`memory value \`${key}\``, json);
        if (json === "null") {
          throw new Refusal("invalid_json", `memory value \`${key}\` is null, which means "delete": call \`delete\``);
        }
        let total = bytes(key) + bytes(json);
        for (const [other, value] of this.#memory) if (other !== key) total += bytes(other) + bytes(value);
        if (total > MEMORY_BYTES_MAX) {
          throw new Refusal("too_large", `the memory of this token and state would exceed ${MEMORY_BYTES_MAX} bytes`);
        }
        this.#memory.set(key, json);
        memoryWasWritten();
      },
      memoryDelete: (key) => {
        const wasThere = this.#memory.delete(key);
        if (wasThere) memoryWasWritten();
        return wasThere;
      },
      memoryKeys: () => [...this.#memory.keys()].sort(),
      note: (text) => {
        const stripped = text.trim();
        const length = [...stripped].length;
        if (length > NOTE_CHARS_MAX) {
          throw new Refusal("too_large", `a note of ${length} characters; the most is ${NOTE_CHARS_MAX}`);
        }
        if (stripped === "") return;
        checkRoom("notes", this.#notesOfAttempt, NOTES_MAX);
        this.#notesOfAttempt += 1;
        this.#notes.push(stripped);
      },
      schedule: (event, after) => {
        checkEvent(event.name);
        checkDelay(after);
        checkRoom("events", this.#scheduled.length, SCHEDULES_MAX);
        const payload = event.payload ?? "{}";
        checkSize("payload", payload);
        this.#scheduled.push({ event: event.name, payload: parse(payload), after });
      },
      log: (level, text) => {
        this.#logs.push({ level, text });
      },
    };
    // A dead machine does nothing more, even for a routine that caught what killed it.
    return Object.fromEntries(
      Object.entries(host).map(([name, call]) => [
        name,
        (...values) => {
          if (this.#isDead) throw new Killed("the machine died");
          return call(...values);
        },
      ]),
    );
  }
}

function copy(value) {
  return parse(stringify(value));
}

function bytes(text) {
  return Buffer.byteLength(text);
}

function checkSize(what, json) {
  const size = bytes(json);
  if (size > VALUE_BYTES_MAX) {
    throw new Refusal("too_large", `${what} has ${size} bytes; the most is ${VALUE_BYTES_MAX}`);
  }
}

function checkRoom(what, count, max) {
  if (count >= max) throw new Refusal("too_many", `one attempt adds at most ${max} ${what}`);
}

function checkMemoryKey(key) {
  const length = [...key].length;
  if (length === 0 || length > MEMORY_KEY_CHARS_MAX || key.includes("\0")) {
    const text = `memory key ${JSON.stringify(key)}: expected 1 to ${MEMORY_KEY_CHARS_MAX} characters, none of them NUL`;
    throw new Refusal("invalid_key", text);
  }
}

function checkEvent(name) {
  if (!EVENT.test(name) || ENGINE_EVENTS.includes(name)) {
    const text = `\`${name}\` is no event of a workflow: expected a letter, then up to 63 of a-z 0-9 _ -`;
    throw new Refusal("invalid_event", text);
  }
}

function checkDelay(after) {
  const found = DELAY.exec(after);
  if (found === null || Number(found[1]) * SECONDS[found[2]] > DELAY_SECONDS_MAX) {
    const text = `\`${after}\` is no duration: expected a number and one of s, m, h, d, as in 90s or 6h; at most 3650d`;
    throw new Refusal("invalid_duration", text);
  }
}
