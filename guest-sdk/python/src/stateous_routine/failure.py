"""A failed attempt, and a host that says no."""

from __future__ import annotations


class Failure(Exception):
    """Why the attempt failed. The message goes into the token's history.

    Raise one; every other exception counts as a retryable failure with its type, message and place.
    """

    def __init__(self, message: str, *, retry: bool = True) -> None:
        super().__init__(message)
        self.message = message
        #: Whether another attempt makes sense.
        self.retry = retry

    @classmethod
    def retryable(cls, message: str) -> Failure:
        """A failure after which another attempt makes sense, if the state has retries left."""
        return cls(message, retry=True)

    @classmethod
    def fatal(cls, message: str) -> Failure:
        """A failure that no other attempt would change: it spends the task's remaining retries."""
        return cls(message, retry=False)


class Refusal(Exception):
    """The host refused a call. Caught, the routine goes on; otherwise it ends the attempt as a retryable failure."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        #: Stable, for programs: `too_large`, `invalid_json`, `invalid_key`, `too_many`, `invalid_event`, …
        self.code = code
        self.message = message
