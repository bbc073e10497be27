"""Bodies of struct, union and enum tags, found without an outline of the whole file: where a tag is followed by `{`."""

from __future__ import annotations

import re

from reviewbot.csyntax.brackets import brace_end
from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.lexing import code_of, line_of, occurrences
from reviewbot.patterns import regex

MAX_DEFINITIONS = 100
"""A name that one file defines more often means nothing that could be told."""

_HEAD_BYTES = 2000  # between `struct` and its name stand attributes at most
_KINDS = {b"struct": DefinitionKind.STRUCT, b"union": DefinitionKind.UNION, b"enum": DefinitionKind.ENUM}
_ATTRIBUTES = rb"(?:\s*\b__\w+(?:\s*\((?:[^()]|\([^()]*\))*\))?)*"
_TAG = regex(rb"\b(?:struct|union|enum)\b")
_BEFORE = regex(rb"(struct|union|enum)\b" + _ATTRIBUTES + rb"\s*")

# `struct a` in one branch of an #if and `struct b` in the other, and the members behind the #endif.
_OTHER_BRANCH = (
    rb"(?:\s*\n[ \t]*#[ \t]*else\b[^\n]*\n[^;{}#]*\n[ \t]*#[ \t]*endif\b[^\n]*"
    rb"|\s*\n[ \t]*#[ \t]*endif\b[^\n]*)?"
)
_AFTER = regex(_ATTRIBUTES + rb"(" + _OTHER_BRANCH + rb")\s*(\{)")


def find_tags(data: bytes, name: str, path: str) -> tuple[Definition, ...]:
    """Every `struct name { … }` (union, enum) of the file, nested ones included, in all #if branches; the text goes up
    to the `;` behind it."""
    word = name.encode()
    if not _may_hold(data, word):
        return ()
    code = code_of(data)
    found: list[Definition] = []
    for at in occurrences(code, word):
        after = _AFTER.match(code, at + len(word))
        tag = None if after is None else _tag_before(code, at)
        if after is None or tag is None:
            continue
        if len(found) >= MAX_DEFINITIONS:
            return ()
        end = brace_end(code, after.start(2))
        if end is None:
            continue
        stop = code.find(b";", end)
        stop = end if stop < 0 else stop + 1
        found.append(
            Definition(
                kind=_KINDS[tag[1]],
                name=name,
                path=path,
                line=line_of(data, at),
                start=tag.start(),
                text=data[tag.start() : after.start(1)] + _blanked(after[1]) + data[after.end(1) : stop],
                conditions=conditions_at(data, at),
            )
        )
    return tuple(found)


def _tag_before(code: bytes, at: int) -> re.Match[bytes] | None:
    """The `struct`, `union` or `enum` that the name at an offset belongs to, with all that stands between."""
    before = [match.start() for match in _TAG.finditer(code, max(0, at - _HEAD_BYTES), at)]
    return _BEFORE.fullmatch(code, before[-1], at) if before else None


def _may_hold(data: bytes, name: bytes) -> bool:
    """Whether the name stands somewhere between `struct`, `union` or `enum` and a `{`, with no `;` before that."""
    for start in occurrences(data, name):
        brace = data.find(b"{", start)
        if brace < 0:
            return False
        if data.find(b";", start, brace) < 0 and _TAG.search(data, max(0, start - _HEAD_BYTES), start) is not None:
            return True
    return False


def _blanked(text: bytes) -> bytes:
    return re.sub(rb"[^\n]", b" ", text)
