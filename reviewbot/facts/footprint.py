"""What an inspection depends on, small enough to be kept for thousands of files and compared in milliseconds."""

from __future__ import annotations

import hashlib
import struct
import zlib
from array import array
from collections.abc import Iterable
from functools import cache

from reviewbot.graph.asked import Dependencies
from reviewbot.values import dataclass

_BUCKETS = 1 << 16
_LENGTHS = struct.Struct("<III")


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """The Dependencies of an inspection: names as numbers that no two names are likely to share, and the paths that it
    saw as bits, of which two paths may share one. A shared number costs an inspection too many, never one too few."""

    whole: frozenset[int]
    seen: int
    asked: frozenset[int]
    searched: frozenset[int]

    @classmethod
    def from_bytes(cls, data: bytes) -> Footprint:
        """Raises ValueError, struct.error or zlib.error for anything that `to_footprint` did not make."""
        raw = zlib.decompress(data)
        at, sets = _LENGTHS.size, []
        for length in _LENGTHS.unpack_from(raw):
            sets.append(frozenset(array("Q", raw[at : at + length])))
            at += length
        return cls(whole=sets[0], asked=sets[1], searched=sets[2], seen=int.from_bytes(raw[at:], "little"))


def to_footprint(dependencies: Dependencies) -> bytes:
    """The footprint as bytes."""
    sets = [
        array("Q", sorted(map(number, names))).tobytes()
        for names in (dependencies.whole, dependencies.asked, dependencies.searched)
    ]
    seen = bytearray(_BUCKETS // 8)
    for path in dependencies.seen:
        bucket = number(path) % _BUCKETS
        seen[bucket >> 3] |= 1 << (bucket & 7)
    return zlib.compress(b"".join((_LENGTHS.pack(*map(len, sets)), *sets, seen)), 1)


@cache
def number(name: str) -> int:
    """The same in every process."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def to_bit(path: str) -> int:
    """The bit of one path among those that were seen."""
    return 1 << (number(path) % _BUCKETS)


def to_numbers(names: Iterable[str]) -> frozenset[int]:
    return frozenset(map(number, names))
