"""The #if conditions around a place in a file."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from functools import lru_cache

from reviewbot.csyntax.lexing import CONDITIONAL, DIRECTIVE, code_of, lines_of
from reviewbot.patterns import regex
from reviewbot.values import dataclass

MAX_LEVELS = 60
"""Of the levels of #if and of the branches of one #if only so many are told; nobody reads, or writes, more."""

_CONTINUED = regex(r"(?:\\\r?\n|\s)+")
_DEFINED = rb"defined\s*\(?\s*%b\s*\)?"
# Headers of trace events let themselves in again while the events are made: `!defined(X) || defined(AGAIN)`.
_GUARD_TEST = regex(
    rb"\s*#\s*(?:ifndef\s+(\w+)|if\s+!\s*%b(?:\s*\|\|\s*%b)?)\s*$" % (_DEFINED % rb"(\w+)", _DEFINED % rb"\w+")
)
_BEFORE_SUCH_A_GUARD = regex(rb"\s*#\s*(?:undef|define)\b")
_GUARD_DEFINE = regex(rb"\s*#\s*define\s+(\w+)")


def conditions_at(data: bytes, offset: int) -> tuple[str, ...]:
    """The conditions that must hold for the byte at `offset` to be compiled, outermost first, the include guard left
    out.

    One text per level of nesting: `defined(CONFIG_VSX)` for #ifdef, `!defined(X)` for #ifndef, the expression for
    #if, and in the later branches the refused ones first: `!(A) && B` in an #elif, `!(A) && !(B)` in an #else.
    """
    offsets, conditions = _regions(data)
    return conditions[bisect_right(offsets, offset)]


@dataclass(slots=True)
class _Level:
    current: str
    refused: list[str] = field(default_factory=list)
    is_guard: bool = False

    def text(self) -> str:
        return " && ".join([*self.refused, self.current] if self.current else self.refused)


@lru_cache(maxsize=256)
def _regions(data: bytes) -> tuple[list[int], list[tuple[str, ...]]]:
    """Where the conditions change, and the conditions before the first change and after each."""
    code = code_of(data)
    guard_at = _include_guard(code)
    levels: list[_Level] = []
    offsets: list[int] = []
    conditions: list[tuple[str, ...]] = [()]
    for directive in lines_of(CONDITIONAL, code):
        _step(levels, directive[1], directive[2], is_guard=directive.start() == guard_at)
        offsets.append(directive.end())
        conditions.append(tuple(level.text() for level in levels[:MAX_LEVELS] if not level.is_guard))
    return offsets, conditions


def _step(levels: list[_Level], word: bytes, rest: bytes, *, is_guard: bool) -> None:
    if word.startswith(b"if"):
        levels.append(_Level(_to_condition(word, rest), is_guard=is_guard))
    elif levels and word == b"endif":
        levels.pop()
    elif levels:
        level = levels[-1]
        if len(level.refused) < MAX_LEVELS:
            level.refused.append(_refuse(level.current))
        level.current = "" if word == b"else" else _to_condition(word[2:], rest)
        level.is_guard = False


def _to_condition(word: bytes, rest: bytes) -> str:
    text = _CONTINUED.sub(" ", rest.decode("utf-8", "replace")).strip()
    if word == b"ifdef" or word == b"ifndef":
        name = text.split(" ", 1)[0]
        return f"defined({name})" if word == b"ifdef" else f"!defined({name})"
    return text


def _refuse(condition: str) -> str:
    negated = re.fullmatch(r"!(defined\(\w+\))", condition)
    return negated[1] if negated else f"!({condition})"


def _include_guard(code: bytes) -> int | None:
    """The offset of the #ifndef that guards a header: the first directive, its #define right after, nothing but blanks
    before. A header of trace events says #undef and #define first.
    """
    directives = lines_of(DIRECTIVE, code)
    first = next((each for each in directives if _BEFORE_SUCH_A_GUARD.match(each[0]) is None), None)
    if first is None or DIRECTIVE.sub(b"", code[: first.start()]).strip():
        return None
    test = _GUARD_TEST.match(first[0]) if b"||" in first[0] or not code[: first.start()].strip() else None
    second = next(directives, None)
    define = _GUARD_DEFINE.match(second[0]) if second else None
    if test is None or define is None or define[1] != (test[1] or test[2]):
        return None
    return first.start()
