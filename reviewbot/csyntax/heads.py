"""Heads: what stands before the `{` of a top-level item, and which function it declares."""

from __future__ import annotations

import re

from reviewbot.csyntax.lexing import CONDITIONAL, DIRECTIVE, blank
from reviewbot.patterns import regex

_ATTRIBUTE = rb"__\w++(?:\s*+\((?:[^()]++|\([^()]*+\))*+\))?+"
_AGGREGATE = regex(rb"\b(?:struct|union|enum)(?:\s++%b)*+\s*+\w*+(?:\s*+\b%b)*+\s*+\Z" % (_ATTRIBUTE, _ATTRIBUTE))
_LONGEST_AGGREGATE_BYTES = 1_000
_CALLED_ATTRIBUTE = regex(rb"\b__\w+\s*\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\)")
_GROUP_NAME = regex(rb"(\w+)\s*\Z")
_LONGEST_NAME_BYTES = 200
_WORD = regex(rb"[A-Za-z_]\w*")
_STORAGE = frozenset((b"static", b"extern", b"inline", b"typedef", b"const", b"volatile", b"register"))
_NOT_A_NAME = frozenset((b"if", b"while", b"for", b"switch", b"return", b"sizeof", b"do", b"else", b"case"))
_POINTED = regex(rb"\s*\*[\s*]*(\w+)\s*\(")  # f in `int (*f(int a))(void)`
MAX_HEAD_BYTES = 20_000
"""Nobody writes a longer head; of a longer text only the end is looked at."""

_BLANK_LINE = regex(rb"\n[ \t]*\r?\n")


def find_head(raw: bytes, code: bytes, bare: bytes) -> int | None:
    """Where the item that ends at the end of these bytes begins, or None if nothing but blanks is left.

    `raw` are the bytes from some earlier boundary up to the `{` or `;`, `code` and `bare` the same without comments,
    and without directives too. An #if … #endif around alternative heads belongs to the head; a macro call without a
    semicolon in an earlier paragraph does not.
    """
    if (cut := len(bare) - MAX_HEAD_BYTES) > 0:
        start = find_head(raw[cut:], code[cut:], bare[cut:])
        return None if start is None else start + cut
    last = max(bare.rfind(b";"), bare.rfind(b"}"), bare.rfind(b"{")) + 1
    start = _first_code(bare, last)
    if start is None:
        return None
    for gap in reversed(list(_BLANK_LINE.finditer(raw, start))):
        paragraph = _first_code(bare, gap.end())
        if paragraph is None or bare.count(b"(", start, paragraph) != bare.count(b")", start, paragraph):
            continue
        if to_function_name(bare[paragraph:]):
            start = paragraph
            break
    return _alternatives_start(code, last, start)


def _first_code(bare: bytes, begin: int) -> int | None:
    rest = bare[begin:].lstrip()
    return len(bare) - len(rest) if rest else None


def _alternatives_start(code: bytes, last: int, start: int) -> int:
    """The outermost #if that encloses the start and is closed again before the end, else the start itself."""
    opened: list[int] = []
    for directive in CONDITIONAL.finditer(code, last):
        if directive[1].startswith(b"if"):
            opened.append(directive.start())
        elif directive[1] == b"endif" and opened:
            begin = opened.pop()
            if begin < start < directive.start():
                start = begin
    return start


def to_function_name(head: bytes) -> str:
    """The name of the function a head defines, `MACRO(first argument)` for a macro that heads one, "" if it heads none.

    `head` is blanked and ends before the `{`.
    """
    head = head[-MAX_HEAD_BYTES:]
    if _is_not_a_function(head):
        return ""
    groups = parenthesis_groups(head)
    named = [group for group in groups if not group[0].startswith(b"__")] or groups
    for name, start, open_, close in named:
        behind_pointer = _POINTED.match(head, open_ + 1, close)
        if behind_pointer is not None:
            return behind_pointer[1].decode()
        if has_type(head, start):
            return name.decode()
    if not named or named[0][0] in _NOT_A_NAME:
        return ""
    name, _, open_, close = named[0]
    argument = head[open_ + 1 : close].split(b",")[0].strip()
    return f"{name.decode()}({argument.decode('utf-8', 'replace')})"


def _is_not_a_function(head: bytes) -> bool:
    if b"(" not in head or head.rstrip()[-1:] in (b"=", b",", b"(", b"\\"):
        return True
    last = max(0, len(head) - _LONGEST_AGGREGATE_BYTES)
    is_aggregate = _AGGREGATE.search(head, last) is not None and not head.rstrip().endswith(b")")
    return is_aggregate or _has_initialiser(head)


def _has_initialiser(head: bytes) -> bool:
    depth = 0
    for token in re.finditer(rb"[()=\[\]]", head):
        if token[0] == b"=" and depth == 0:
            return True
        depth += {b"(": 1, b"[": 1, b"=": 0}.get(token[0], -1)
    return False


def parenthesis_groups(head: bytes) -> list[tuple[bytes, int, int, int]]:
    """The outermost `name(...)` groups: name, offset of the name, of `(` and of `)` (the end if it is never closed)."""
    groups: list[tuple[bytes, int, int, int]] = []
    depth, name, open_ = 0, None, 0
    for token in re.finditer(rb"[()]", head):
        if token[0] == b"(":
            if depth == 0:
                open_ = token.start()
                name = _GROUP_NAME.search(head, max(0, open_ - _LONGEST_NAME_BYTES), open_)
            depth += 1
        else:
            depth -= 1
            if depth == 0 and name is not None:
                groups.append((name[1], name.start(1), open_, token.start()))
    return groups


def has_type(head: bytes, name_start: int) -> bool:
    """Whether a type stands right before the name: a word that is neither storage class nor part of an earlier
    `name(…)`.
    """
    before = _CALLED_ATTRIBUTE.sub(blank, head[max(0, name_start - MAX_HEAD_BYTES) : name_start])
    before = before[before.rfind(b")") + 1 :]
    return any(word[0] not in _STORAGE for word in _WORD.finditer(before))


def without_directives(code: bytes) -> bytes:
    """The same bytes with every preprocessor directive blank."""
    return DIRECTIVE.sub(blank, code)
