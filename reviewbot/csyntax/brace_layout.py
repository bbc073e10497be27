"""Braces against indentation: where the two tell different stories, a brace is missing or one too many, and what the
parser makes of the function may not be what was meant."""

from __future__ import annotations

from reviewbot.patterns import regex

_BRACE = regex(rb"[{}]")
_PLAIN_HEAD = regex(rb"(?:\}\s*)?(?:if|else|for|while|do|switch)\b[^;]*\Z")
_TAB = 8


def misplaced_brace(body: bytes, *, is_at_margin: bool) -> int | None:
    """The offset of the first brace that does not fit the indentation of its partner, None where all do.

    `body` is that of a function in one choice of #if branches, `{ … }`, without comments and literals; `is_at_margin`:
    its first brace stands in column 0, as then its last one must. Only a brace that leads its line is judged, against
    a head that fits on one line: other layouts mean nothing.
    """
    opened: list[int | None] = []
    for match in _BRACE.finditer(body):
        at = match.start()
        begin = body.rfind(b"\n", 0, at) + 1
        before = body[begin:at]
        if match.group() == b"{":
            opened.append(_column(before) if opened and _is_plain(before) else None)
            continue
        if not opened:
            return at
        column, is_leading = opened.pop(), begin > 0 and not before.strip()
        if not is_leading:
            continue
        if is_at_margin and (_column(before) == 0) is bool(opened):
            return at
        if column is not None and _column(before) < column:
            return at
    return len(body) if opened else None


def _is_plain(before: bytes) -> bool:
    head = before.strip()
    return not head or (_PLAIN_HEAD.match(head) is not None and head.count(b"(") == head.count(b")"))


def _column(before: bytes) -> int:
    blanks = before[: len(before) - len(before.lstrip())]
    return len(blanks.expandtabs(_TAB))
