"""One figure as people write it, and what such figures are part of."""

from __future__ import annotations

import re
from enum import Enum

from reviewbot.patterns import regex
from reviewbot.values import dataclass

# of so many digits that it is a finite number: nobody measured more
NUMBER = r"\d{1,15}(?:[.,]\d{1,15}){0,5}(?: ?[kK](?![A-Za-z]))?"
UNIT = r"seconds|second|secs|sec|ms|us|µs|ns|s|cycles|%|ops/s|ops"
FIGURE = regex(rf"(?<![\w.,/@:+-])(?:~ ?)?({NUMBER}) ?({UNIT})(?![\w/])")
_SECONDS = ("seconds", "second", "secs", "sec")


class Form(Enum):
    """How figures were written down."""

    TABLE = "table"  # | kernel | hash | radix |
    CHANGE = "change"  # from 2.55s to 1.73s
    TIMES = "times"  # real, user and sys
    PERF_STAT = "perf_stat"
    PROFILE = "profile"  # perf report
    ROW = "row"  # the same figure several times, one a line
    LINE = "line"  # figures with a unit in a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One figure. `unit` is "s", "ms", "us", "ns", "cycles", "%", "ops/s" or "" (not stated); `label` says which one
    it is."""

    value: float
    unit: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """Figures that belong together. `line` is 1-based; `quote` is the text of the line (of a table, all its lines)."""

    form: Form
    line: int
    quote: str
    readings: tuple[Reading, ...]


def to_number(text: str) -> float:
    """`253,053`, `0,8`, `2.55`, `~197k` as people write them: a comma before exactly three digits groups thousands."""
    digits = text.replace(" ", "")
    factor = 1000.0 if digits[-1] in "kK" else 1.0
    digits = digits.rstrip("kK")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        return float(digits.replace(",", "")) * factor
    whole, *parts = re.split(r"[.,]", digits)
    return float(f"{whole}.{''.join(parts)}" if parts else whole) * factor


def to_seconds(text: str) -> float:
    """A time with its fraction: a comma is always the decimal one here, for the locale decides about it."""
    return float(text.replace(",", "."))


def to_unit(text: str | None) -> str:
    """The unit of a Reading for a unit as written, "" for none."""
    if text is None:
        return ""
    return "s" if text in _SECONDS else {"ops": "ops/s", "µs": "us"}.get(text, text)
