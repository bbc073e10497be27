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
_TAG = regex(rb"\b(?:struct|union|enum)\b")
_KINDS = {b"struct": DefinitionKind.STRUCT, b"union": DefinitionKind.UNION, b"enum": DefinitionKind.ENUM}
_ATTRIBUTES = rb"(?:\s*\b__\w+(?:\s*\((?:[^()]|\([^()]*\))*\))?)*"

# `struct a` in one branch of an #if and `struct b` in the other, and the members behind the #endif.
_OTHER_BRANCH = (
    rb"(?:\s*\n[ \t]*#[ \t]*else\b[^\n]*\n[^;{}#]*\n[ \t]*#[ \t]*endif\b[^\n]*"
    rb"|\s*\n[ \t]*#[ \t]*endif\b[^\n]*)?"
)


def find_tags(data: bytes, name: str, path: str) -> tuple[Definition, ...]:
    """Every `struct name { … }` (union, enum) of the file, nested ones included, in all #if branches; the text goes up
    to the `;` behind it."""
    if not _may_hold(data, name.encode()):
        return ()
    spelled = re.escape(name.encode())
    code = code_of(data)
    pattern = rb"\b(struct|union|enum)\b" + _ATTRIBUTES + rb"\s*\b(" + spelled + rb")\b" + _ATTRIBUTES
    pattern += rb"(" + _OTHER_BRANCH + rb")\s*(\{)"
    found: list[Definition] = []
    for match in re.finditer(pattern, code):
        if len(found) >= MAX_DEFINITIONS:
            return ()
        end = brace_end(code, match.start(4))
        if end is None:
            continue
        stop = code.find(b";", end)
        stop = end if stop < 0 else stop + 1
        found.append(
            Definition(
                kind=_KINDS[match.group(1)],
                name=name,
                path=path,
                line=line_of(data, match.start(2)),
                start=match.start(),
                text=data[match.start() : match.start(3)] + _blanked(match[3]) + data[match.end(3) : stop],
                conditions=conditions_at(data, match.start(2)),
            )
        )
    return tuple(found)


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
