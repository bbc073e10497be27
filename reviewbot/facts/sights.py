"""What the rules saw in some files of one state of a series, and what a series changes of the budgets, kept under those
very states."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reviewbot.cost.environment import CpuChoice
from reviewbot.cost.predictions import SeriesBudgets
from reviewbot.facts.database import Database
from reviewbot.facts.packing import Kept
from reviewbot.facts.sight_cache import SightCache
from reviewbot.facts.version import stamp
from reviewbot.findings.inspection import Inspection
from reviewbot.rulebook.book import Rulebook
from reviewbot.source.git_tree import CommitTree
from reviewbot.source.overlay import OverlayTree
from reviewbot.source.states import PatchState
from reviewbot.source.tree import SourceTree

if TYPE_CHECKING:
    from reviewbot.cost.series_budgets import Function
    from reviewbot.rules.bounded import Focus


class Sights:
    """Inspections of one rule set, through the cache in `directory` (None: without one). Trouble with it is told to
    `complain`, once."""

    def __init__(self, book: Rulebook, directory: Path | None, complain: Callable[[str], None]) -> None:
        self._book = book
        self._database = Database(directory, complain) if directory is not None else None
        self._cache = SightCache(self._database, stamp(book)) if self._database is not None else None

    def close(self) -> None:
        """Let go of the cache's file; the next question opens it again."""
        if self._database is not None:
            self._database.close()

    def inspect(self, tree: SourceTree, paths: Sequence[str], focus: Focus = None) -> Inspection:
        """As `inspect_bounded`. What took so long that the clock may have cut it short is not kept."""
        functions = (f"{path} {','.join(sorted(names))}" for path, names in sorted((focus or {}).items()))
        asked = ("", *paths, "", *functions)

        def make() -> Inspection:
            from reviewbot.rules.bounded import inspect_bounded  # loads the C parser; what is kept needs none

            return inspect_bounded(tree, paths, self._book, focus)

        return self._recalled((tree,), asked, Inspection, make)

    def budgets(self, states: Sequence[PatchState], touched: Iterable[Function], cpu: CpuChoice) -> SeriesBudgets:
        """As `budgets_of`."""
        functions = sorted(touched)
        renames = (f"{old} {new}" for state in states for old, new in state.renames)
        asked = ("budgets", repr(cpu), *renames, "", *map(repr, functions))
        trees = states[0].before, states[-1].after

        def make() -> SeriesBudgets:
            from reviewbot.cost.series_budgets import budgets_of

            return budgets_of(states, functions, self._book, cpu)

        return self._recalled(trees, asked, SeriesBudgets, make)

    def _recalled(
        self, trees: Sequence[SourceTree], asked: Iterable[str], kind: type[Kept], make: Callable[[], Kept]
    ) -> Kept:
        """What is kept under these states and questions, else what `make` gives; that is kept then."""
        if self._cache is None:
            return make()
        known: list[tuple[str, ...]] = [state for state in map(_state, trees) if state is not None]
        if len(known) < len(trees):
            return make()
        text = "\0".join((*(part for state in known for part in state), *asked))
        key = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
        if (kept := self._cache.recall(key, kind)) is not None:
            return kept
        began = time.monotonic()
        made = make()
        if time.monotonic() - began < min(self._book.limits.file_s, self._book.limits.stage_s):
            self._cache.keep(key, made)
        return made


def _state(tree: SourceTree) -> tuple[str, ...] | None:
    """A commit by its id, with the changed files by their content; None for a tree that has no such name."""
    changed: dict[str, str | None] = {}
    base = tree
    if isinstance(tree, OverlayTree):
        changed = {path: tree.blob_id(path) for path in tree.changed}
        base = tree.base
    if not isinstance(base, CommitTree):
        return None
    return (base.rev, "", *(f"{path} {blob}" for path, blob in sorted(changed.items())))
