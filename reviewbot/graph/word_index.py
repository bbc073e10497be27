"""Which of many texts may hold a word, or define a macro of that name: one index for every tree of the process.

Of each word only 32 bits are kept, eight bytes for every text that it stands in, so that the headers of a whole kernel
take some 20 MB and processes that part by fork go on sharing them. Two words may have the same bits, so the answer is a
text too many now and then, never one too few.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from zlib import crc32

from reviewbot.csyntax.lexing import WORD_BYTES
from reviewbot.patterns import regex

_TO_WORDS = bytes(each if each in WORD_BYTES else ord(" ") for each in range(256))
_DEFINED = regex(rb"#[ \t]*define[ \t]+(\w+)")  # wherever in a line: one too many does no harm
_AS_MACRO = 1  # where the checksum of a defined name starts, so that it differs from that of the word
_NUMBER_BITS = 32
_SAME_SIZE = 4  # sorted runs of about one size are joined when there are so many: a question looks through all runs
_PART_LENGTH = 600_000  # entries in a run that is not joined any further
_MAX_TEXTS = 40_000


class WordIndex:
    """Texts go in under a key that says what is in them, such as git's blob id; each gets a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        # Each is sorted; an entry is a word's 32 bits, then the number of a text.
        self._parts: list[array[int]] = []

    @property
    def is_full(self) -> bool:
        """Whether it holds more texts than one kernel has headers."""
        return len(self._numbers) > _MAX_TEXTS

    @property
    def is_empty(self) -> bool:
        return not self._numbers

    def number(self, key: str) -> int | None:
        """The number of a text that was added, or None."""
        return self._numbers.get(key)

    def add(self, texts: Iterable[tuple[str, bytes]]) -> None:
        """Take in texts, given as (key, content); those whose key is known are passed over."""
        entries: list[int] = []
        for key, content in texts:
            if key not in self._numbers:
                number = self._numbers[key] = len(self._numbers)
                entries += [bits << _NUMBER_BITS | number for bits in _bits_of(content)]
        if entries:
            entries.sort()
            self._parts.append(array("Q", entries))
            self._join_parts()

    def holding(self, words: Iterable[bytes]) -> set[int]:
        """The numbers of the texts that may hold one of the words."""
        bits = (crc32(word, start) for word in words for start in (0, _AS_MACRO))
        return {number for each in bits for number in self._texts_with(each)}

    def defining(self, name: bytes) -> set[int]:
        """The numbers of the texts that may have a #define of that name."""
        return set(self._texts_with(crc32(name, _AS_MACRO)))

    def _texts_with(self, bits: int) -> Iterator[int]:
        first = bits << _NUMBER_BITS
        for part in self._parts:
            at = bisect_left(part, first)
            while at < len(part) and part[at] >> _NUMBER_BITS == bits:
                yield part[at] - first
                at += 1

    def _join_parts(self) -> None:
        """The last ones, while they are of one size: so each entry is moved a few times, however many texts come."""
        while len(self._parts) >= _SAME_SIZE:
            last = self._parts[-_SAME_SIZE:]
            if len(last[0]) > 4 * len(last[-1]) or sum(map(len, last)) > _PART_LENGTH:
                return
            self._parts[-_SAME_SIZE:] = [array("Q", sorted(chain.from_iterable(last)))]


def _bits_of(content: bytes) -> set[int]:
    """Of the words that the text defines as macros, and of all others."""
    defined = set(_DEFINED.findall(content))
    bits = set(map(crc32, set(content.translate(_TO_WORDS).split()) - defined))  # faster than a regular expression
    bits.update(crc32(name, _AS_MACRO) for name in defined)
    return bits


_shared: list[WordIndex] = [WordIndex()]


def shared_index() -> WordIndex:
    """The index that every tree of this process uses: most texts are the same in all of them. A full one is left to
    those who have it, and another begun."""
    if _shared[0].is_full:
        _shared[0] = WordIndex()
    return _shared[0]
