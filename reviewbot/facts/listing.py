"""Which sources a tree holds, by blob id: what tells two trees apart, and where."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from functools import cached_property

from reviewbot.patterns import regex
from reviewbot.source.c_files import OTHER_SUFFIXES, may_be_c
from reviewbot.source.folder_tree import FolderTree
from reviewbot.source.git_tree import CommitTree, IndexTree, WorkTree
from reviewbot.source.tree import SourceTree
from reviewbot.values import dataclass

# `mode id stage TAB path` of ls-files, `mode blob id TAB path` of ls-tree; regular files alone can be read
_OTHER = "|".join(sorted(OTHER_SUFFIXES - {"S"})).encode()
_ROW = regex(
    rb"100\d{3} (?:blob )?([0-9a-f]{40,64})(?: \d)?\t([^\0]*(?:\.(?:[chS]|(?!(?:"
    + _OTHER
    + rb")\0)[^./\0]+)|Makefile|Kbuild))\0"
)


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The C files, assembler files and Makefiles of a tree, and what may be C: path -> blob id, all as bytes."""

    blobs: dict[bytes, bytes]

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self._rows).hexdigest()

    @cached_property
    def _rows(self) -> bytes:
        return b"\0".join(b"%s %s" % (blob, path) for path, blob in sorted(self.blobs.items()))

    def to_bytes(self) -> bytes:
        return zlib.compress(self._rows, 1)

    @classmethod
    def from_bytes(cls, packed: bytes) -> Listing:
        """Raises ValueError or zlib.error for anything that `to_bytes` did not make."""
        rows = zlib.decompress(packed)
        pairs = (row.split(b" ", 1) for row in rows.split(b"\0")) if rows else ()
        return cls(blobs={path: blob for blob, path in pairs})

    def differing(self, other: Listing) -> set[bytes]:
        """The paths that are not the same in both."""
        return {path for path, _ in self.blobs.items() ^ other.blobs.items()}

    def arches(self) -> frozenset[bytes]:
        """The directories below arch/ with something in them."""
        return frozenset(
            path.split(b"/", 2)[1] for path in self.blobs if path.startswith(b"arch/") and path.count(b"/") > 1
        )


def list_tree(tree: SourceTree) -> Listing | None:
    """The listing of a tree; None for a kind of tree that has none (one made of hunks, or in memory)."""
    if isinstance(tree, WorkTree):
        return _of_work_tree(tree)
    if isinstance(tree, CommitTree):
        return Listing(blobs=_parse(tree.repository.tree_rows(tree.rev)))
    if isinstance(tree, IndexTree):
        return Listing(blobs=_parse(tree.repository.index_rows()))
    if isinstance(tree, FolderTree):
        return Listing(blobs={_encoded(path): stamp.encode() for path, stamp in tree.stamps() if _is_source(path)})
    return None


def _of_work_tree(tree: WorkTree) -> Listing:
    blobs = _parse(tree.repository.index_rows())
    for path in tree.changed_paths():
        name = _encoded(path)
        if name not in blobs:
            continue
        blob = tree.blob_id(path)
        if blob is None:
            del blobs[name]
        else:
            blobs[name] = blob.encode()
    return Listing(blobs=blobs)


def _parse(rows: bytes) -> dict[bytes, bytes]:
    return {path: blob for blob, path in _ROW.findall(rows)}


def _is_source(path: str) -> bool:
    return path.endswith((".S", "Makefile", "Kbuild")) or may_be_c(path)


def _encoded(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def decoded(paths: Iterable[bytes]) -> list[str]:
    """Paths of a listing as the rest of the program has them, sorted."""
    return sorted(path.decode("utf-8", "surrogateescape") for path in paths)
