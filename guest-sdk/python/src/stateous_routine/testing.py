"""Native tests of routines: a host that records, without wasm::

    mock = Mock({"title": "a pen"})
    ended = mock.run(draft)
    assert ended.event == "submitted"

Each `Mock.run` is the next grant of the same (token, state), as the control plane would give it: after a failure or a
kill another attempt of the same task, after an event the next visit. Memory stays; context writes count only when the
attempt did not fail.

The mock refuses what the host would refuse by its form (sizes, keys, durations). It knows no workflow: whether the state
may emit an event, and whether a payload fits its schema, only the control plane says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from . import shape
from .context import Context
from .failure import Failure, Refusal
from .host import RawEvent, Task
from .routine import Routine, Waiting, failed

_NOTE_CHARS_MAX = 500
_NOTES_MAX = 1_000
_SCHEDULES_MAX = 100
_MEMORY_KEY_CHARS_MAX = 128
#: 1 MiB less what is written around a value on its way.
_VALUE_BYTES_MAX = (1 << 20) - (4 << 10)
_MEMORY_BYTES_MAX = 16 << 20
_DELAY_SECONDS_MAX = 3650 * 86_400
_EVENT = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_ENGINES = ("timeout", "error", "joined")
_DELAY = re.compile(r"([1-9][0-9]*)([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class _Killed(BaseException):
    """What a run raises where the machine dies. No `except Exception` survives its machine."""


@dataclass
class Ended:
    """How a run on the mock ended."""

    #: `event`, `waiting`, `failed` or `killed`.
    kind: str
    #: The event's name, if there is one.
    event: str | None = None
    #: The event's payload; `{}` when it has none.
    payload: dict[str, Any] = field(default_factory=dict)
    #: Why the attempt failed, if it did, and whether it asks for another.
    failure: Failure | None = None
    #: What was raised, if it was no `Failure`.
    error: BaseException | None = None


@dataclass
class Scheduled:
    """An event that a run scheduled."""

    event: str
    payload: dict[str, Any]
    after: str


class Mock:
    """A token in a state, and a host for it that records what routines do."""

    def __init__(self, context: dict[str, Any] | None = None) -> None:
        """Token `T-1` in its first visit, first attempt, entered by `__started__`, with this context."""
        if not isinstance(context or {}, dict):
            raise TypeError(f"a token's context is a dict, not {context!r}")
        self._task = Task("T-1", 1, "workflow", "state", 1, 1, RawEvent("__started__", None), 1_767_225_600_000)
        self._context: dict[str, Any] = _copy(context or {})
        self._writes: dict[str, Any] = {}
        self._memory: dict[str, str] = {}
        self._notes_of_attempt = 0
        self._writes_to_live: int | None = None
        #: Every note of every run, stripped.
        self.notes: list[str] = []
        #: What the latest run scheduled.
        self.scheduled: list[Scheduled] = []
        #: Every log line of every run: level and text.
        self.logs: list[tuple[str, str]] = []

    def token(self, id: str) -> Mock:
        """The token's id."""
        self._task.token = id
        return self

    def state(self, workflow: str, state: str) -> Mock:
        """The workflow's and the state's name."""
        self._task.workflow, self._task.state = workflow, state
        return self

    def visit(self, visit: int) -> Mock:
        """Which visit the next run is; 1 is the first."""
        self._task.visit = visit
        return self

    def attempt(self, attempt: int) -> Mock:
        """Which attempt the next run is; 1 is the first."""
        self._task.attempt = attempt
        return self

    def entered_by(self, event: str, payload: dict[str, Any] | None = None) -> Mock:
        """The event that brought the token here."""
        self._task.entered_by = RawEvent(event, None if payload is None else shape.write(payload))
        return self

    def now_ms(self, ms: int) -> Mock:
        """The host's time, in milliseconds since 1970-01-01 UTC."""
        self._task.now_ms = ms
        return self

    def remembers(self, key: str, value: Any) -> Mock:
        """Something that an earlier attempt or visit left in memory."""
        self._memory[key] = shape.write(value)
        return self

    def kill_after_memory_writes(self, writes: int) -> Mock:
        """Kills the machine in the next run, right after so many memory writes were kept."""
        self._writes_to_live = max(1, writes)
        return self

    def run(self, routine: Routine[Any]) -> Ended:
        """Runs the routine once, as the host would."""
        self._notes_of_attempt, self._writes, self.scheduled = 0, {}, []
        ended = self._attempt(routine)
        self._writes_to_live = None
        if ended.kind in ("event", "waiting"):
            self._context.update(self._writes)
            self._task.id += 1
            self._task.visit += 1
            self._task.attempt = 1
        else:
            self._task.attempt += 1
        return ended

    def context(self, routine: Routine[Any] | None = None) -> Context[Any]:
        """The context that a routine would be given, for tests of the functions that it calls."""
        return Context(self._task, self) if routine is None else routine.context(self._task, self)

    @property
    def token_context(self) -> dict[str, Any]:
        """The token's context now: what the mock was given and what attempts that did not fail wrote."""
        return _copy(self._context)

    @property
    def writes(self) -> dict[str, Any]:
        """What the latest run wrote into the context, kept or not."""
        return _copy(self._writes)

    @property
    def memory(self) -> dict[str, Any]:
        """What the state remembers now."""
        return {key: shape.read(json) for key, json in self._memory.items()}

    def _attempt(self, routine: Routine[Any]) -> Ended:
        try:
            outcome = routine.attempt(self._task, self)
        except _Killed:
            return Ended("killed")
        except Failure as failure:
            return Ended("failed", failure=failure)
        except Exception as error:
            return Ended("failed", failure=failed(error, []), error=error)
        if isinstance(outcome, Waiting):
            return Ended("waiting")
        return Ended("event", outcome.name, shape.read(outcome.payload or "{}"))

    # The host's side.

    def context_all(self) -> str:
        return shape.write({**self._context, **self._writes})

    def context_get(self, key: str) -> str | None:
        merged = {**self._context, **self._writes}
        return shape.write(merged[key]) if key in merged else None

    def context_set(self, key: str, json: str) -> None:
        _check_size(f"context value `{key}`", json)
        self._writes[key] = shape.read(json)

    def memory_get(self, key: str) -> str | None:
        return self._memory.get(key)

    def memory_set(self, key: str, json: str) -> None:
        if not 1 <= len(key) <= _MEMORY_KEY_CHARS_MAX or "\0" in key:
            text = f"memory key {key!r}: expected 1 to {_MEMORY_KEY_CHARS_MAX} characters, none of them NUL"
            raise Refusal("invalid_key", text)
        _check_size(f"memory value `{key}`", json)
        if json == "null":
            raise Refusal("invalid_json", f'memory value `{key}` is null, which means "delete": call `delete`')
        kept = {**self._memory, key: json}
        if sum(len(k.encode()) + len(v.encode()) for k, v in kept.items()) > _MEMORY_BYTES_MAX:
            text = f"the memory of this token and state would exceed {_MEMORY_BYTES_MAX} bytes"
            raise Refusal("too_large", text)
        self._memory = kept
        self._memory_was_written()

    def memory_delete(self, key: str) -> bool:
        was_there = self._memory.pop(key, None) is not None
        if was_there:
            self._memory_was_written()
        return was_there

    def memory_keys(self) -> list[str]:
        return sorted(self._memory)

    def note(self, text: str) -> None:
        stripped = text.strip()
        if len(stripped) > _NOTE_CHARS_MAX:
            raise Refusal("too_large", f"a note of {len(stripped)} characters; the most is {_NOTE_CHARS_MAX}")
        if stripped:
            _check_room("notes", self._notes_of_attempt, _NOTES_MAX)
            self._notes_of_attempt += 1
            self.notes.append(stripped)

    def schedule(self, event: RawEvent, after: str) -> None:
        if not _EVENT.fullmatch(event.name) or event.name in _ENGINES:
            text = f"`{event.name}` is no event of a workflow: expected a letter, then up to 63 of a-z 0-9 _ -"
            raise Refusal("invalid_event", text)
        found = _DELAY.fullmatch(after)
        if not found or int(found[1]) * _SECONDS[found[2]] > _DELAY_SECONDS_MAX:
            text = f"`{after}` is no duration: expected a number and one of s, m, h, d, as in 90s or 6h; at most 3650d"
            raise Refusal("invalid_duration", text)
        _check_room("events", len(self.scheduled), _SCHEDULES_MAX)
        payload = event.payload or "{}"
        _check_size("payload", payload)
        self.scheduled.append(Scheduled(event.name, shape.read(payload), after))

    def log(self, level: str, text: str) -> None:
        self.logs.append((level, text))

    def _memory_was_written(self) -> None:
        if self._writes_to_live is not None:
            self._writes_to_live -= 1
            if self._writes_to_live == 0:
                raise _Killed


def _copy(value: Any) -> Any:
    return shape.read(shape.write(value))


def _check_size(what: str, json: str) -> None:
    size = len(json.encode())
    if size > _VALUE_BYTES_MAX:
        raise Refusal("too_large", f"{what} has {size} bytes; the most is {_VALUE_BYTES_MAX}")


def _check_room(what: str, count: int, most: int) -> None:
    if count >= most:
        raise Refusal("too_many", f"one attempt adds at most {most} {what}")
