/** Write Stateous routines in JavaScript or TypeScript. README.md begins with a first routine. */

/** What JSON can say. Integers beyond `Number.MAX_SAFE_INTEGER` are bigints, both ways. */
export type Json = null | boolean | number | bigint | string | Json[] | { [key: string]: Json };

/** The events that a state may emit: name to payload, `void` for none. */
export type Events = { [name: string]: object | void };

declare const EVENT: unique symbol;
declare const WAITING: unique symbol;

/** An event with its payload, made by {@link event}. */
export interface EventValue<Name extends string = string, Payload = unknown> {
  readonly [EVENT]: [Name, Payload];
  readonly name: Name;
}

/** The token stays; made by {@link waiting}. */
export interface Waiting {
  readonly [WAITING]: true;
}

/** Any one of the events, as {@link event} makes them. */
export type EventOf<E> = { [Name in keyof E & string]: EventValue<Name, E[Name]> }[keyof E & string];

/** What a routine returns: one of the state's events, or {@link waiting}. */
export type Outcome<E> = EventOf<E> | Waiting;

/** An event without a payload. */
export function event<Name extends string>(name: Name): EventValue<Name, void>;
/** An event with a payload, which is an object. */
export function event<Name extends string, Payload extends object>(
  name: Name,
  payload: Payload,
): EventValue<Name, Payload>;

/** The work goes on outside; somebody will report the task or fire an event. */
export const waiting: Waiting;

/** How long until a scheduled event fires: `"90s"`, `"5m"`, `"6h"`, `"2d"`, or milliseconds, rounded up to seconds. */
export type Delay = `${number}${"s" | "m" | "h" | "d"}` | number;

/** One attempt's view of its token, and everything it may do. */
export interface Context<Data = { [key: string]: Json }, E = any> {
  /** The token's context as it was when the attempt began. */
  readonly data: Data;
  /** The id of the token that waits in this state. */
  readonly token: string;
  /** The task's number, the same for every attempt. With the token's id it makes an idempotency key for the outside. */
  readonly task: number;
  readonly workflow: string;
  readonly state: string;
  /** How many times the token has entered this state; 1 is the first. */
  readonly visit: number;
  /** Which try of the task this is; 1 is the first. */
  readonly attempt: number;
  /** The event that brought the token here (`__started__` in the first state); no payload reads as `{}`. */
  readonly enteredBy: { readonly name: string; readonly payload: any };
  /** The host's time when the attempt began. It does not advance. */
  readonly now: Date;
  /** {@link now} in milliseconds since 1970-01-01 UTC. */
  readonly nowMs: number;
  /** What this state remembers about the token from one attempt and visit to the next. */
  readonly memory: Memory;

  /** One value of the token's context, this attempt's own writes included; `undefined` when there is no such key. */
  get<T = any>(key: string): T | undefined;
  /** The whole context, this attempt's own writes included. */
  all<T = Data>(): T;
  /** Keeps a value for the token's context. It goes out with the outcome; if the attempt fails, it is gone. */
  set(key: string, value: unknown): void;
  /** Adds a line to the token's history, durably. At most 500 characters; an empty text adds nothing. */
  note(text: string): void;
  /** Fires an event later, if the token is still in this state and visit by then. It goes out with the outcome. */
  schedule(event: EventOf<E>, after: Delay): void;
  /** Writes a line to the supervisor's log, which is not kept with the token. */
  log(level: Level, text: string): void;
  debug(text: string): void;
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

export type Level = "debug" | "info" | "warn" | "error";

/**
 * Keys and values of one (token, state) that outlive a crash, a retry and the supervisor itself. A value is on the
 * supervisor's disk when `set` returns. That costs a disk flush: write after a piece of work worth not repeating.
 */
export interface Memory {
  /** The value of a key; `undefined` when nothing was set. */
  get<T = any>(key: string): T | undefined;
  /** Sets a key (1 to 128 characters), durably. `null` cannot be kept: delete the key. */
  set(key: string, value: unknown): void;
  /** Deletes a key, durably. `false` when there was nothing to delete. */
  delete(key: string): boolean;
  /** All keys. */
  keys(): string[];
}

/** A routine that can be built and tested; export it as the module's default. */
export interface Routine<Data = any, E = any> {
  run(ctx: Context<Data, E>): Outcome<E>;
}

/**
 * Makes a function the component's routine.
 *
 * `Data` is the shape of the token's context as this routine reads it, `E` the events that its state may emit.
 */
export function routine<Data = { [key: string]: Json }, E = any>(
  run: (ctx: Context<Data, E>) => Outcome<E>,
): Routine<Data, E>;

/** Why the attempt failed. Throw one; whatever else is thrown counts as a retryable failure with its stack. */
export class Failure extends Error {
  constructor(message: string, options?: { retry?: boolean; cause?: unknown });
  /** Whether another attempt makes sense. */
  readonly retry: boolean;
  /** A failure after which another attempt makes sense, if the state has retries left. */
  static retryable(message: string, options?: { cause?: unknown }): Failure;
  /** A failure that no other attempt would change: it spends the task's remaining retries. */
  static fatal(message: string, options?: { cause?: unknown }): Failure;
}

/** The host refused a call. Caught, the routine goes on; otherwise it ends the attempt as a retryable failure. */
export class Refusal extends Error {
  /** Stable, for programs. */
  readonly code:
    | "too_large"
    | "invalid_json"
    | "invalid_key"
    | "too_many"
    | "invalid_event"
    | "invalid_duration"
    | "outbox_full"
    | (string & {});
}
