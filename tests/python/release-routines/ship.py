"""What the guest `remembers` does, in Python."""

from stateous import on_state

from contract import Done, ReleaseContext, events, states


@on_state(states.ship)
def ship(ctx: ReleaseContext) -> events.done:
    ctx.memory["seen"] = ctx.memory.get("seen", 0) + 1
    ctx.note(f"seen {ctx.memory['seen']} times")
    ctx["seen"] = ctx.memory["seen"]
    ctx.schedule(events.reminded, after="6h")
    return events.done(Done(title=ctx["title"], seen=ctx["seen"]))
