"""A routine that waits for a report from outside, and says which visit it is."""

from stateous import on_state

from contract import ParcelContext, states


@on_state(states.deliver)
async def deliver(ctx: ParcelContext) -> None:
    ctx.memory["visits"] = ctx.memory.get("visits", 0) + 1
    ctx.note(f"visit {ctx.visit}, {ctx.memory['visits']} remembered")
