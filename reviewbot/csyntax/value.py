"""What is known of the result of an expression."""

from __future__ import annotations

import re

from reviewbot.patterns import regex
from reviewbot.values import dataclass

FALSE = frozenset({"0", "NULL", "false", "0UL", "0L", "0U", "0u"})
_TRUE = frozenset({"1", "true"})
IDENTIFIER = regex(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What is known of an expression's result: the call node it comes from, a constant's truth, its text."""

    call: int | None = None
    truth: bool | None = None
    key: str = ""


UNKNOWN = Value()


def constant(text: str) -> Value:
    if text in FALSE:
        return Value(truth=False)
    if text in _TRUE or re.fullmatch(r"-?(\d\w*|E[A-Z0-9]+)", text):
        return Value(truth=True)
    return Value(key=text)


def is_constant(text: str) -> bool:
    """Whether the text names a truth value: `NULL`, `true`, `0` and their like."""
    return text in FALSE or text in _TRUE
