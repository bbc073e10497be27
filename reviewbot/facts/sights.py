"""What the rules saw in some files of one state of a series, kept under that very state."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reviewbot.facts.cache import FactCache
from reviewbot.facts.database import Database
from reviewbot.facts.version import stamp
from reviewbot.rulebook.book import Rulebook
from reviewbot.rules.bounded import Focus, inspect_bounded
from reviewbot.rules.inspection import Inspection
from reviewbot.source.git_tree import CommitTree
from reviewbot.source.overlay import OverlayTree
from reviewbot.source.tree import SourceTree


class Sights:
    """Inspections of one rule set, through the cache in `directory` (None: without one). Trouble with it is told to
    `complain`, once."""

    def __init__(self, book: Rulebook, directory: Path | None, complain: Callable[[str], None]) -> None:
        self._book = book
        self._cache = FactCache(Database(directory, complain), stamp(book)) if directory is not None else None

    def inspect(self, tree: SourceTree, paths: Sequence[str], focus: Focus = None) -> Inspection:
        """As `inspect_bounded`. What took so long that the clock may have cut it short is not kept."""
        key = _key(tree, paths, focus or {}) if self._cache is not None else None
        if self._cache is None or key is None:
            return inspect_bounded(tree, paths, self._book, focus)
        if (kept := self._cache.sight(key)) is not None:
            return kept
        began = time.monotonic()
        made = inspect_bounded(tree, paths, self._book, focus)
        if time.monotonic() - began < min(self._book.limits.file_s, self._book.limits.stage_s):
            self._cache.keep_sight(key, made)
        return made


def _key(tree: SourceTree, paths: Sequence[str], focus: Mapping[str, frozenset[str]]) -> str | None:
    """A commit by its id, with the changed files by their content; None for a tree that has no such name."""
    changed: dict[str, str | None] = {}
    base = tree
    if isinstance(tree, OverlayTree):
        changed = {path: tree.blob_id(path) for path in tree.changed}
        base = tree.base
    if not isinstance(base, CommitTree):
        return None
    states = (f"{path} {blob}" for path, blob in sorted(changed.items()))
    functions = (f"{path} {','.join(sorted(names))}" for path, names in sorted(focus.items()))
    text = "\0".join((base.rev, "", *states, "", *paths, "", *functions))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
