"""The value and type of C's literals."""

from __future__ import annotations

import re

from reviewbot.patterns import regex

_INTEGER = regex(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)([uUlLzZ]*)")
_LONGEST_NUMBER = 100  # no C type holds more than 64 bits; Python refuses thousands of digits
_ESCAPE = regex(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SIMPLE_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "e": 27}


def integer_of(text: str) -> int | None:
    """The value of an integer or character literal; None for a float or for what is none."""
    if text.endswith("'"):
        return _character(text[text.index("'") + 1 : -1])
    match = _INTEGER.fullmatch(text)
    if match is None or len(match[1]) > _LONGEST_NUMBER:
        return None
    digits = match[1].lower()
    if digits.startswith("0") and digits.isdigit() and len(digits) > 1:
        return int(digits, 8) if not set(digits) & set("89") else None
    return int(digits, 0)


def literal_type(text: str) -> str:
    """The C type of a number or character literal in short form; the smallest that its value fits, as in C."""
    if text.endswith("'"):
        return "int"
    match = _INTEGER.fullmatch(text)
    if match is None:
        return "float" if text[-1:] in "fF" and not text.lower().startswith("0x") else "double"
    suffix, value = match[2].lower(), integer_of(text) or 0
    is_hex = match[1][0] == "0" and len(match[1]) > 1
    unsigned = "unsigned " if "u" in suffix else ""
    longs = suffix.count("l")
    if longs == 0 and value >= (1 << (32 if unsigned or is_hex else 31)):
        longs = 2
    if not unsigned and is_hex and longs == 0 and value >= 1 << 31:
        unsigned = "unsigned "
    return unsigned + ("int", "long", "long long")[min(longs, 2)]


def string_bytes(parts: tuple[str, ...]) -> int | None:
    """The size of adjacent string literals with their final zero; None for wide strings."""
    if any(not part.startswith('"') for part in parts):
        return None
    return sum(len(_ESCAPE.sub("?", part[1:-1])) for part in parts) + 1


def _character(inside: str) -> int | None:
    if len(inside) == 1:
        return ord(inside)
    if not inside.startswith("\\") or _ESCAPE.fullmatch(inside) is None:
        return None
    body = inside[1:]
    if body[0] == "x":
        return int(body[1:], 16)
    if body[0] in "01234567":
        return int(body, 8)
    return _SIMPLE_ESCAPES.get(body, ord(body[0]) if len(body) == 1 else None)
