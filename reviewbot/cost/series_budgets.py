"""A series -> the switch budgets that it changes: of the functions it touches, and of the entry points that reach
them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reviewbot.cost.budget import saved_by
from reviewbot.cost.environment import CpuChoice, choose_cpu
from reviewbot.cost.predictions import SeriesBudgets
from reviewbot.csyntax.items import Item, function_at, functions_holding
from reviewbot.csyntax.lexing import code_of
from reviewbot.findings.finding import Cost
from reviewbot.findings.review import SwitchBudget
from reviewbot.findings.switches import is_same, to_count
from reviewbot.graph.callers import entries_of
from reviewbot.graph.code import CodeReader
from reviewbot.graph.switch_counter import SwitchCounter
from reviewbot.graph.switch_counts import Tally
from reviewbot.patterns import regex
from reviewbot.rulebook.book import Rulebook, arch_of
from reviewbot.rulebook.primitives import Direction
from reviewbot.source.states import PatchState
from reviewbot.source.tree import SourceTree

GENERIC_ARCHES = ("powerpc", "x86")
"""Code outside arch/ runs everywhere; these two guard user memory, and differ in how."""

_CALLS = regex(rb"\b([A-Za-z_]\w*)\s*\(")

MAX_SEARCHES = 1
"""Whole-tree searches for callees on each side: a search of a big tree takes seconds."""

MAX_TOUCHED = 60
MAX_FUNCTIONS_READ = 1500

Function = tuple[str, str]
"""Path after the series, and name."""


def budgets_of(
    states: Sequence[PatchState], touched: Iterable[Function], book: Rulebook, cpu: CpuChoice
) -> SeriesBudgets:
    """Compares the trees before and after a whole series, which must be complete. `touched` are by the path after the
    patch that did it."""
    old_paths = _old_paths(states)
    sides = (_Side(states[0].before, book, old_paths), _Side(states[-1].after, book, {}))
    touched = {(_path_at_the_end(path, states), name) for path, name in touched}
    accessors = _accessors(sides, touched)
    if not accessors:
        return SeriesBudgets()
    notes = []
    if len(accessors) > MAX_TOUCHED:
        notes.append(f"Switches per call were counted for {MAX_TOUCHED} of {len(accessors)} functions touched.")
        accessors = accessors[:MAX_TOUCHED]
    entries, gaps = _entries(sides, accessors)
    notes += [f"Switches per call: {gap}." for gap in gaps]
    for side in reversed(sides):  # what the later tree is searched for is known of the earlier one, too
        side.prefetch(dict.fromkeys((*accessors, *entries)))
    changed: dict[tuple[Function, str], SwitchBudget] = {}
    for function in dict.fromkeys((*accessors, *entries)):
        for arch in _arches(function[0]):
            if sum(side.functions_read for side in sides) > MAX_FUNCTIONS_READ:
                notes.append("Switches per call were not counted for every function: the series reaches too many.")
                return _made(changed, entries, notes)
            budget = _budget(function, arch, sides, book, cpu)
            if budget is not None:
                changed[function, arch] = budget
    if changed and any(side.was_cut for side in sides):
        notes.append(
            "Switches per call: what lies more than one call outside the directories that the series changes was not"
            " followed; `reviewbot budget` follows it."
        )
    return _made(changed, entries, notes)


def _made(
    changed: Mapping[tuple[Function, str], SwitchBudget], entries: Iterable[Function], notes: Iterable[str]
) -> SeriesBudgets:
    outer = set(entries)
    return SeriesBudgets(
        changed=tuple(changed.values()),
        entries=tuple(budget for (function, _), budget in changed.items() if function in outer),
        notes=tuple(notes),
    )


def _old_paths(states: Sequence[PatchState]) -> dict[str, str]:
    """Path after the series -> path before it, for what was renamed."""
    found: dict[str, str] = {}
    for old, new in (rename for state in states for rename in state.renames):
        found[new] = found.pop(old, old)
    return found


def _path_at_the_end(path: str, states: Sequence[PatchState]) -> str:
    for old, new in (rename for state in states for rename in state.renames):
        path = new if path == old else path
    return path


class _Side:
    """The tree before, or after; paths are those after the series."""

    def __init__(self, tree: SourceTree, book: Rulebook, old_paths: dict[str, str]) -> None:
        self.reader = CodeReader(tree, book)
        self._old_paths = old_paths
        self._counters: dict[tuple[str, str], SwitchCounter] = {}
        self._tallies: dict[tuple[Function, str], Tally | None] = {}

    @property
    def functions_read(self) -> int:
        return sum(counter.functions_read for counter in self._counters.values())

    @property
    def was_cut(self) -> bool:
        return any(counter.was_cut for counter in self._counters.values())

    def path(self, path: str) -> str:
        return self._old_paths.get(path, path)

    def item(self, function: Function) -> Item | None:
        path, name = self.path(function[0]), function[1]
        data = self.reader.data(path)
        word = name.rpartition("(")[2].rstrip(")")
        offsets = (match.start() for match in self.reader.word(word).finditer(code_of(data)))
        return next((each for each in (function_at(data, at) for at in offsets) if each and each.name == name), None)

    def tally(self, function: Function, arch: str) -> Tally | None:
        """None: the function is not there."""
        key = (function, arch)
        if key not in self._tallies:
            item = self.item(function)
            path = self.path(function[0])
            self._tallies[key] = self._counter(arch, path.rpartition("/")[0]).tally(path, item) if item else None
        return self._tallies[key]

    def prefetch(self, functions: Iterable[Function]) -> None:
        """Find what all these functions call with few searches of the tree."""
        by_place: dict[tuple[str, str], list[tuple[str, Item]]] = {}
        for function in functions:
            item, path = self.item(function), self.path(function[0])
            if item is None:
                continue
            for arch in _arches(path):
                by_place.setdefault((arch, path.rpartition("/")[0]), []).append((path, item))
        names = [self._counter(arch, at).names_around(found) for (arch, at), found in by_place.items()]
        self.reader.tree.search(sorted(set().union(*names)), (".c",))  # once for all of them; the tree remembers
        for (arch, directory), found in by_place.items():
            self._counter(arch, directory).prefetch(found)

    def _counter(self, arch: str, directory: str) -> SwitchCounter:
        key = (arch, directory)
        if key not in self._counters:
            self._counters[key] = SwitchCounter(self.reader, arch, directory, max_searches=MAX_SEARCHES)
        return self._counters[key]


def _arches(path: str) -> tuple[str, ...]:
    arch = arch_of(path)
    return (arch,) if arch is not None else GENERIC_ARCHES


def _accessors(sides: Sequence[_Side], touched: Iterable[Function]) -> list[Function]:
    """Of what the series touches, the functions in .c files that name an access, or one of the file that does."""
    found: dict[Function, None] = {}
    for path, name in sorted(touched):
        if not path.endswith(".c"):
            continue
        for side in sides:
            item = side.item((path, name))
            if item is None:
                found.update(dict.fromkeys(_users_of_macro(side, path, name)))
            elif _may_access(side.reader, side.path(path), item):
                found[path, name] = None
    return list(found)


def _users_of_macro(side: _Side, path: str, name: str) -> list[Function]:
    """The functions of the file that use a macro which names an access."""
    data = side.reader.data(side.path(path))
    definition = side.reader.word(name).search(code_of(data))
    if definition is None or b"#" not in data[data.rfind(b"\n", 0, definition.start()) + 1 : definition.start()]:
        return []
    offsets = (match.start() for match in side.reader.word(name).finditer(code_of(data)))
    return [(path, item.name) for item in functions_holding(data, offsets) if _may_access(side.reader, path, item)]


def _may_access(reader: CodeReader, path: str, item: Item) -> bool:
    if reader.any_primitive.search(item.text) is not None:
        return True
    return any(reader.is_accessor(word.decode(), path) for word in _called(item))


def _called(item: Item) -> set[bytes]:
    return set(_CALLS.findall(item.text[item.body - item.start :]))


def _entries(sides: Sequence[_Side], accessors: Sequence[Function]) -> tuple[list[Function], tuple[str, ...]]:
    """The entry points on the side after, for the functions that are still there."""
    reader = sides[1].reader
    functions = [(path, item) for path, name in accessors if (item := sides[1].item((path, name))) is not None]
    directories = sorted({path.rpartition("/")[0] for path, _ in functions})
    entries = entries_of(reader, functions, directories)
    return [(each.path, each.item.name) for each in entries.found], entries.gaps


def _budget(
    function: Function, arch: str, sides: Sequence[_Side], book: Rulebook, cpu: CpuChoice
) -> SwitchBudget | None:
    old, new = (side.tally(function, arch) for side in sides)
    if is_same(old or Tally(), new or Tally()):
        return None
    has_directions = book.architecture(arch).distinct_directions
    return SwitchBudget(
        path=function[0],
        function=function[1],
        arch=arch,
        before=to_count(old, has_directions=has_directions) if old is not None else None,
        after=to_count(new, has_directions=has_directions) if new is not None else None,
        saved=saved_per_call(old, new, arch, book, cpu) if old is not None and new is not None else None,
    )


def saved_per_call(before: Tally, after: Tally, arch: str, book: Rulebook, cpu: CpuChoice) -> Cost:
    """What the typical way through one call saves; rounds of loops are not in it."""
    model, _ = choose_cpu(book, cpu, (arch,))
    sides = [{d: tally.pairs.typ.of(d) for d in Direction} for tally in (before, after)]
    return saved_by(sides[0], sides[1], model, cpu.environment)
