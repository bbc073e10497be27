"""What becomes of each observation over a series: there before, introduced by one patch, fixed by a later one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field

from reviewbot.findings.finding import Observation
from reviewbot.findings.fingerprint import as_written
from reviewbot.findings.matching import Recognise, Seen, by_key, is_touched, match, ways_to_match
from reviewbot.source.states import Touched
from reviewbot.source.tree import SourceTree
from reviewbot.values import dataclass


@dataclass(slots=True, kw_only=True, eq=False)
class Life:
    """One observation, followed: as last seen, in `tree`. `introduced_by` None: it was there before the series;
    `fixed_by` None: it is there in the end."""

    observation: Observation
    tree: SourceTree
    introduced_by: int | None = None
    fixed_by: int | None = None


@dataclass(slots=True)
class History:
    """Follows observations from state to state; `settle` ends it. The function is the unit: what moves, stays."""

    lives: list[Life] = field(default_factory=list)
    _moved: dict[str, str] = field(default_factory=dict)

    def advance(
        self,
        patch: int,
        before: Seen,
        after: Seen,
        changed: Mapping[str, Touched],
        renames: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Take in one patch: what was seen before and after it, in the same files, by their old and their new names."""
        new_path = dict(renames)
        self._moved = {old: new_path.get(new, new) for old, new in {**dict(renames), **self._moved}.items()}
        old = self._find_lives(before)
        pairs, gone, new = match(before, after, changed, new_path)
        for past, present in pairs:
            old[id(past)].observation, old[id(past)].tree = present, after.tree
        self._end(patch, gone, old, new, before, after, new_path)
        self._begin(
            patch, new, {each.callee: old[id(each)] for each in gone if each.callee}, before, after, changed, new_path
        )

    def _end(
        self,
        patch: int,
        gone: Sequence[Observation],
        lives: Mapping[int, Life],
        new: Sequence[Observation],
        before: Seen,
        after: Seen,
        new_path: Mapping[str, str],
    ) -> None:
        """What is gone was fixed, unless its function could not be read, or is itself reported now and not looked
        into."""
        unread = _newly_unread(before, after, new_path)
        reported = {each.callee for each in new}
        for past in gone:
            path = new_path.get(past.place.path, past.place.path)
            if (path, past.place.function) not in unread and not (_functions_of(past) & reported):
                lives[id(past)].fixed_by = patch

    def _begin(
        self,
        patch: int,
        new: Sequence[Observation],
        revealing: Mapping[str, Life],
        before: Seen,
        after: Seen,
        changed: Mapping[str, Touched],
        new_path: Mapping[str, str],
    ) -> None:
        """What is new was introduced, unless it stood in a function that could not be read, or that was itself reported
        and not looked into: then it is as old as that."""
        unread = _newly_read(before, after, new_path)
        for present in new:
            was_unread = (present.place.path, present.place.function) in unread and not is_touched(present, changed)
            hid = [revealing[name] for name in sorted(_functions_of(present)) if name in revealing]
            was_there = was_unread or any(life.introduced_by is None for life in hid)
            self._add(present, after.tree, None if was_there else patch)

    def _find_lives(self, before: Seen) -> dict[int, Life]:
        """The life of each observation; one that is met for the first time was there before the series."""
        alive = by_key(
            (life for life in self.lives if life.fixed_by is None), lambda life: as_written(life.observation)
        )
        for lives in alive.values():
            lives.sort(key=lambda life: life.observation.place)
        found: dict[int, Life] = {}
        for observation in sorted(before.observations, key=lambda seen: seen.place):
            known = alive.get(as_written(observation))
            if known:
                found[id(observation)] = known.pop(0)
            else:
                self.lives.append(life := Life(observation=observation, tree=before.tree))
                found[id(observation)] = life
        return found

    def _add(self, observation: Observation, tree: SourceTree, patch: int | None) -> None:
        """A new life, or one again that an earlier patch began and another ended."""
        who = as_written(observation)
        for life in self.lives:
            ended = life.fixed_by is not None and life.introduced_by is not None
            if ended and patch is not None and as_written(life.observation) == who:
                life.observation, life.tree, life.introduced_by, life.fixed_by = observation, tree, patch, None
                return
        self.lives.append(Life(observation=observation, tree=tree, introduced_by=patch))

    def settle(self, base: SourceTree) -> None:
        """Compare the end with the base: what one patch takes away and another brings (a function that moves in two
        steps) was there before and still is, as if one patch had done both."""
        old_path = {new: old for old, new in self._moved.items()}
        gone = [life for life in self.lives if life.introduced_by is None and life.fixed_by is not None]
        new = [life for life in self.lives if life.introduced_by is not None and life.fixed_by is None]
        for old_key, new_key in ways_to_match(base, self._moved, old_path):
            old_groups = by_key(gone, _of_life(old_key))
            new_groups = by_key(new, _of_life(new_key))
            for key in old_groups.keys() & new_groups.keys():
                for past, present in zip(old_groups[key], new_groups[key], strict=False):
                    present.introduced_by = None
                    gone.remove(past)
                    new.remove(present)
                    self.lives.remove(past)


def _newly_unread(before: Seen, after: Seen, new_path: Mapping[str, str]) -> set[tuple[str, str]]:
    """(path, function) with a gap that was not there before."""
    known = {(new_path.get(gap.path, gap.path), gap.function, gap.reason) for gap in before.gaps}
    return {(gap.path, gap.function) for gap in after.gaps if (gap.path, gap.function, gap.reason) not in known}


def _newly_read(before: Seen, after: Seen, new_path: Mapping[str, str]) -> set[tuple[str, str]]:
    """(path after the patch, function) with a gap that is there no more."""
    left = {(gap.path, gap.function, gap.reason) for gap in after.gaps}
    old = [(new_path.get(gap.path, gap.path), gap.function, gap.reason) for gap in before.gaps]
    return {(path, function) for path, function, reason in old if (path, function, reason) not in left}


def _functions_of(observation: Observation) -> set[str]:
    """The functions that the observation stands in and was reached through."""
    return {place.function for place in (observation.place, *(link.place for link in observation.chain))}


def _of_life(recognise: Recognise) -> Callable[[Life], Hashable]:
    return lambda life: recognise(life.observation, life.tree)
