"""What the files of a tree say, found once for all states of a series: each state shares the files it leaves alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from weakref import WeakKeyDictionary

from reviewbot.csyntax.definition import Definition
from reviewbot.csyntax.made_functions import Made
from reviewbot.rulebook.policy import Words
from reviewbot.source.overlay import OverlayTree
from reviewbot.source.tree import SourceTree
from reviewbot.values import dataclass

Edges = dict[tuple[str | None, tuple[str, ...]], dict[str, tuple[str, ...]]]
"""(architecture, -I directories) -> file -> the files that it includes."""

_Found = dict[tuple[str, str], tuple[Definition, ...]]


@dataclass(slots=True)
class Known:
    """`written`: path -> the names behind its #includes. `in_file` and `tags_in_file`: (name, path) -> what the file
    defines under that name. `made`: path -> the functions that its macros make."""

    edges: Edges = field(default_factory=dict)
    written: dict[str, tuple[str, ...]] = field(default_factory=dict)
    in_file: _Found = field(default_factory=dict)
    tags_in_file: _Found = field(default_factory=dict)
    made: dict[str, Made] = field(default_factory=dict)


class KnownFiles:
    """The facts about one tree's files: those of the changed ones its own, the others shared with the tree below."""

    def __init__(self, tree: SourceTree, words: Words) -> None:
        self._changed: Mapping[str, bytes | None] = {}
        below = tree
        if isinstance(tree, OverlayTree):
            self._changed, below = tree.changed, tree.base
        self._shared = _of_tree.setdefault(below, {}).setdefault(words, Known())
        self._own = Known()
        # Where a file came or went, an #include may lead elsewhere from any file.
        has_same_paths = all(text is not None and below.blob_id(path) for path, text in self._changed.items())
        self._shared_edges = self._shared.edges if has_same_paths else self._own.edges

    def edges(self, path: str, arch: str | None, directories: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """file -> the files that it includes, where to keep and find those of `path`."""
        edges = self._own.edges if path in self._changed else self._shared_edges
        return edges.setdefault((arch, directories), {})

    def written(self, path: str) -> dict[str, tuple[str, ...]]:
        """Where to keep and find the names that `path` includes."""
        return (self._own if path in self._changed else self._shared).written

    def in_file(self, path: str) -> _Found:
        """Where to keep and find what `path` defines."""
        return (self._own if path in self._changed else self._shared).in_file

    def tags_in_file(self, path: str) -> _Found:
        """Where to keep and find the structures, unions and enums of `path`."""
        return (self._own if path in self._changed else self._shared).tags_in_file

    def made(self, path: str) -> dict[str, Made]:
        """Where to keep and find the functions that the macros of `path` make."""
        return (self._own if path in self._changed else self._shared).made


def forget(tree: SourceTree) -> None:
    """Let go of what is known of the tree's files."""
    _of_tree.pop(tree, None)


_of_tree: WeakKeyDictionary[SourceTree, dict[Words, Known]] = WeakKeyDictionary()
