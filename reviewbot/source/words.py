"""Whole words in bytes, and the answers of one tree's searches, each word looked for once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from reviewbot.patterns import regex

_WORD = regex(rb"\b[A-Za-z_]\w*")
_ANY_WORD = regex(rb"\w+")
_MAX_INDEXED_BYTES = 500_000
# A pattern of hundreds of names takes longer to compile than all words of a short text to list.
_SHORT_BYTES = 16_000
_MANY = 20


class Places(NamedTuple):
    """The files that a search is about: their names end with one of `suffixes` and, where there are any, begin with one
    of `folders`, each written with the `/` behind it."""

    suffixes: tuple[str, ...]
    folders: tuple[str, ...] = ()

    def have(self, path: str) -> bool:
        return path.endswith(self.suffixes) and (not self.folders or path.startswith(self.folders))


Search = Callable[[Collection[str], Places], Mapping[str, Collection[str]]]


class WordIndex:
    """Remembers which paths hold a word; asks `search` only for words that were not asked for before."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._known: dict[Places, dict[str, tuple[str, ...]]] = {}

    def find(
        self, words: Collection[str], suffixes: Collection[str], folders: Collection[str] = ()
    ) -> dict[str, tuple[str, ...]]:
        """word -> sorted paths with one of the suffixes, below one of the folders (none: anywhere); words that no file
        holds have an empty tuple."""
        places = Places(suffixes=tuple(sorted(suffixes)), folders=tuple(sorted(folders)))
        known = self._known.setdefault(places, {})
        if new := {word for word in words if word not in known}:
            found = self._search(new, places)
            known.update({word: tuple(sorted(found.get(word, ()))) for word in new})
        return {word: known[word] for word in sorted(words)}


def words_in(content: bytes, words: Collection[str]) -> set[str]:
    """Those of `words` that stand in `content` as whole words (letters, digits and `_`), in one pass."""
    if not words:
        return set()
    wanted = frozenset(words)
    if len(content) <= _SHORT_BYTES and len(wanted) >= _MANY and (encoded := _plain(wanted)) is not None:
        found = encoded.intersection(_ANY_WORD.findall(content))
    else:
        found = frozenset(_pattern(wanted).findall(content))
    return {word.decode("utf-8", "surrogateescape") for word in found}


def search_contents(
    contents: Iterable[tuple[str, bytes]], words: Collection[str], places: Places
) -> dict[str, set[str]]:
    """word -> paths, for files that are at hand."""
    found: dict[str, set[str]] = {word: set() for word in words}
    wanted = {word.encode("utf-8", "surrogateescape") for word in words}
    for path, content in contents:
        if not places.have(path):
            continue
        if len(content) > _MAX_INDEXED_BYTES:
            held = words_in(content, words)
        else:
            held = {word.decode("utf-8", "surrogateescape") for word in wanted & _all_words(content)}
        for word in held:
            found[word].add(path)
    return found


@lru_cache(maxsize=96)
def _all_words(content: bytes) -> frozenset[bytes]:
    """Every word: the files that a series changes are asked for other words after each of its patches."""
    return frozenset(_WORD.findall(content))


@lru_cache(maxsize=16)
def _plain(words: frozenset[str]) -> frozenset[bytes] | None:
    """The same in bytes; None if one is more or less than a word."""
    encoded = frozenset(word.encode("utf-8", "surrogateescape") for word in words)
    return encoded if all(_ANY_WORD.fullmatch(word) for word in encoded) else None


@lru_cache(maxsize=16)
def _pattern(words: frozenset[str]) -> re.Pattern[bytes]:
    alternatives = b"|".join(re.escape(word.encode("utf-8", "surrogateescape")) for word in sorted(words))
    return re.compile(rb"\b(?:" + alternatives + rb")\b")
