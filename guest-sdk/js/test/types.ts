// What TypeScript refuses: checked by `tsc --noEmit`, which also complains about an `@ts-expect-error` that is none.

import { Failure, event, routine, waiting } from "stateous-routine";
import { Mock } from "stateous-routine/testing";

interface Order {
  title: string;
}

interface Events {
  submitted: void;
  reviewed: { approved: boolean };
}

export const good = routine<Order, Events>((ctx) => {
  if (ctx.data.title === "") throw Failure.fatal("there is no title");
  ctx.schedule(event("submitted"), "6h");
  ctx.schedule(event("reviewed", { approved: true }), 90_000);
  const count: number | undefined = ctx.memory.get<number>("count");
  if (count === undefined) return waiting;
  return count > 1 ? event("submitted") : event("reviewed", { approved: false });
});

// @ts-expect-error the state cannot emit this event
export const unknownEvent = routine<Order, Events>(() => event("shipped"));

// @ts-expect-error the payload does not fit
export const wrongPayload = routine<Order, Events>(() => event("reviewed", { approved: "yes" }));

// @ts-expect-error the payload is missing
export const noPayload = routine<Order, Events>(() => event("reviewed"));

// @ts-expect-error there is nothing to wait for in a sandbox
export const waits = routine<Order, Events>(async () => event("submitted"));

export const scheduled = routine<Order, Events>((ctx) => {
  // @ts-expect-error no duration
  ctx.schedule(event("submitted"), "soon");
  // @ts-expect-error the state cannot take this event
  ctx.schedule(event("shipped"), "1s");
  // @ts-expect-error the context has no such field
  void ctx.data.titel;
  return event("submitted");
});

const ended = new Mock({ title: "a pen" }).run(good);
if (ended.kind === "event") ended.payload satisfies unknown;
