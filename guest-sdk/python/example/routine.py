"""One state of a workflow: drafts an order, and drafts it anew with what a reviewer said."""

from dataclasses import dataclass

from stateous_routine import Context, Event, Failure, routine


@dataclass
class Order:
    title: str


@dataclass
class Submitted(Event):
    pass


@dataclass
class NeedsWork(Event, name="needs-work"):
    because: str


@routine
def draft(ctx: Context[Order]) -> Submitted | NeedsWork:
    title = ctx.data.title
    if not title:
        raise Failure.fatal("the order has no title")

    drafts = (ctx.memory.get("drafts", int) or 0) + 1
    ctx.memory.set("drafts", drafts)
    ctx.note(f"draft {drafts} of {title}")
    if len(title.strip()) < 3:
        return NeedsWork(because="the title is too short")

    ctx.set("draft", f"Please order: {title}.")
    return Submitted()
