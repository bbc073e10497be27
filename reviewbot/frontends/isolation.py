"""A review in a process of its own: what a series does to memory, time or the interpreter ends with that process."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from reviewbot.delivery.clock import Clock, StopAsked
from reviewbot.errors import FetchError, GitError, InputError, ReviewbotError
from reviewbot.findings.review import Review

_GRACE_S = 10.0
_PR_SET_PDEATHSIG = 1


class ReviewFailedError(ReviewbotError):
    """The review broke, took too long or wanted too much memory; nothing is known about the series."""


def review_apart(
    work: Callable[[], Review],
    clock: Clock,
    *,
    timeout_s: float,
    memory_mb: int,
    tick: Callable[[], None] = lambda: None,
) -> Review:
    """The result of `work()`, done in a forked process with bounded time and memory. `tick` is called while it lasts.

    Raises what `work` raised where that is an error for users, ReviewFailedError for everything else, and StopAsked
    when the
    process is asked to stop and the review does not end within ten seconds.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_in_child, args=(work, theirs, memory_mb, os.getpid()), daemon=True)
    child.start()
    theirs.close()
    try:
        answer = _wait(ours, clock, timeout_s, tick)
    finally:
        ours.close()
        if child.is_alive():
            child.kill()
        child.join()
    if isinstance(answer, Review):
        return answer
    kind, text = answer
    raise _KINDS.get(kind, ReviewFailedError)(text)


_KINDS: dict[str, type[ReviewbotError]] = {each.__name__: each for each in (InputError, GitError, FetchError)}


def _wait(ours: Connection, clock: Clock, timeout_s: float, tick: Callable[[], None]) -> Review | tuple[str, str]:
    deadline = time.monotonic() + timeout_s
    stopping_since: float | None = None
    while not ours.poll(0.2):
        tick()
        now = time.monotonic()
        if now > deadline:
            return "ReviewFailedError", f"the review took longer than {timeout_s:g} s"
        if clock.is_stopping:
            stopping_since = stopping_since or now
            if now - stopping_since > _GRACE_S:
                raise StopAsked
    try:
        answer: Review | tuple[str, str] = ours.recv()
    except EOFError:
        if clock.is_stopping:
            raise StopAsked from None
        return "ReviewFailedError", "the review ended without a result (a crash, or out of memory)"
    return answer


def _in_child(work: Callable[[], Review], theirs: Connection, memory_mb: int, parent: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the parent decides, also when a whole service is told to stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _die_with(parent)
    # Without a limit one series could take the machine down; the parent's size is there before the work begins.
    limit = memory_mb * 1024 * 1024 + _own_size_bytes()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    answer: Review | tuple[str, str]
    try:
        answer = work()
    except (InputError, GitError, FetchError) as error:
        answer = (type(error).__name__ if type(error).__name__ in _KINDS else "FetchError", str(error))
    except MemoryError:
        answer = ("ReviewFailedError", f"the review needs more than {memory_mb} MB")
    except Exception as error:  # noqa: BLE001 - this is the guard of the child: one broken review must not end the watcher
        answer = ("ReviewFailedError", f"a bug in reviewbot ({type(error).__name__})")
        _report(error)
    with contextlib.suppress(OSError):
        theirs.send(answer)
    theirs.close()


def _report(error: Exception) -> None:
    import sys
    import traceback

    traceback.print_exception(error, file=sys.stderr)


def _die_with(parent: int) -> None:
    """A review whose watcher was killed ends at once: it would hold the watcher's locks."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _own_size_bytes() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:  # noqa: PTH123 - procfs
            return int(stream.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0
