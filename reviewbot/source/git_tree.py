"""Trees that git holds: a commit, what is staged, and the work tree. All are cheap to make; work is done when asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from reviewbot.git import Repository, TreeEntry
from reviewbot.source.contents import ContentCache, to_blob_id
from reviewbot.source.regular_files import MAX_FILE_BYTES, RegularFiles
from reviewbot.source.words import Places, WordIndex, search_contents

# Above so many paths that differ from the work tree, git's own search of the objects is faster than reading each.
_MAX_DIFFERING = 3000
_SOURCES = (".c", ".h", ".S")


class _ObjectTree:
    """What a commit and the index have in common: files are blobs, found by path."""

    is_complete = True

    def __init__(self, repository: Repository, label: str) -> None:
        self.repository = repository
        self.label = label
        self._contents = ContentCache(self._load)
        self._words = WordIndex(self._find)

    def entry(self, path: str) -> TreeEntry | None:
        raise NotImplementedError

    def read(self, path: str) -> bytes | None:
        return self._contents.read(path)

    def blob_id(self, path: str) -> str | None:
        found = self.entry(path)
        return found.object_id if found and found.is_file else None

    def known_lines(self, path: str) -> tuple[tuple[int, int], ...] | None:
        return None

    def search(
        self, words: Collection[str], suffixes: Collection[str] = _SOURCES, folders: Collection[str] = ()
    ) -> Mapping[str, tuple[str, ...]]:
        return self._words.find(words, suffixes, folders)

    def _load(self, path: str) -> bytes | None:
        object_id = self.blob_id(path)
        return self.repository.blob(object_id, MAX_FILE_BYTES) if object_id else None

    def _find(self, words: Collection[str], places: Places) -> Mapping[str, Collection[str]]:
        """Search the work tree, which needs no unpacking, and put right what differs there.

        A file that git's filters change on checkout is taken to hold the same words in both forms.
        """
        differing = self._differing
        if differing is None:
            return self._find_in_objects(words, places)
        found = self.repository.grep(words, places.suffixes, folders=places.folders)
        contents = ((path, self.read(path) or b"") for path in sorted(differing) if places.have(path))
        corrected = search_contents(contents, words, places)
        return {word: (found[word] - differing) | corrected[word] for word in words}

    def _find_in_objects(self, words: Collection[str], places: Places) -> Mapping[str, Collection[str]]:
        raise NotImplementedError

    @cached_property
    def _differing(self) -> frozenset[str] | None:
        """Paths for which the work tree cannot stand in; None when there is no work tree or it is too different."""
        raise NotImplementedError


class CommitTree(_ObjectTree):
    """The tree of one commit, or of a tree object."""

    def __init__(self, repository: Repository, rev: str, label: str = "") -> None:
        super().__init__(repository, label or rev[:12])
        self.rev = rev

    def entry(self, path: str) -> TreeEntry | None:
        return self.repository.entry(self.rev, path)

    def paths(self) -> Sequence[str]:
        return self._paths

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tuple(self.repository.paths(self.rev))

    def _find_in_objects(self, words: Collection[str], places: Places) -> Mapping[str, Collection[str]]:
        return self.repository.grep(words, places.suffixes, self.rev, places.folders)

    @cached_property
    def _differing(self) -> frozenset[str] | None:
        if self.repository.root is None:
            return None
        staged = self.repository.paths_unlike_commit(self.rev)
        if len(staged) > _MAX_DIFFERING:
            return None
        differing = staged | self.repository.paths_unlike_index()
        return differing if len(differing) <= _MAX_DIFFERING else None


class IndexTree(_ObjectTree):
    """What is staged."""

    def __init__(self, repository: Repository, label: str = "the index") -> None:
        super().__init__(repository, label)

    @cached_property
    def _entries(self) -> Mapping[str, TreeEntry]:
        return self.repository.index()

    def entry(self, path: str) -> TreeEntry | None:
        return self._entries.get(path)

    def paths(self) -> Sequence[str]:
        return self._paths

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tuple(sorted(self._entries))

    def _find_in_objects(self, words: Collection[str], places: Places) -> Mapping[str, Collection[str]]:
        contents = ((path, self.read(path) or b"") for path in self._paths if places.have(path))
        return search_contents(contents, words, places)

    @cached_property
    def _differing(self) -> frozenset[str] | None:
        return None if self.repository.root is None else self.repository.paths_unlike_index()


class WorkTree:
    """The tracked files of a work tree as they are on disk. Links are not followed, to files or to folders."""

    is_complete = True

    def __init__(self, repository: Repository, root: Path, label: str = "the work tree") -> None:
        self.repository = repository
        self.root = root
        self.label = label
        self._files = RegularFiles(root)
        self._contents = ContentCache(self._load)
        self._words = WordIndex(self._find)

    @cached_property
    def _entries(self) -> Mapping[str, TreeEntry]:
        return self.repository.index()

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tuple(sorted(self._entries))

    @cached_property
    def _changed(self) -> frozenset[str]:
        return self.repository.paths_unlike_index()

    def changed_paths(self) -> frozenset[str]:
        """Paths whose file may not be what is staged."""
        return self._changed

    def read(self, path: str) -> bytes | None:
        return self._contents.read(path)

    def blob_id(self, path: str) -> str | None:
        entry = self._entries.get(path)
        if entry is None or not entry.is_file:
            return None
        if path not in self._changed:
            return entry.object_id
        content = self.read(path)
        return None if content is None else to_blob_id(content, len(entry.object_id) // 2)

    def paths(self) -> Sequence[str]:
        return self._paths

    def known_lines(self, path: str) -> tuple[tuple[int, int], ...] | None:
        return None

    def search(
        self, words: Collection[str], suffixes: Collection[str] = _SOURCES, folders: Collection[str] = ()
    ) -> Mapping[str, tuple[str, ...]]:
        return self._words.find(words, suffixes, folders)

    def _find(self, words: Collection[str], places: Places) -> Mapping[str, Collection[str]]:
        return self.repository.grep(words, places.suffixes, folders=places.folders)

    def _load(self, path: str) -> bytes | None:
        entry = self._entries.get(path)
        return self._files.read(path) if entry and entry.is_file else None
