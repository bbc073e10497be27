"""Files that are there and that no tree gives: those above MAX_FILE_BYTES, and those that cannot be opened."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from reviewbot.source.folder_tree import FolderTree
from reviewbot.source.git_tree import CommitTree, IndexTree, WorkTree
from reviewbot.source.overlay import OverlayTree
from reviewbot.source.regular_files import MAX_FILE_BYTES
from reviewbot.source.tree import SourceTree

REASON = f"the file is larger than {MAX_FILE_BYTES >> 20} MiB, or cannot be read, and was not reviewed"


def is_unread(tree: SourceTree, path: str) -> bool:
    """Whether `path` is a regular file of the tree and `read` gives None all the same. A link, a submodule and what is
    not there are not: there is nothing to review."""
    if isinstance(tree, OverlayTree):
        return path not in tree.changed and is_unread(tree.base, path)
    if tree.read(path) is not None:
        return False
    if isinstance(tree, CommitTree | IndexTree):
        return tree.blob_id(path) is not None
    return isinstance(tree, WorkTree | FolderTree) and _is_regular(tree.root, path)


def unread(tree: SourceTree, paths: Iterable[str]) -> Iterator[str]:
    """Those of the paths, files of the tree, of which that is so. Files on disk are not read for it."""
    if isinstance(tree, WorkTree | FolderTree):
        paths = (path for path in paths if not _is_readable(tree.root / path))
    return (path for path in paths if is_unread(tree, path))


def _is_readable(file: Path) -> bool:
    try:
        return file.lstat().st_size <= MAX_FILE_BYTES
    except OSError:
        return False


def _is_regular(root: Path, path: str) -> bool:
    parts = path.split("/")
    try:
        folders = [root.joinpath(*parts[:depth]).lstat().st_mode for depth in range(1, len(parts))]
        return all(map(stat.S_ISDIR, folders)) and stat.S_ISREG((root / path).lstat().st_mode)
    except OSError:
        return False
