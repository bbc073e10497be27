"""How a call's result is used: whether only zero and not zero are told apart, as both copies and single accesses allow.

A copy answers with the bytes it left out, a single access with 0 or a negative error.
"""

from __future__ import annotations

from collections.abc import Collection

from reviewbot.csyntax.brackets import closing
from reviewbot.patterns import regex

_BEFORE = regex(rb"(\|\||&&|!(?!=)|\(|(?<![=!<>])=|\breturn)\s*\Z")
_AFTER = regex(rb"\s*(\|\||&&|\?|\)|;|[=!]=\s*0\b)")
_WORD = regex(rb"(\w+)\s*\Z")
_TESTS = frozenset({b"if", b"while"})
_STATUS = regex(rb"\s*\?\s*-\s*EFAULT\s*:\s*0\s*;")
_LONGEST_LOOK_BACK = 200


def is_only_tested(code: bytes, start: int, end: int, wrappers: Collection[bytes]) -> bool:
    """Whether the expression from `start` to `end` of `code` (comments and literals blanked) is only tested for zero.
    `wrappers` are functions that give their argument's truth (`unlikely`)."""
    before = _BEFORE.search(code, max(start - _LONGEST_LOOK_BACK, 0), start)
    after = _AFTER.match(code, end)
    if before is None or after is None:
        return False
    left, right = before[1], after[1]
    if left == b"!":
        return True
    if right in (b"||", b"&&", b"?") or right[1:2] == b"=":
        return True
    if left in (b"||", b"&&"):
        return right in (b")", b";")
    return left == b"(" and right == b")" and _is_test(code, before.start(1), after.end(1), wrappers)


def returned_status(code: bytes, start: int, end: int) -> int | None:
    """The end of the `? -EFAULT : 0` behind a call that is returned, which a single access gives by itself; else
    None."""
    before = _BEFORE.search(code, max(start - _LONGEST_LOOK_BACK, 0), start)
    status = _STATUS.match(code, end)
    return status.end() - 1 if before is not None and before[1] == b"return" and status is not None else None


def _is_test(code: bytes, open_: int, end: int, wrappers: Collection[bytes]) -> bool:
    """Whether parentheses that hold nothing but the expression belong to a test."""
    if closing(code, open_) != end - 1:
        return False
    word = _WORD.search(code, max(open_ - _LONGEST_LOOK_BACK, 0), open_)
    if word is None:
        return is_only_tested(code, open_, end, wrappers)
    if word[1] in _TESTS:
        return True
    return word[1] in wrappers and is_only_tested(code, word.start(1), end, wrappers)
