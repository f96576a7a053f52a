"""A `def` routine whose outcome starts the children."""

from stateous import on_state

from contract import ReleaseContext, events, states


@on_state(states.build)
def build(ctx: ReleaseContext) -> events.built:
    ctx.note(f"building {ctx['title']}")
    return events.built()
