"""A piece of code being read: a function body, or the expansion of a macro; it knows where each byte comes from."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field

from reviewbot.csyntax.flow import MacroUse
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """`length` bytes from `start` on are a macro argument that stands at `offset` in the file, reached through
    `via`."""

    start: int
    length: int
    offset: int
    via: tuple[MacroUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """`text` is what was parsed (normalised), `source` the same bytes as written. For a function body `offset` is the
    place of its first byte in the file; for an expansion it is the place of the macro call and every byte outside
    `segments` is there."""

    text: bytes
    source: bytes
    offset: int
    is_expansion: bool = False
    segments: tuple[Segment, ...] = ()
    via: tuple[MacroUse, ...] = ()
    serial: int = 0
    heads: dict[int, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    """label as written -> its name in the whole flow (labels defined within an expansion are its own)."""

    def place(self, position: int) -> tuple[int, tuple[MacroUse, ...]]:
        """Where the byte at `position` stands in the file, and through which macros."""
        if not self.is_expansion:
            return self.offset + position, self.via
        at = bisect_right(self.segments, position, key=lambda segment: segment.start) - 1
        if at >= 0 and position < self.segments[at].start + self.segments[at].length:
            segment = self.segments[at]
            return segment.offset + position - segment.start, segment.via
        return self.offset, self.via

    def key(self, start: int, end: int) -> str:
        """The text between two positions with its blanks taken out: equal keys are the same expression."""
        return "".join(self.text[start:end].decode("utf-8", "replace").split())
