"""Which observation after a patch is which one before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

from reviewbot.findings.finding import Gap, Observation, Place
from reviewbot.findings.fingerprint import as_written, identity
from reviewbot.source.states import Touched
from reviewbot.source.tree import SourceTree
from reviewbot.source.words import words_in
from reviewbot.values import dataclass

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the rules saw in some files of one tree."""

    tree: SourceTree
    observations: tuple[Observation, ...]
    gaps: tuple[Gap, ...] = ()


def is_touched(observation: Observation, changed: Mapping[str, Touched]) -> bool:
    """Whether a line that the observation is about was added."""
    places = ((observation.place.path, observation.place.line), *observation.suspect_lines)
    return any(path in changed and _is_in(line, changed[path].added) for path, line in places)


def match(
    before: Seen, after: Seen, changed: Mapping[str, Touched], new_path: Mapping[str, str]
) -> tuple[list[tuple[Observation, Observation]], list[Observation], list[Observation]]:
    """(pairs, gone, new): by the words of the source first, then by identity, then by what stays when a function is
    moved, renamed or cut in pieces."""
    old_path = {new: old for old, new in new_path.items()}
    removed = {path: touched.removed for path, touched in changed.items()}

    def was_removed(seen: Observation) -> bool:
        return _is_in(seen.place.line, removed.get(new_path.get(seen.place.path, seen.place.path), ()))

    gone, new = list(before.observations), list(after.observations)
    pairs: list[tuple[Observation, Observation]] = []
    for old_key, new_key in ways_to_match(before.tree, new_path, old_path):
        old_groups = by_key(gone, _in_tree(old_key, before.tree))
        new_groups = by_key(new, _in_tree(new_key, after.tree))
        for key in old_groups.keys() & new_groups.keys():
            # of several alike, those on lines that the patch leaves alone belong together
            olds = sorted(old_groups[key], key=lambda o: (was_removed(o), o.place))
            news = sorted(new_groups[key], key=lambda o: (is_touched(o, changed), o.place))
            pairs += zip(olds, news, strict=False)
        matched = {id(seen) for pair in pairs for seen in pair}
        gone = [seen for seen in gone if id(seen) not in matched]
        new = [seen for seen in new if id(seen) not in matched]
    return pairs, gone, new


Recognise = Callable[[Observation, SourceTree], Hashable]


def ways_to_match(
    before: SourceTree, new_path: Mapping[str, str], old_path: Mapping[str, str]
) -> tuple[tuple[Recognise, Recognise], ...]:
    """What makes an old and a new observation the same, the surest first: (key of the old one, key of the new one)."""
    return (
        (lambda o, _: as_written(o, new_path.get(o.place.path)), lambda o, _: as_written(o)),
        (lambda o, _: identity(o, new_path.get(o.place.path)), lambda o, _: identity(o)),
        (lambda o, _: _by_callee(o, new_path.get(o.place.path)), lambda o, _: _by_callee(o)),
        (lambda o, _: _without_path(o), lambda o, _: _without_path(o)),
        (lambda o, tree: _as_moved(o, tree, new_path), lambda o, tree: _as_new_function(o, before, tree, old_path)),
    )


def _in_tree(recognise: Recognise, tree: SourceTree) -> Callable[[Observation], Hashable]:
    return lambda observation: recognise(observation, tree)


def _by_callee(observation: Observation, path: str | None = None) -> Hashable:
    """The key words of a rule may tell of types, which a patch may change without changing anything else."""
    place = observation.place
    called = (observation.callee, observation.direction, observation.size_bytes)
    return observation.rule, observation.variant, path or place.path, place.function, called


def _without_path(observation: Observation) -> Hashable:
    rule, _, function, words = identity(observation)
    return rule, function, words


def _as_moved(observation: Observation, tree: SourceTree, new_path: Mapping[str, str]) -> Hashable:
    rule, path, _, words = identity(observation)
    return rule, new_path.get(path, path), words, _line_of(tree, observation.place)


def _as_new_function(
    observation: Observation, before: SourceTree, after: SourceTree, old_path: Mapping[str, str]
) -> Hashable:
    """As _as_moved, but only for a function whose name the file did not hold before; nothing else is a rename."""
    rule, path, function, words = identity(observation)
    name = function.rpartition("(")[2].rstrip(")")
    if not name or words_in(before.read(old_path.get(path, path)) or b"", (name,)):
        return observation.place, "not a new function"
    return rule, path, words, _line_of(after, observation.place)


def _line_of(tree: SourceTree, place: Place) -> bytes:
    lines = (tree.read(place.path) or b"").split(b"\n")
    return b"".join(lines[place.line - 1].split()) if 0 < place.line <= len(lines) else b""


def _is_in(line: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(first <= line <= last for first, last in ranges)


def by_key(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    groups: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups
