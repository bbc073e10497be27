"""The inspection of files that strangers wrote, in bounded time: what takes too long is a gap, and costs only itself.

The limits of every stage (sizes, depths, counts) keep what people write far below these seconds. They are the last
resort against what nobody thought of, so which file is given up may depend on the machine, but that one is, is said.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from reviewbot.findings.finding import Gap
from reviewbot.findings.inspection import Inspection
from reviewbot.rulebook.book import Rulebook
from reviewbot.rules.inspection import inspect
from reviewbot.source.tree import SourceTree
from reviewbot.time_limit import TooLongError, time_limit

Focus = Mapping[str, frozenset[str]] | None


def inspect_bounded(tree: SourceTree, paths: Sequence[str], book: Rulebook, focus: Focus = None) -> Inspection:
    """As `inspect`; where that is not done in `stage_s` seconds (of the limits in the book), or nests too deep, each
    file is inspected alone, for `file_s` seconds at most and `stage_s` in all."""
    together_s, alone_s = book.limits.stage_s, book.limits.file_s
    try:
        with time_limit(together_s if len(paths) > 1 else min(together_s, alone_s)):
            return inspect(tree, paths, book, focus)
    except (TooLongError, RecursionError, MemoryError) as error:
        if len(paths) == 1:
            return _given_up(paths[0], error, min(together_s, alone_s))
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
        return _given_up(path, error, limit_s)


def _given_up(path: str, error: Exception, limit_s: float) -> Inspection:
    if isinstance(error, TooLongError):
        what = f"takes longer than {max(limit_s, 0):.3g} s to read (limits.code.file_s and stage_s)"
    else:
        what = "nests too deep, or is too large, to read"
    gap = Gap(path=path, line=0, function="", reason=f"the file {what}, and was not reviewed")
    return Inspection(observations=(), gaps=(gap,), blocks_seen=0)
