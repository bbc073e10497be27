"""Lines of a mail -> tables, timings, changes and rows of figures, as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

_NUMBER = r"\d+(?:[.,]\d+)*(?: ?[kK](?![A-Za-z]))?"
_UNIT = r"seconds|second|secs|sec|ms|us|µs|ns|s|cycles|%|ops/s|ops"
_FIGURE = re.compile(rf"(?<![\w.,/@:+-])(?:~ ?)?({_NUMBER}) ?({_UNIT})(?![\w/])")
_CHANGE = re.compile(
    rf"\bfrom (?:about |~ ?)?({_NUMBER}) ?({_UNIT})?(?: \w+){{0,2}} to (?:about |~ ?)?({_NUMBER}) ?({_UNIT})?(?![\w/])"
)
_TIME = re.compile(r"^\s*(real|user|sys)\s+(?:(\d+)m)?(\d+[.,]\d+)s?\s*$")
_PERF_STAT = re.compile(r"^\s*(\d[\d,.]*)\s+(?:(msec|ns)\s+)?([a-z][\w/:.-]+)\s*(?:#.*|\(.*\)|\+-.*)?$")
_PERF_ELAPSED = re.compile(r"^\s*(\d+[.,]\d+)(?: \+- \d+[.,]\d+)? seconds (time elapsed|user|sys)\b")
_PROFILE = re.compile(r"^\s*(\d+\.\d+) ?%\s+(?:\S+\s+){0,3}\[[k.]\]\s+(\S+)\s*$")
_BARE = re.compile(rf"^\s*({_NUMBER})\s*$")
_RULE = re.compile(r"^[\s|:+-]*$")
_COUNTERS = ("cycles", "instructions", "branches", "task-clock", "page-faults", "context-switches", "cache-misses")
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


def find_posted(lines: list[str]) -> list[Posted]:
    """All figures in order of their lines; each line belongs to one form at most. Diffstats and dates are no
    figures."""
    found: list[Posted] = []
    rest = list(lines)
    for find in (_find_tables, _find_times, _find_perf, _find_profiles, _find_rows, _find_changes, _find_lines):
        for posted in find(rest):
            found.append(posted)
            for index in range(posted.line - 1, posted.line - 1 + posted.quote.count("\n") + 1):
                rest[index] = ""
    return sorted(found, key=lambda posted: posted.line)


def to_number(text: str) -> float:
    """`253,053`, `0,8`, `2.55`, `~197k` as people write them: a comma before exactly three digits groups thousands."""
    digits = text.replace(" ", "")
    factor = 1000.0 if digits[-1] in "kK" else 1.0
    digits = digits.rstrip("kK")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        return float(digits.replace(",", "")) * factor
    whole, *parts = re.split(r"[.,]", digits)
    return float(f"{whole}.{''.join(parts)}" if parts else whole) * factor


def _to_seconds(text: str) -> float:
    """A time with its fraction: a comma is always the decimal one here, for the locale decides about it."""
    return float(text.replace(",", "."))


def _unit(text: str | None) -> str:
    if text is None:
        return ""
    return "s" if text in _SECONDS else {"ops": "ops/s", "µs": "us"}.get(text, text)


def _groups(lines: list[str], belongs: re.Pattern[str]) -> Iterator[tuple[int, list[re.Match[str]]]]:
    """Runs of adjacent lines that match, with the 0-based index of the first."""
    run: list[re.Match[str]] = []
    for index, line in enumerate([*lines, ""]):
        match = belongs.match(line) if line else None
        if match is not None:
            run.append(match)
        elif run:
            yield index - len(run), run
            run = []


def _find_tables(lines: list[str]) -> list[Posted]:
    """Pipe tables; rows that stand apart below one take its header, if they have as many columns."""
    found = []
    header: list[str] = []
    for start, run in _groups(lines, re.compile(r"^\s*\|.*\|\s*$")):
        rows = [_cells(match[0]) for match in run if not _RULE.match(match[0])]
        if rows and not any(_BARE.match(cell) for cell in rows[0]):
            header = rows.pop(0)
        readings = [reading for row in rows for reading in _to_readings(row, header)]
        if readings:
            quote = "\n".join(lines[start : start + len(run)])
            found.append(Posted(form=Form.TABLE, line=start + 1, quote=quote, readings=tuple(readings)))
    return found


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _to_readings(row: list[str], header: list[str]) -> Iterator[Reading]:
    names = header if len(header) == len(row) else [""] * len(row)
    for name, cell in zip(names[1:], row[1:], strict=True):
        with_unit = _FIGURE.fullmatch(cell)
        match = with_unit or _BARE.match(cell)
        if match is not None:
            label = " / ".join(part for part in (row[0], name) if part)
            yield Reading(value=to_number(match[1]), unit=_unit(with_unit[2] if with_unit else None), label=label)


def _find_times(lines: list[str]) -> list[Posted]:
    found = []
    for start, run in _groups(lines, _TIME):
        if len(run) > 1:
            readings = [
                Reading(value=60.0 * int(match[2] or 0) + _to_seconds(match[3]), unit="s", label=match[1])
                for match in run
            ]
            quote = "\n".join(lines[start : start + len(run)])
            found.append(Posted(form=Form.TIMES, line=start + 1, quote=quote, readings=tuple(readings)))
    return found


def _find_perf(lines: list[str]) -> list[Posted]:
    found = []
    for index, line in enumerate(lines):
        counter, elapsed = _PERF_STAT.match(line), _PERF_ELAPSED.match(line)
        if counter is not None and counter[3].split(":")[0] in _COUNTERS:
            unit = "ms" if counter[2] == "msec" else counter[2] or ("cycles" if counter[3].startswith("cycles") else "")
            reading = Reading(value=to_number(counter[1]), unit=unit, label=counter[3])
        elif elapsed is not None:
            reading = Reading(value=_to_seconds(elapsed[1]), unit="s", label=elapsed[2])
        else:
            continue
        found.append(Posted(form=Form.PERF_STAT, line=index + 1, quote=line.strip(), readings=(reading,)))
    return found


def _find_profiles(lines: list[str]) -> list[Posted]:
    found = []
    for start, run in _groups(lines, _PROFILE):
        readings = tuple(Reading(value=float(match[1]), unit="%", label=match[2]) for match in run)
        quote = "\n".join(lines[start : start + len(run)])
        found.append(Posted(form=Form.PROFILE, line=start + 1, quote=quote, readings=readings))
    return found


def _find_rows(lines: list[str]) -> list[Posted]:
    """Three or more bare numbers, one a line."""
    found = []
    for start, run in _groups(lines, _BARE):
        if len(run) >= 3:
            readings = tuple(Reading(value=to_number(match[1]), unit="") for match in run)
            quote = "\n".join(lines[start : start + len(run)])
            found.append(Posted(form=Form.ROW, line=start + 1, quote=quote, readings=readings))
    return found


def _find_changes(lines: list[str]) -> list[Posted]:
    """`from A to B`, with a unit on one of the two or a k on both; a wrapped sentence is read as one."""
    found = []
    for index, line in enumerate(lines):
        following = lines[index + 1].strip() if index + 1 < len(lines) else ""
        for match in _CHANGE.finditer(f"{line} {following}" if following else line):
            if match.start() >= len(line):
                break
            unit = _unit(match[4] or match[2])
            if not unit and not (match[1][-1] in "kK" and match[3][-1] in "kK"):
                continue
            before, after = (Reading(value=to_number(match[n]), unit=unit, label=name) for n, name in _ENDS)
            found.append(Posted(form=Form.CHANGE, line=index + 1, quote=line.strip(), readings=(before, after)))
            break
    return found


_ENDS = ((1, "before"), (3, "after"))


def _end_of(line: str) -> str:
    """Which end of a change the sentence speaks of, if it says so."""
    if re.search(r"\b(without|before|prior to)\b", line, re.IGNORECASE):
        return "before"
    return "after" if re.search(r"\b(with|after)\b", line, re.IGNORECASE) else ""


def _find_lines(lines: list[str]) -> list[Posted]:
    found = []
    for index, line in enumerate(lines):
        readings = tuple(
            Reading(value=to_number(match[1]), unit=_unit(match[2]), label=_end_of(line))
            for match in _FIGURE.finditer(line)
        )
        if readings:
            found.append(Posted(form=Form.LINE, line=index + 1, quote=line.strip(), readings=readings))
    return found
