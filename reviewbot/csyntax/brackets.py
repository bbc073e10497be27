"""Brackets in C text whose strings and comments are blanked: where each one closes, and where arguments end."""

from __future__ import annotations

import re
from functools import lru_cache

from reviewbot.patterns import regex

_ARGUMENT_STOPS = regex(rb"[()\[\]{},]")
_PARENTHESES = regex(rb"[()]")
_NEAR_BYTES = 500
_BRACES = regex(rb"[{}]")


def closing(text: bytes, start: int) -> int | None:
    """The offset of the `)` that closes the `(` at `start`, or None."""
    depth = 0
    for match in _PARENTHESES.finditer(text, start, start + _NEAR_BYTES):
        depth += 1 if match.group() == b"(" else -1
        if depth == 0:
            return match.start()
    return _pairs(text, _PARENTHESES).get(start)


@lru_cache(maxsize=4)
def _pairs(text: bytes, brackets: re.Pattern[bytes]) -> dict[int, int]:
    """Each opening bracket and the one that closes it: for text in which thousands stand in one another or are never
    closed."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for match in brackets.finditer(text):
        if match.group() in b"({":
            opened.append(match.start())
        elif opened:
            pairs[opened.pop()] = match.start()
    return pairs


def split_arguments(text: bytes, start: int, end: int, source: bytes | None = None) -> list[tuple[int, int]]:
    """The (start, end) of each argument between the offsets behind `(` and of `)`; blanks around them are left out:
    those of `source`, where `text` is that with something blanked or replaced."""
    written = text if source is None else source
    spans: list[tuple[int, int]] = []
    depth, begin = 0, start
    for match in _ARGUMENT_STOPS.finditer(text, start, end):
        char = match.group()
        if char == b",":
            if depth == 0:
                spans.append(_stripped(written, begin, match.start()))
                begin = match.end()
        else:
            depth += 1 if char in b"([{" else -1
    last = _stripped(written, begin, end)
    if spans or last[0] < last[1]:
        spans.append(last)
    return spans


def _stripped(text: bytes, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start : start + 1].isspace():
        start += 1
    while end > start and text[end - 1 : end].isspace():
        end -= 1
    return start, end


def brace_end(text: bytes, start: int) -> int | None:
    """The offset behind the `}` that closes the `{` at `start`, or None."""
    depth = 0
    for match in _BRACES.finditer(text, start, start + _NEAR_BYTES):
        depth += 1 if match.group() == b"{" else -1
        if depth == 0:
            return match.end()
    end = _pairs(text, _BRACES).get(start)
    return None if end is None else end + 1
