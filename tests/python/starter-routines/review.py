"""The starter's `review`, working: an `async def` routine that sends the first draft back."""

from stateous import on_state

from contract import ItemContext, Verdict, events, states


@on_state(states.review)
async def review(ctx: ItemContext) -> events.reviewed:
    return events.reviewed(Verdict(approved=ctx.visit > 1, note=ctx["title"]))
