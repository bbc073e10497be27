"""A limit on the time of a block of code, in whatever thread it runs."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

_AGAIN_S = 0.2
_WATCHDOG_AGAIN_S = 2.0
Made = TypeVar("Made")


class TooLongError(Exception):
    """The time is up."""


@contextmanager
def time_limit(limit_s: float) -> Iterator[None]:
    """Raise TooLongError in the block after so many seconds, again and again until it is heard: raised within a
    callback of the interpreter (a finaliser, the garbage collector) it gets lost. A limit around this one goes on.

    In the main thread a signal ends it, which a regular expression hears, too; in others, where no signal arrives,
    the interpreter is asked to raise the error there, which it does between two steps of the program."""
    if limit_s <= 0:
        raise TooLongError
    is_main = threading.current_thread() is threading.main_thread()
    with _by_signal(limit_s) if is_main else _by_watchdog(limit_s):
        yield


@contextmanager
def _by_signal(limit_s: float) -> Iterator[None]:
    began = time.monotonic()
    previous = signal.signal(signal.SIGALRM, _stop)
    others_s, _ = signal.setitimer(signal.ITIMER_REAL, limit_s, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if others_s:
            signal.setitimer(signal.ITIMER_REAL, max(others_s - (time.monotonic() - began), 0.001), _AGAIN_S)


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooLongError


@contextmanager
def _by_watchdog(limit_s: float) -> Iterator[None]:
    watchdog = _Watchdog(limit_s)
    watchdog.start()
    try:
        try:
            yield
        finally:
            watchdog.call_off()
    except TooLongError:  # which may also have come within the lines above, and the next one is seconds away
        watchdog.call_off()
        raise


class _Watchdog(threading.Thread):
    """Raises TooLongError in the thread that made it."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(name="time limit", daemon=True)
        self._raise = _raiser(threading.get_ident())
        self._limit_s = limit_s
        self._over = threading.Event()
        self._lock = threading.Lock()

    def run(self) -> None:
        wait_s = self._limit_s
        while not self._over.wait(wait_s):
            wait_s = _WATCHDOG_AGAIN_S
            with self._lock:
                if not self._over.is_set():
                    self._raise(TooLongError)

    def call_off(self) -> None:
        """From now on nothing is raised, nor what is already on its way."""
        self._over.set()
        with self._lock:
            self._raise(None)


def _raiser(thread: int) -> Callable[[type[BaseException] | None], None]:
    """Raises an error in that thread between two steps of its program; None takes back what was not raised yet."""
    import ctypes  # takes a while, and most runs have no threads

    def raise_there(error: type[BaseException] | None) -> None:
        wanted = None if error is None else ctypes.py_object(error)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), wanted)

    return raise_there


class Timed:
    """Work that the result can do without: what takes longer than `limit_s`, or nests too deep, is left out, and there
    is a note that says so."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self.notes: list[str] = []

    def __call__(self, what: str, make: Callable[[], Made], otherwise: Made) -> Made:
        """What `make` gives, or `otherwise`."""
        try:
            with time_limit(self._limit_s):
                return make()
        except TooLongError:
            self.notes.append(f"{what} took longer than {self._limit_s:g} s (limits.code.stage_s), and is left out")
        except RecursionError:
            self.notes.append(f"{what} nests too deep, and is left out")
        return otherwise
