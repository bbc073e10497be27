"""The names of primitives as patterns: what a text must hold before it is worth reading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from reviewbot.csyntax.whole_words import fragments_of, whole_words
from reviewbot.patterns import regex
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.primitives import Effect, Primitive


def _words(names: set[str]) -> re.Pattern[bytes]:
    return _compiled(frozenset(names))


@lru_cache(maxsize=32)
def _compiled(names: frozenset[str]) -> re.Pattern[bytes]:
    return re.compile(whole_words(names) + rb"\b")


_WORD = regex(rb"[A-Za-z_]\w*")


def words_of(text: bytes) -> frozenset[bytes]:
    """Every word of the text."""
    return frozenset(_WORD.findall(text))


class PrimitiveWords:
    """Patterns over the primitives of every architecture, each made when it is first asked for."""

    def __init__(self, book: Rulebook) -> None:
        self.book = book

    @staticmethod
    def word(name: str) -> re.Pattern[bytes]:
        """Matches the name as a whole word."""
        return re.compile(rb"\b" + re.escape(name.encode()) + rb"\b")

    @cached_property
    def any_primitive(self) -> re.Pattern[bytes]:
        """Matches the name of every primitive that makes a finding possible."""
        return _words(self._telling_names)

    @cached_property
    def telling_names(self) -> frozenset[bytes]:
        """What `any_primitive` matches."""
        return _encoded(self._telling_names)

    @cached_property
    def telling_fragments(self) -> tuple[bytes, ...]:
        """Pieces of these names, so that each of them holds one."""
        return fragments_of(self._telling_names)

    @cached_property
    def block_names(self) -> frozenset[bytes]:
        """The names of all that opens, closes or needs a block."""
        return _encoded(self._block_names)

    @cached_property
    def switching_names(self) -> frozenset[bytes]:
        """What `switching_words` matches."""
        return _encoded(self._switching_names)

    @cached_property
    def switching_words(self) -> re.Pattern[bytes]:
        """Matches the name of every primitive that opens or closes a block."""
        return _words(self._switching_names)

    @cached_property
    def small_copy_calls(self) -> re.Pattern[bytes]:
        """Matches a call, up to its `(`, of a primitive whose small constant size is worth a finding; group 1 is the
        name."""
        names = {entry.name for entry in self._all_entries() if entry.small_copy}
        return re.compile(rb"(" + whole_words(names) + rb")\s*\(")

    @cached_property
    def closers(self) -> re.Pattern[bytes]:
        """Matches the name of every primitive that closes a block."""
        return _words({name for name, effects in self._effects_of.items() if Effect.CLOSE in effects})

    @cached_property
    def openers(self) -> re.Pattern[bytes]:
        """Matches the name of every primitive that opens a block."""
        return _words({name for name, effects in self._effects_of.items() if effects & {Effect.OPEN, Effect.SCOPED}})

    @cached_property
    def inside_words(self) -> re.Pattern[bytes]:
        """Matches the name of every primitive that needs an open block."""
        return _words({name for name, effects in self._effects_of.items() if Effect.INSIDE in effects})

    @cached_property
    def _block_words(self) -> re.Pattern[bytes]:
        return _words(self._block_names)

    @cached_property
    def access_calls(self) -> re.Pattern[bytes]:
        """Matches a self-contained access up to its `(`; group 1 is the name."""
        return re.compile(rb"(" + whole_words(self._access_names) + rb"\b)\s*\(")

    @cached_property
    def access_names(self) -> frozenset[bytes]:
        """The names of all self-contained accesses."""
        return _encoded(self._access_names)

    @property
    def _telling_names(self) -> set[str]:
        return {name for name, effects in self._effects_of.items() if effects - {Effect.NEUTRAL}}

    @property
    def _access_names(self) -> set[str]:
        return {name for name, effects in self._effects_of.items() if Effect.ACCESS in effects}

    @property
    def _block_names(self) -> set[str]:
        return {name for name, effects in self._effects_of.items() if effects - {Effect.ACCESS, Effect.NEUTRAL}}

    @property
    def _switching_names(self) -> set[str]:
        return {name for name, effects in self._effects_of.items() if effects & {Effect.OPEN, Effect.CLOSE}}

    @cached_property
    def _effects_of(self) -> dict[str, set[Effect]]:
        found: dict[str, set[Effect]] = {}
        for entry in self._all_entries():
            found.setdefault(entry.name, set()).add(entry.effect)
        return found

    def _all_entries(self) -> Iterator[Primitive]:
        for arch in self.book.architectures.values():
            for entries in arch.entries.values():
                yield from entries


def _encoded(names: set[str]) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names)
