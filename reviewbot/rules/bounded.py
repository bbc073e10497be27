"""The inspection of files that strangers wrote, in bounded time: what takes too long is a gap, and costs only itself.

The limits of every stage (sizes, depths, counts) keep what people write far below these seconds. They are the last
resort against what nobody thought of, so which file is given up may depend on the machine, but that one is, is said.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from reviewbot.findings.finding import Gap
from reviewbot.rulebook.book import Rulebook
from reviewbot.rules.inspection import Inspection, inspect
from reviewbot.source.tree import SourceTree

TOGETHER_S = 300.0
ALONE_S = 60.0

Focus = Mapping[str, frozenset[str]] | None


class TooLongError(Exception):
    """The time is up."""


def inspect_bounded(
    tree: SourceTree,
    paths: Sequence[str],
    book: Rulebook,
    focus: Focus = None,
    *,
    together_s: float = TOGETHER_S,
    alone_s: float = ALONE_S,
) -> Inspection:
    """As `inspect`; where that is not done in `together_s` seconds, or nests too deep, each file is inspected alone,
    for `alone_s` seconds at most and `together_s` in all."""
    try:
        with time_limit(together_s):
            return inspect(tree, paths, book, focus)
    except (TooLongError, RecursionError, MemoryError) as error:
        if len(paths) == 1:
            return _given_up(paths[0], error)
    deadline = time.monotonic() + together_s
    parts = [_alone(tree, path, book, focus, min(alone_s, deadline - time.monotonic())) for path in paths]
    return Inspection(
        observations=tuple(dict.fromkeys(seen for part in parts for seen in part.observations)),
        gaps=tuple(dict.fromkeys(gap for part in parts for gap in part.gaps)),
        blocks_seen=sum(part.blocks_seen for part in parts),
    )


def _alone(tree: SourceTree, path: str, book: Rulebook, focus: Focus, limit_s: float) -> Inspection:
    try:
        with time_limit(limit_s):
            return inspect(tree, [path], book, focus)
    except (TooLongError, RecursionError, MemoryError) as error:
        return _given_up(path, error)


def _given_up(path: str, error: Exception) -> Inspection:
    what = "takes too long to read" if isinstance(error, TooLongError) else "nests too deep, or is too large, to read"
    gap = Gap(path=path, line=0, function="", reason=f"the file {what}, and was not reviewed")
    return Inspection(observations=(), gaps=(gap,), blocks_seen=0)


@contextmanager
def time_limit(limit_s: float) -> Iterator[None]:
    """Raise TooLongError in the block after so many seconds. Signals reach only the main thread; elsewhere, as in a
    worker that has a limit of its own, there is none. Another timer that runs meanwhile goes on afterwards."""
    if limit_s <= 0:
        raise TooLongError
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    began = time.monotonic()
    previous = signal.signal(signal.SIGALRM, _stop)
    # Again and again: raised within a callback of the interpreter (a finaliser, the garbage collector) it gets lost.
    others_s, _ = signal.setitimer(signal.ITIMER_REAL, limit_s, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if others_s:
            signal.setitimer(signal.ITIMER_REAL, max(others_s - (time.monotonic() - began), 0.001))


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooLongError
