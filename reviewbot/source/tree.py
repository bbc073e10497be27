"""What a tree of sources can be asked; every later stage reads files through this and through nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol


class SourceTree(Protocol):
    """A tree of files at one moment. Paths are relative, with `/`, and never leave the tree; links are not followed."""

    @property
    def label(self) -> str:
        """For people: `v6.1`, `v6.1 + patch 3/8`."""

    @property
    def is_complete(self) -> bool:
        """False for a tree rebuilt from hunks alone: a missing file or line then means unknown, not absent."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file, or None if there is none, or it is too large, a link or a submodule."""

    def blob_id(self, path: str) -> str | None:
        """git's blob id of `read(path)`, or None."""

    def paths(self) -> Sequence[str]:
        """Every path in the tree, sorted."""

    def search(
        self,
        words: Collection[str],
        suffixes: Collection[str] = (".c", ".h", ".S"),
        folders: Collection[str] = (),
    ) -> Mapping[str, tuple[str, ...]]:
        """word -> sorted paths that hold it as a whole word; all words in one pass. Asked are those with one of the
        suffixes, and, where there are any, below one of the folders (`lib/`)."""

    def known_lines(self, path: str) -> tuple[tuple[int, int], ...] | None:
        """None: all lines are known. Else the known 1-based inclusive ranges, in a tree from hunks."""
