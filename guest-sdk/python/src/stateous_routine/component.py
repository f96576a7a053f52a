"""The real host: the contract's imports behind the SDK's own seam, and the way in from `run`.

Only a build imports this: `componentize-py componentize stateous_routine.component`. It makes the bindings (`wit_world`)
from `wit/` at every build; none are kept. The author's module is `routine`.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from itertools import groupby
from typing import TypeVar

import routine as author  # type: ignore[import-not-found]
import wit_world  # type: ignore[import-not-found]
from componentize_py_types import Err  # type: ignore[import-not-found]
from wit_world.imports import context, log, memory, notes, timers, types  # type: ignore[import-not-found]

from .failure import Refusal
from .host import RawEvent, Task
from .routine import failed, only, waiting

R = TypeVar("R")

_ROUTINE = only(author.__name__)
_LEVELS = {"debug": log.Level.DEBUG, "info": log.Level.INFO, "warn": log.Level.WARN, "error": log.Level.ERROR}

# Fuel bounds what a conversion costs; integers of a token may be longer than Python takes by itself.
sys.set_int_max_str_digits(0)


class _Imports:
    """The contract's calls."""

    def context_all(self) -> str:
        return context.all()

    def context_get(self, key: str) -> str | None:
        return context.get(key)

    def context_set(self, key: str, json: str) -> None:
        _asked(lambda: context.set(key, json))

    def memory_get(self, key: str) -> str | None:
        return memory.get(key)

    def memory_set(self, key: str, json: str) -> None:
        _asked(lambda: memory.set(key, json))

    def memory_delete(self, key: str) -> bool:
        return _asked(lambda: memory.delete(key))

    def memory_keys(self) -> list[str]:
        return memory.keys()

    def note(self, text: str) -> None:
        _asked(lambda: notes.add(text))

    def schedule(self, event: RawEvent, after: str) -> None:
        _asked(lambda: timers.schedule(types.Event(event.name, event.payload), after))

    def log(self, level: str, text: str) -> None:
        log.write(_LEVELS[level], text)


def _asked(call: Callable[[], R]) -> R:
    """A refusal of the host as the SDK's own exception."""
    try:
        return call()
    except Err as error:
        raise Refusal(error.value.code, error.value.message) from None


class WitWorld(wit_world.WitWorld):
    """The component's exports."""

    def run(self, task: types.Task) -> types.Outcome:
        """One attempt of one task."""
        entered_by = RawEvent(task.entered_by.name, task.entered_by.payload)
        given = Task(
            task.token, task.id, task.workflow, task.state, task.visit, task.attempt, entered_by, task.now_ms
        )
        try:
            outcome = _ROUTINE.attempt(given, _Imports())
        except BaseException as error:
            # Only the contract's own type is a failure; anything else, `sys.exit` too, would be a trap without a reason.
            failure = failed(error, _places(error))
            raise Err(types.Failure(failure.message, failure.retry)) from None
        if outcome is waiting:
            return types.Outcome_Waiting()
        return types.Outcome_Event(types.Event(outcome.name, outcome.payload))


#: A deep recursion says nothing more with a hundred places than with a few.
_PLACES_MAX = 30


def _places(error: BaseException) -> list[str]:
    """Where it was raised, the innermost call first, without the SDK's own frames."""
    frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)
    own = [frame for frame in reversed(frames) if "stateous_routine" not in frame.filename]
    lines: list[str] = []
    for line, same in groupby(f"    at {frame.name} ({_shown(frame.filename)}:{frame.lineno})" for frame in own):
        count = sum(1 for _ in same)
        lines.append(line if count == 1 else f"{line}, {count} times")
    return lines[:_PLACES_MAX]


def _shown(file: str) -> str:
    """A file as its author calls it: the build mounts each folder under a number."""
    parts = file.lstrip("/").split("/")
    return "/".join(parts[1:] if len(parts) > 1 and parts[0].isdigit() else parts)
