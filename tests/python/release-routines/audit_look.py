"""What the guest `remembers` does, in Python."""

from stateous import on_state

from contract import Done, ItemContext, events, states


@on_state(states.audit.look)
async def audit_look(ctx: ItemContext) -> events.audit.done:
    ctx.memory["seen"] = ctx.memory.get("seen", 0) + 1
    ctx.note(f"seen {ctx.memory['seen']} times")
    ctx["seen"] = ctx.memory["seen"]
    ctx.schedule(events.audit.reminded, after="6h")
    return events.audit.done(Done(title=ctx["title"], seen=ctx["seen"]))
