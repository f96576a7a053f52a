"""The decorator, and the way from a plain function to one attempt."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .context import Context
from .event import Event, lowered
from .failure import Failure
from .host import Host, RawEvent, Task

Data = TypeVar("Data")


class Waiting:
    """The type of `waiting`."""

    def __repr__(self) -> str:
        return "waiting"


#: The work goes on outside; somebody will report the task or fire an event.
waiting = Waiting()


class Routine(Generic[Data]):
    """A function that was made a routine. It can be called as before."""

    def __init__(self, function: Callable[[Context[Data]], Event | Waiting]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._wanted: Any = _data_type(function)

    def __call__(self, ctx: Context[Data]) -> Event | Waiting:
        return self.function(ctx)

    def attempt(self, task: Task, host: Host) -> RawEvent | Waiting:
        """One attempt: what the routine came to in the contract's words. What it raises is passed on as it is."""
        outcome = self.function(Context(task, host, self._wanted))
        if outcome is waiting:
            return waiting
        return lowered(outcome)

    def context(self, task: Task, host: Host) -> Context[Data]:
        """The context that the routine would be given."""
        return Context(task, host, self._wanted)


#: Every routine that was made, so that the component finds the only one.
made: list[Routine[Any]] = []


def routine(function: Callable[[Context[Data]], Event | Waiting]) -> Routine[Data]:
    """Makes this function the component's routine. A component has exactly one."""
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"`{function.__name__}` is async; a sandbox has nothing to wait for, so write a plain function")
    result = Routine(function)
    made.append(result)
    return result


def only(module: str) -> Routine[Any]:
    """The one routine of a component; `module` is where it was looked for."""
    match made:
        case [single]:
            return single
        case []:
            raise TypeError(f"{module}.py has no routine: put @routine on a function of the context")
    names = ", ".join(each.__name__ for each in made)
    raise TypeError(f"a component has exactly one routine, and {module}.py has {names}: build each on its own")


def _data_type(function: Callable[..., Any]) -> Any:
    """What stands in `Context[…]`; None reads as a dict."""
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) != 1:
        raise TypeError(f"a routine is `def {function.__name__}(ctx: Context[…])`, with one argument")
    hint = typing.get_type_hints(function).get(parameters[0].name)
    wanted = typing.get_args(hint)
    return None if not wanted or isinstance(wanted[0], TypeVar) else wanted[0]


def failed(error: BaseException, places: list[str]) -> Failure:
    """Any exception as a failure: what was raised on purpose as it is, everything else retryable and with its place."""
    if isinstance(error, Failure):
        return Failure(_with_causes(error.message, error), retry=error.retry)
    text = str(error)
    if isinstance(error, ModuleNotFoundError):
        text += " (the sandbox has no files: import at the top of a module, so that the build finds it)"
    said = _with_causes(f"{type(error).__name__}: {text}" if text else type(error).__name__, error)
    return Failure("\n".join([said, *places]), retry=True)


#: The most characters of a message, so that the places after it are not cut off.
_MESSAGE_CHARS_MAX = 4_000


def _with_causes(message: str, error: BaseException) -> str:
    cause = error.__cause__
    for _ in range(8):
        if cause is None:
            break
        if str(cause) not in message:
            message += f": {cause}"
        cause = cause.__cause__
    return message if len(message) <= _MESSAGE_CHARS_MAX else f"{message[:_MESSAGE_CHARS_MAX]}…"
