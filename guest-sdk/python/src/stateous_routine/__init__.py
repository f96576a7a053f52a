"""Write Stateous routines in Python.

A routine is the code of one state of a workflow. The supervisor runs it as a WebAssembly component in a sandbox; what it
writes survives a crash, and the event that it returns moves the token::

    from dataclasses import dataclass
    from stateous_routine import Context, Event, routine

    @dataclass
    class Order:
        title: str

    @dataclass
    class Submitted(Event):
        pass

    @routine
    def draft(ctx: Context[Order]) -> Submitted:
        ctx.note(f"drafting {ctx.data.title}")
        return Submitted()

What the sandbox runs is `component.py`, and what `python -m unittest` runs is `testing.py`; a routine imports neither.
"""

from .context import Context, Delay, EnteredBy, Level, Memory
from .event import Event, event
from .failure import Failure, Refusal
from .routine import Routine, Waiting, routine, waiting

__all__ = [
    "Context",
    "Delay",
    "EnteredBy",
    "Event",
    "Failure",
    "Level",
    "Memory",
    "Refusal",
    "Routine",
    "Waiting",
    "event",
    "routine",
    "waiting",
]
