"""A folder of sources without git, such as an unpacked release."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from reviewbot.errors import InputError
from reviewbot.source.contents import ContentCache, to_blob_id
from reviewbot.source.regular_files import RegularFiles
from reviewbot.source.words import Places, WordIndex, search_contents

MAX_FILES = 500_000  # a kernel has 80,000
_SOURCES = (".c", ".h", ".S")


class FolderTree:
    """The regular files below `root`; links are not followed, and what git keeps for itself is left out."""

    is_complete = True

    def __init__(self, root: Path) -> None:
        self.root = root
        self.label = f"the files in {root}"
        self._contents = ContentCache(RegularFiles(root).read)
        self._words = WordIndex(self._find)

    def read(self, path: str) -> bytes | None:
        return self._contents.read(path)

    def blob_id(self, path: str) -> str | None:
        content = self.read(path)
        return None if content is None else to_blob_id(content)

    def paths(self) -> Sequence[str]:
        return self._paths

    def known_lines(self, path: str) -> tuple[tuple[int, int], ...] | None:
        return None

    def search(
        self, words: Collection[str], suffixes: Collection[str] = _SOURCES, folders: Collection[str] = ()
    ) -> Mapping[str, tuple[str, ...]]:
        return self._words.find(words, suffixes, folders)

    def stamps(self) -> Iterator[tuple[str, str]]:
        """(path, size and times) of every file: what changes when its content does, without reading it."""
        for path in self._paths:
            status = (self.root / path).lstat()
            yield path, f"{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}-{status.st_ino}"

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        found: list[str] = []
        for path in _walk(self.root):
            found.append(path)
            if len(found) > MAX_FILES:
                raise InputError(f"{self.root} holds more than {MAX_FILES} files, so it is no kernel tree.")
        return tuple(sorted(found))

    def _find(self, words: Collection[str], places: Places) -> Mapping[str, Collection[str]]:
        wanted = (path for path in self._paths if places.have(path))
        return search_contents(((path, self.read(path) or b"") for path in wanted), words, places)


def is_git(directory: Path) -> bool:
    """Whether the directory itself is a work tree's top or a bare repository, and not merely inside of one."""
    return (directory / ".git").exists() or ((directory / "HEAD").is_file() and (directory / "objects").is_dir())


def _walk(root: Path) -> Iterator[str]:
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if name != ".git")
        for name in files:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(root).as_posix()
