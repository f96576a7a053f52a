"""Events: a name and perhaps a payload."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from . import shape
from .failure import Failure
from .host import RawEvent

_FORM = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_ENGINES = ("timeout", "error", "joined")


def _checked(name: str) -> str:
    if not _FORM.fullmatch(name):
        raise TypeError(
            f"`{name}` cannot be an event's name: a name starts with a letter and has at most 64 of the characters "
            'a-z 0-9 _ -; give one with class Name(Event, name="…")'
        )
    if name in _ENGINES:
        raise TypeError(f"the engine itself fires `{name}`, so a routine cannot emit it; take another name")
    return name


def _snake_case(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return words.lower()


class Event:
    """A dataclass whose values are events. Its fields are the payload.

    The name is the class's in snake case, `NeedsWork` is `needs_work`; `class NeedsWork(Event, name="needs-work")` says
    another.
    """

    event_name: ClassVar[str]

    def __init_subclass__(cls, name: str | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.event_name = _checked(name or _snake_case(cls.__name__))


class _Named(Event, name="named"):
    """An event by its bare name."""

    def __init__(self, name: str, payload: Any) -> None:
        self.event_name = name  # type: ignore[misc]
        self.payload = payload


def event(name: str, payload: Any = None) -> Event:
    """An event by its name, with its payload (a dict or a dataclass) if it has one. The host checks the name."""
    return _Named(name, payload)


def lowered(value: Any) -> RawEvent:
    """An event in the contract's words. Raises a fatal `Failure` for what is none."""
    if not isinstance(value, Event):
        raise Failure.fatal(f"a routine returns an Event or `waiting`, not {value!r}"[:500])
    payload = value.payload if isinstance(value, _Named) else value
    if payload is None:
        return RawEvent(value.event_name, None)
    try:
        json = shape.write(payload)
    except (TypeError, ValueError) as error:
        raise Failure.fatal(f"the payload of event `{value.event_name}` cannot be written as JSON: {error}") from error
    if not json.startswith("{"):
        raise Failure.fatal(f"the payload of event `{value.event_name}` must be an object, not {json}"[:500])
    return RawEvent(value.event_name, None if json == "{}" and payload is value else json)
