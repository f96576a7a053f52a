"""A `def` routine that fails once; its second attempt sees what the first remembered."""

from stateous import on_state

from contract import ParcelContext, Weight, events, states


@on_state(states.weigh)
def weigh(ctx: ParcelContext) -> events.weighed:
    if ctx.attempt == 1:
        ctx.memory["scale"] = {"number": 4, "calibrated": ["2026-01-01", None, 0.5]}
        ctx.memory["draft"] = "thrown away"
        del ctx.memory["draft"]
        ctx.note("the scale is being warmed up")
        raise RuntimeError("the scale is busy: Größe 4")
    ctx["label"] = f"{ctx['to']}, by scale {ctx.memory['scale']['number']}"
    return events.weighed(Weight(grams=1500))
