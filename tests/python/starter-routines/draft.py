"""The starter's `draft`, working: a `def` routine."""

from stateous import on_state

from contract import ItemContext, events, states


@on_state(states.draft)
def draft(ctx: ItemContext) -> events.submitted:
    ctx["title"] = f"{ctx['title']}, draft {ctx.visit}"
    return events.submitted()
