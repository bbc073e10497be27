"""Numbers in sentences."""

from __future__ import annotations


def plural(count: float, noun: str, shown: str | None = None) -> str:
    """`1 finding`, `2 patches`, `0 entries`, `3 series`; `shown` is the number where it is written in another way."""
    return f"{count if shown is None else shown} {noun if count == 1 else _several(noun)}"


def _several(noun: str) -> str:
    if noun.endswith("series"):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "ch", "x")) else f"{noun}s"
