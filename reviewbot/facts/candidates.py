"""Which files of a tree are worth an inspection: those that hold the name of a primitive, found as bytes."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Sequence

from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.primitives import Effect
from reviewbot.source.c_files import C_SUFFIXES, is_c_named, is_kernel, may_be_c
from reviewbot.source.folder_tree import FolderTree
from reviewbot.source.git_tree import CommitTree, WorkTree
from reviewbot.source.tree import SourceTree
from reviewbot.source.unread import is_unread, unread
from reviewbot.source.words import words_in


def find_candidates(tree: SourceTree, book: Rulebook) -> frozenset[str]:
    """Every such file of the whole tree, by one search; and those that nobody can look into."""
    words = access_words(book)
    if isinstance(tree, WorkTree):
        found: Iterable[str] = tree.repository.files_holding(words, _globs())
    elif isinstance(tree, CommitTree):
        found = tree.repository.files_holding(words, _globs(), tree.rev)
    else:
        found = {path for paths in tree.search(words, C_SUFFIXES).values() for path in paths}
    others = (path for path in tree.paths() if may_be_c(path) and not is_c_named(path))
    odd = (path for path in others if _may_hold(tree, path, words))
    if isinstance(tree, FolderTree):  # git searches files of any size
        found = {*found, *unread(tree, filter(is_c_named, tree.paths()))}
    return frozenset(path for path in found if is_kernel(path)) | frozenset(odd)


def again(tree: SourceTree, book: Rulebook, before: Collection[str], differing: Sequence[str]) -> frozenset[str]:
    """The same, where it is known for a tree that differs only there."""
    words = access_words(book)
    new = (path for path in differing if may_be_c(path) and is_kernel(path))
    return frozenset(before) - set(differing) | {path for path in new if _may_hold(tree, path, words)}


def _may_hold(tree: SourceTree, path: str, words: Collection[str]) -> bool:
    content = tree.read(path)
    if content is None:
        return is_unread(tree, path)
    return any(word.encode() in content for word in words) and bool(words_in(content, words))


def access_words(book: Rulebook) -> frozenset[str]:
    """The primitives that make a finding possible."""
    every = (each for arch in book.architectures.values() for entries in arch.entries.values() for each in entries)
    return frozenset(each.name for each in every if each.effect is not Effect.NEUTRAL)


def is_below(path: str, wanted: Sequence[str]) -> bool:
    """Whether the path is one of the wanted ones or lies in one; no wanted ones are all."""
    return not wanted or any(path == each or each in ("", ".") or path.startswith(f"{each}/") for each in wanted)


def normal(path: str) -> str:
    """A path as a user writes it (`fs/`, `./fs`) as a tree has it."""
    return posixpath.normpath(path)


def _globs() -> list[str]:
    return [f"**/*{end}" for end in C_SUFFIXES]
