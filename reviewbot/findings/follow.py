"""Walk along the states of a series: what is worth inspecting is inspected before and after each patch, and
compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from reviewbot.findings.finding import Gap, Observation
from reviewbot.findings.fingerprint import identity
from reviewbot.findings.history import History, Life
from reviewbot.findings.matching import Seen
from reviewbot.findings.scope import Scope, find_scope
from reviewbot.rulebook.book import Rulebook
from reviewbot.source.states import PatchState
from reviewbot.source.tree import SourceTree
from reviewbot.time_limit import TooLongError, time_limit
from reviewbot.values import dataclass

# What the rules see in some files of a tree: the observations and the gaps.
Sight = tuple[tuple[Observation, ...], tuple[Gap, ...]]
# Given a tree, paths in it and, where there is one, the focus: by path, the functions that are enough to look at.
Look = Callable[..., Sight]


@dataclass(slots=True, kw_only=True)
class Followed:
    """`lives` of everything seen; `gaps` of each patch, by its index; `inspected`: indexes of the patches that were
    looked into; `functions`: the (path, name) whose own text the series changes, by the path after the patch."""

    lives: list[Life]
    gaps: dict[int, tuple[Gap, ...]] = field(default_factory=dict)
    inspected: set[int] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)


def follow(
    states: Sequence[PatchState],
    book: Rulebook,
    look: Look,
    advance: Callable[[int], None] = lambda done: None,
    *,
    show_all: bool = False,
) -> Followed:
    """Follow everything that the rules see from state to state. A file is looked at once per state, and not again for
    the state before the next patch. `advance` hears how many states are done.
    `show_all`: give the gaps, too, that the series has nothing to do with."""
    history = History()
    followed = Followed(lives=history.lives)
    # in a longer series a later patch may move what an earlier one leaves out
    is_focused = len(states) == 1 and not show_all
    seen = _SeenFiles(look)
    for done, state in enumerate(states):
        advance(done)
        scope = _scope_of(state, book)
        scope.paths |= _known_files_touched(state, history)
        index = state.patch.index
        followed.functions |= scope.functions
        followed.gaps[index] = tuple(replace(gap, patch=index) for gap in scope.gaps)
        if not scope.paths:
            seen.keep(state.after, state)
            continue
        old_path = {new: old for old, new in state.renames}
        seen.focus = scope.focus if is_focused else {}
        before = seen.look(state.before, sorted({old_path.get(path, path) for path in scope.paths}))
        seen.keep(state.after, state, scope)
        after = seen.look(state.after, sorted(scope.paths))
        history.advance(index, before, after, state.changed, state.renames)
        gaps = after.gaps if show_all else _gaps_of(state, scope, before, after)
        followed.gaps[index] += tuple(replace(gap, patch=index) for gap in gaps)
        followed.inspected.add(index)
    if states:
        history.settle(states[0].before)
    return followed


def _scope_of(state: PatchState, book: Rulebook) -> Scope:
    """As `find_scope`, in bounded time: what takes longer is inspected as far as the patch touches it, and said."""
    try:
        with time_limit(book.limits.stage_s):
            return find_scope(state, book)
    except (TooLongError, RecursionError) as error:
        limit = f"in {book.limits.stage_s:g} s (limits.code.stage_s)" if isinstance(error, TooLongError) else "so deep"
        reason = f"what the patch concerns cannot be found out {limit}, so it was not reviewed in full"
        return Scope(paths=set(state.changed), gaps=[Gap(path="", line=0, function="", reason=reason)])


class _SeenFiles:
    """What was seen in each file of the latest tree."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._tree: SourceTree | None = None
        self._files: dict[str, Sight] = {}
        self.focus: Mapping[str, frozenset[str]] = {}

    def look(self, tree: SourceTree, paths: Sequence[str]) -> Seen:
        if tree is not self._tree:
            self._tree, self._files = tree, {}
        if new := [path for path in paths if path not in self._files and tree.read(path) is not None]:
            observations, gaps = self._look(tree, new, self.focus) if self.focus else self._look(tree, new)
            known = dict.fromkeys(new)
            owned: dict[str, tuple[list[Observation], list[Gap]]] = {path: ([], []) for path in new}
            for each in observations:
                owned[_owner(each, known)][0].append(each)
            for gap in gaps:
                owned[gap.path if gap.path in known else new[0]][1].append(gap)
            self._files |= {path: (tuple(seen), tuple(missed)) for path, (seen, missed) in owned.items()}
        seen = [self._files[path] for path in paths if path in self._files]
        return Seen(
            tree=tree,
            observations=_distinct(each for observations, _ in seen for each in observations),
            gaps=tuple(dict.fromkeys(each for _, gaps in seen for each in gaps)),
        )

    def keep(self, tree: SourceTree, state: PatchState, scope: Scope | None = None) -> None:
        """Go on to `tree`: what the patch neither touches nor reaches is as it was seen before it."""
        if self._tree is not state.before:
            self._files = {}
        stale = {*state.changed, *(old for old, _ in state.renames), *(scope.paths if scope else ())}
        self._files = {path: seen for path, seen in self._files.items() if path not in stale}
        self._tree = tree


def _distinct(observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """One for each place: a helper may be reached from several blocks."""
    found = {
        (*identity(each), each.place, each.variant, each.arch, each.condition): each
        for each in reversed([*observations])
    }
    return tuple(reversed(found.values()))


def _owner(observation: Observation, paths: Mapping[str, None]) -> str:
    """The file that was looked at: the one with the block, though the place may be in a header that runs in it."""
    places = (*(link.place for link in observation.chain[:1]), observation.place)
    return next((place.path for place in places if place.path in paths), next(iter(paths)))


def _known_files_touched(state: PatchState, history: History) -> set[str]:
    """Files with something known in them that the patch touches, or whose chain leads through a file that it touches:
    at the least the lines move."""
    new_path = dict(state.renames)
    touched = set(state.changed)
    found = set()
    for life in history.lives:
        if life.fixed_by is None:
            places = (life.observation.place, *(link.place for link in life.observation.chain))
            if any(new_path.get(place.path, place.path) in touched for place in places):
                found |= {new_path.get(place.path, place.path) for place in places[:2]}
    return found


def _gaps_of(state: PatchState, scope: Scope, before: Seen, after: Seen) -> list[Gap]:
    """The gaps that the patch brings, and those in what it changes; others are no news."""
    new_path = dict(state.renames)
    known = {(new_path.get(gap.path, gap.path), gap.function, gap.reason) for gap in before.gaps}

    def concerns_patch(gap: Gap) -> bool:
        if gap.function:
            return (gap.path, gap.function) in scope.functions
        return gap.path in state.changed

    return [gap for gap in after.gaps if concerns_patch(gap) or (gap.path, gap.function, gap.reason) not in known]
