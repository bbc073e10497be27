"""Sets of names as bits of one number: thousands of sets are compared with one in milliseconds."""

from __future__ import annotations

import marshal
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """The Dependencies of an inspection, each set as the bits of its members' numbers."""

    whole: int
    seen: int
    asked: int
    searched: int

    def to_bytes(self) -> bytes:
        parts = [_packed(each) for each in (self.whole, self.seen, self.asked, self.searched)]
        return zlib.compress(marshal.dumps(parts), 1)

    @classmethod
    def from_bytes(cls, data: bytes) -> Footprint:
        """Raises ValueError, TypeError, EOFError or zlib.error for anything that `to_bytes` did not make."""
        whole, seen, asked, searched = (int.from_bytes(part, "little") for part in marshal.loads(zlib.decompress(data)))
        return cls(whole=whole, seen=seen, asked=asked, searched=searched)


def to_bits(names: Iterable[str], numbers: Mapping[str, int]) -> int:
    """The bits of those names that have a number."""
    known = [number for name in names if (number := numbers.get(name)) is not None]
    if not known:
        return 0
    bits = bytearray(max(known) // 8 + 1)
    for number in known:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")


def _packed(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")
