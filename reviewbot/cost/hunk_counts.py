"""The accesses and openers that the hunks of a series add and take away: what is known of switches without a tree."""

from __future__ import annotations

from collections import Counter

from reviewbot.patterns import regex
from reviewbot.rulebook.book import Rulebook, arch_of
from reviewbot.rulebook.primitives import Direction, Effect
from reviewbot.series.patch import Series
from reviewbot.values import dataclass

_CALL = regex(rb"\b([A-Za-z_]\w*)\s*\(")
_PAIR = frozenset((Effect.ACCESS, Effect.OPEN, Effect.SCOPED))
_NO_CODE = regex(rb"\s*(?:\*|/\*|//|#)|.*\\\s*$|[a-z]\w*[\w\s*]*\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkCounts:
    """Pairs by direction on the lines taken away and added; `hunks` is how many hunks hold any."""

    removed: Counter[Direction]
    added: Counter[Direction]
    hunks: int

    @property
    def is_evident(self) -> bool:
        """One hunk, so that one call very likely comes by all of it."""
        return self.hunks == 1


def count_hunks(series: Series, book: Rulebook) -> HunkCounts:
    """Over all patches; macros, comments and the heads of definitions are no calls."""
    counts = HunkCounts(removed=Counter(), added=Counter(), hunks=0)
    hunks = 0
    for change in (change for patch in series.patches for change in patch.files):
        arch = arch_of(change.path)
        for hunk in change.hunks:
            before = (counts.removed.total(), counts.added.total())
            for line in hunk.lines:
                side = {b"-": counts.removed, b"+": counts.added}.get(line[:1])
                if side is not None and not _NO_CODE.match(line[1:]):
                    side.update(_directions(line[1:], arch, book))
            hunks += before != (counts.removed.total(), counts.added.total())
    return HunkCounts(removed=counts.removed, added=counts.added, hunks=hunks)


def _directions(line: bytes, arch: str | None, book: Rulebook) -> list[Direction]:
    found = (book.primitive(name.decode(), arch) for name in _CALL.findall(line))
    return [each.direction for each in found if each is not None and each.effect in _PAIR and each.switches > 0]
