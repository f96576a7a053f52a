"""An `async def` routine that waits; its timer moves the token on."""

from stateous import on_state

from contract import ParcelContext, events, states


@on_state(states.pack)
async def pack(ctx: ParcelContext) -> None:
    ctx.note(f"entered by {ctx.entered_by.name} of {ctx.entered_by.payload['grams']} grams, for {ctx['label']}")
    ctx.schedule(events.packed, after="1s")
