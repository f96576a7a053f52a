"""What a routine was given, and what it may ask of its host."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Generic, Literal, TypeVar, overload

from . import shape
from .event import Event, lowered
from .failure import Failure
from .host import Host, Task

Data = TypeVar("Data")
T = TypeVar("T")

#: `"90s"`, `"5m"`, `"6h"`, `"2d"`, or a timedelta, which is rounded up to whole seconds.
Delay = str | timedelta
Level = Literal["debug", "info", "warn", "error"]


class EnteredBy:
    """The event that brought the token into the state; `__started__` in the first."""

    def __init__(self, name: str, payload: str | None) -> None:
        self.name = name
        self._json = payload or "{}"

    @property
    def payload(self) -> dict[str, Any]:
        """The payload; `{}` when there is none."""
        return shape.read(self._json)

    def payload_as(self, wanted: type[T]) -> T:
        """The payload as a dataclass."""
        return _decoded(self._json, wanted, f"the payload of event `{self.name}`")


class Memory:
    """Keys and values of one (token, state) that outlive a crash, a retry and the supervisor itself.

    A value is on the supervisor's disk when `set` returns. That costs a disk flush: write after a piece of work worth
    not repeating.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    @overload
    def get(self, key: str) -> Any: ...
    @overload
    def get(self, key: str, wanted: type[T]) -> T | None: ...
    def get(self, key: str, wanted: Any = None) -> Any:
        """The value of a key, as `wanted` if given; `None` when nothing was set."""
        json = self._host.memory_get(key)
        return None if json is None else _decoded(json, wanted, f"the memory's `{key}`")

    def set(self, key: str, value: Any) -> None:
        """Sets a key (1 to 128 characters), durably. `None` cannot be kept: delete the key."""
        self._host.memory_set(key, _encoded(value, f"the value for the memory's `{key}`"))

    def delete(self, key: str) -> bool:
        """Deletes a key, durably. `False` when there was nothing to delete."""
        return self._host.memory_delete(key)

    def keys(self) -> list[str]:
        """All keys."""
        return self._host.memory_keys()


class Context(Generic[Data]):
    """One attempt's view of its token, and everything it may do.

    `Data` is the shape of the token's context as this routine reads it: a dataclass with the fields that it needs.
    Without one, `data` is a dict.
    """

    def __init__(self, task: Task, host: Host, wanted: Any = None) -> None:
        self._host = host
        self._now_ms = task.now_ms
        try:
            #: The token's context as it was when the attempt began.
            self.data: Data = _decoded(host.context_all(), wanted, "the token's context")
        except ValueError as error:
            # The next attempt would be given the same one.
            raise Failure.fatal(str(error)) from error
        #: The id of the token that waits in this state.
        self.token = task.token
        #: The task's number, the same for every attempt. With the token's id it makes an idempotency key for the outside.
        self.task = task.id
        self.workflow = task.workflow
        self.state = task.state
        #: How many times the token has entered this state; 1 is the first.
        self.visit = task.visit
        #: Which try of the task this is; 1 is the first.
        self.attempt = task.attempt
        #: The event that brought the token here, with its payload.
        self.entered_by = EnteredBy(task.entered_by.name, task.entered_by.payload)
        #: What this state remembers about the token from one attempt and visit to the next.
        self.memory = Memory(host)

    @property
    def now(self) -> datetime:
        """The host's time when the attempt began, in UTC. It does not advance."""
        return datetime.fromtimestamp(self._now_ms / 1000, timezone.utc)

    @property
    def now_ms(self) -> int:
        """`now` in milliseconds since 1970-01-01 UTC."""
        return self._now_ms

    @overload
    def get(self, key: str) -> Any: ...
    @overload
    def get(self, key: str, wanted: type[T]) -> T | None: ...
    def get(self, key: str, wanted: Any = None) -> Any:
        """One value of the token's context, this attempt's own writes included; `None` when there is no such key."""
        json = self._host.context_get(key)
        return None if json is None else _decoded(json, wanted, f"the context's `{key}`")

    def all(self) -> dict[str, Any]:
        """The whole context, this attempt's own writes included."""
        return shape.read(self._host.context_all())

    def set(self, key: str, value: Any) -> None:
        """Keeps a value for the token's context. It goes out with the outcome; if the attempt fails, it is gone."""
        self._host.context_set(key, _encoded(value, f"the value for the context's `{key}`"))

    def note(self, text: str) -> None:
        """Adds a line to the token's history, durably. At most 500 characters; an empty text adds nothing."""
        self._host.note(text)

    def schedule(self, event: Event, after: Delay) -> None:
        """Fires an event later, if the token is still in this state and visit by then. It goes out with the outcome."""
        self._host.schedule(lowered(event), _delay(after))

    def log(self, level: Level, text: str) -> None:
        """Writes a line to the supervisor's log, which is not kept with the token."""
        self._host.log(level, text)

    def debug(self, text: str) -> None:
        self.log("debug", text)

    def info(self, text: str) -> None:
        self.log("info", text)

    def warn(self, text: str) -> None:
        self.log("warn", text)

    def error(self, text: str) -> None:
        self.log("error", text)


def _delay(after: Delay) -> str:
    if isinstance(after, timedelta):
        return f"{max(1, -(-after // timedelta(seconds=1)))}s"
    return after


def _decoded(json: str, wanted: Any, what: str) -> Any:
    try:
        return shape.read(json, wanted)
    except shape.ShapeError as error:
        name = getattr(wanted, "__name__", str(wanted))
        raise ValueError(f"{what} does not fit `{name}`: {error}") from error


def _encoded(value: Any, what: str) -> str:
    try:
        return shape.write(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} cannot be written as JSON: {error}") from error
