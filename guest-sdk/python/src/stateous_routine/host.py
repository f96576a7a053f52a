"""The seam between the SDK and its host: the contract's calls, with JSON as text.

`component.py` has the real host, `testing.py` the one for native tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass
class RawEvent:
    """An event in the contract's words: its payload is JSON text."""

    name: str
    payload: str | None


@dataclass
class Task:
    """As the contract's record `task`."""

    token: str
    id: int
    workflow: str
    state: str
    visit: int
    attempt: int
    entered_by: RawEvent
    now_ms: int


class Host(Protocol):
    """What a routine may ask of its host. A call that is refused raises `Refusal`."""

    def context_all(self) -> str: ...
    def context_get(self, key: str) -> str | None: ...
    def context_set(self, key: str, json: str) -> None: ...
    def memory_get(self, key: str) -> str | None: ...
    def memory_set(self, key: str, json: str) -> None: ...
    def memory_delete(self, key: str) -> bool: ...
    def memory_keys(self) -> list[str]: ...
    def note(self, text: str) -> None: ...
    def schedule(self, event: RawEvent, after: str) -> None: ...
    def log(self, level: str, text: str) -> None: ...
