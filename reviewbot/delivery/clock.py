"""Time as the watchers see it: seconds since 1970, and pauses that end when the process is asked to stop."""

from __future__ import annotations

import contextlib
import os
import select
import time
from typing import Protocol


class StopAsked(BaseException):
    """The process was asked to stop during a pause; whoever works on something rolls it back and lets this pass.

    Like KeyboardInterrupt not an Exception, so that no handler of errors takes it for one.
    """


class Clock(Protocol):
    """What tests replace."""

    def now(self) -> float:
        """Seconds since 1970."""

    def sleep(self, seconds: float) -> None:
        """Pauses; raises StopAsked when the process is asked to stop meanwhile."""

    @property
    def is_stopping(self) -> bool:
        """True once the process was asked to stop."""


class SystemClock:
    """The real clock; `stop()` may be called from a signal handler (a pipe, as locks may not be taken there)."""

    def __init__(self) -> None:
        self._stopping = False
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        if not self._stopping:
            select.select([self._wake_read], [], [], max(0.0, seconds))
        if self._stopping:
            raise StopAsked

    def stop(self) -> None:
        """Ends the current pause and all later ones."""
        self._stopping = True
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"x")

    @property
    def is_stopping(self) -> bool:
        return self._stopping
