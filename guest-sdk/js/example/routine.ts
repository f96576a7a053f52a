// One state of a workflow: drafts an order, and drafts it anew with what a reviewer said.

import { Failure, event, routine } from "stateous-routine";

interface Order {
  title: string;
}

interface Events {
  submitted: void;
  "needs-work": { because: string };
}

export default routine<Order, Events>((ctx) => {
  const { title } = ctx.data;
  if (title === undefined) throw Failure.fatal("the order has no title");

  const drafts = (ctx.memory.get<number>("drafts") ?? 0) + 1;
  ctx.memory.set("drafts", drafts);
  ctx.note(`draft ${drafts} of ${title}`);
  if (title.trim().length < 3) return event("needs-work", { because: "the title is too short" });

  ctx.set("draft", `Please order: ${title}.`);
  return event("submitted");
});
