"""`python -m tests.mutation TREE [--most N] [--only KIND] [--missed]`: seed mistakes into the functions of a kernel's
git tree, at most N of each kind spread over all places, inspect each file before and after, and print a table.

A mutant counts as found when a rule that may say it says it in that function within 40 lines, and did not before.
What else is new near it (another rule, another function) counts as a false alarm, and must be read: a mistake may
have consequences.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from reviewbot.csyntax.items import functions_holding
from reviewbot.findings.finding import Observation
from reviewbot.git import Repository
from reviewbot.rulebook.book import Rulebook, load_rulebook
from reviewbot.rules.inspection import inspect
from reviewbot.source.git_tree import CommitTree
from reviewbot.source.overlay import OverlayTree
from reviewbot.source.tree import SourceTree
from tests.mutation.mistakes import KINDS, Mutant, calls_between, untrace

_WORDS = ("user_access_begin", "user_read_access_begin", "user_write_access_begin", "get_user", "put_user")
_NEAR_LINES = 40
_NOT_SOURCE = ("tools/", "samples/", "scripts/", "Documentation/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A mutant in its file: the whole new text, the function it is in, and the line."""

    kind: str
    path: str
    function: str
    line: int
    text: bytes
    rules: frozenset[str]
    callee: str


@dataclass(slots=True)
class Row:
    seeded: int = 0
    found: int = 0
    missed: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    gaps: int = 0


class Seeder:
    """Seeds and inspects in one tree."""

    def __init__(self, tree: SourceTree, book: Rulebook) -> None:
        self._tree, self._book = tree, book
        self.seen_before = lru_cache(maxsize=256)(self._before)

    def places(self, kind: str) -> Iterator[Place]:
        """Every place in the tree for one kind of mistake."""
        found = self._tree.search(_WORDS, (".c",))
        for path in sorted({path for paths in found.values() for path in paths}):
            if not path.startswith(_NOT_SOURCE):
                yield from self._in_file(kind, path, (self._tree.read(path) or b"").decode("latin-1"))

    def judge(self, place: Place, row: Row) -> None:
        before = self.seen_before(place.path)
        after = inspect(OverlayTree(self._tree, {place.path: place.text}), [place.path], self._book)
        new = list(after.observations)
        known = Counter(map(_key, before))
        fresh = [each for each in new if not _take(known, _key(each))]
        hits = [each for each in fresh if self._is_hit(each, place)]
        row.seeded += 1
        where = f"{place.path}:{place.line} {place.function}()"
        if hits:
            row.found += 1
        else:
            reasons = [gap.reason for gap in after.gaps if gap.function == place.function]
            row.gaps += bool(reasons)
            row.missed.append(where + (f"  [gap: {reasons[0][:80]}]" if reasons else ""))
        others = [each for each in fresh if each not in hits and each.rule not in place.rules]
        row.alarms += [f"{where}: {each.rule} in {each.place.path}:{each.place.line}" for each in others]

    def _before(self, path: str) -> tuple[Observation, ...]:
        return inspect(self._tree, [path], self._book).observations

    def _in_file(self, kind: str, path: str, text: str) -> Iterator[Place]:
        data = text.encode("latin-1")
        offsets = [match.start() for word in _WORDS for match in re.finditer(rb"\b%b\(" % word.encode(), data)]
        items = functions_holding(data, offsets)
        if kind == "drop inline or notrace":
            yield from self._untraced(kind, path, text, [item.text.decode("latin-1") for item in items])
            return
        for item in items:
            for mutant in KINDS[kind](text[item.start : item.end]):
                whole = text[: item.start] + mutant.text + text[item.end :]
                yield _to_place(kind, path, item.name, whole, item.start + mutant.offset, mutant)

    def _untraced(self, kind: str, path: str, text: str, functions: list[str]) -> Iterator[Place]:
        for new, name, offset in untrace(text):
            if any(name in calls_between(function) for function in functions):
                mutant = Mutant(text=new, offset=offset, rules=frozenset({"traced_call"}), callee=name)
                yield _to_place(kind, path, "", new, offset, mutant)

    def _is_hit(self, seen: Observation, place: Place) -> bool:
        if seen.rule not in place.rules or (place.callee and seen.callee != place.callee):
            return False
        if not place.function:
            return True
        near = [(seen.place.path, seen.place.line), *((link.place.path, link.place.line) for link in seen.chain)]
        is_near = any(path == place.path and abs(line - place.line) <= _NEAR_LINES for path, line in near)
        return seen.place.function == place.function or is_near


def _to_place(kind: str, path: str, function: str, text: str, offset: int, mutant: Mutant) -> Place:
    line = text.count("\n", 0, offset) + 1
    data = text.encode("latin-1")
    return Place(
        kind=kind, path=path, function=function, line=line, text=data, rules=mutant.rules, callee=mutant.callee
    )


def _key(seen: Observation) -> tuple[str, str, str, str]:
    return seen.rule, seen.place.path, seen.place.function, seen.callee or ""


def _take(known: Counter[tuple[str, str, str, str]], key: tuple[str, str, str, str]) -> bool:
    known[key] -= 1
    return known[key] >= 0


def _spread(places: list[Place], most: int) -> list[Place]:
    """At most so many, evenly over the tree."""
    if len(places) <= most:
        return places
    return [places[at * len(places) // most] for at in range(most)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--most", type=int, default=50, help="mutants of each kind")
    parser.add_argument("--only", help="one kind")
    parser.add_argument("--missed", action="store_true", help="list what was missed, and what else was said")
    asked = parser.parse_args()
    repository = Repository.open(asked.tree)
    seeder = Seeder(CommitTree(repository, repository.resolve("HEAD")), load_rulebook())
    print(f"{'mistake':24} {'seeded':>6} {'found':>6} {'missed':>6} {'(gap)':>6} {'else':>6}", flush=True)
    for kind in [*KINDS, "drop inline or notrace"]:
        if asked.only not in (None, kind):
            continue
        row = Row()
        for place in _spread(list(seeder.places(kind)), asked.most):
            seeder.judge(place, row)
        print(
            f"{kind:24} {row.seeded:6} {row.found:6} {len(row.missed):6} {row.gaps:6} {len(row.alarms):6}", flush=True
        )
        for line in [*row.missed, *(f"else: {each}" for each in row.alarms)] if asked.missed else ():
            print(f"    {line}", flush=True)


if __name__ == "__main__":
    main()
