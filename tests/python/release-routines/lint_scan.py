"""A routine of a child."""

from stateous import on_state

from contract import ItemContext, events, states


@on_state(states.lint.scan)
async def lint_scan(ctx: ItemContext) -> events.lint.clean:
    ctx.note(f"scanning {ctx['title']}")
    return events.lint.clean()
