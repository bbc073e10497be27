"""Adjacent lines of figures in a mail: tables, timings, profiles, the same figure over and over."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.cost.readings import FIGURE, NUMBER, Form, Posted, Reading, to_number, to_seconds, to_unit
from reviewbot.patterns import regex

_TIME = regex(r"^\s*(real|user|sys)\s+(?:(\d{1,9})m)?(\d{1,15}[.,]\d{1,15})s?\s*$")
_PROFILE = regex(r"^\s*(\d{1,15}\.\d{1,15}) ?%\s+(?:\S+\s+){0,3}\[[k.]\]\s+(\S+)\s*$")
_BARE = regex(rf"^\s*({NUMBER})\s*$")
_RULE = regex(r"^[\s|:+-]*$")


def find_tables(lines: list[str]) -> list[Posted]:
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
        with_unit = FIGURE.fullmatch(cell)
        match = with_unit or _BARE.match(cell)
        if match is not None:
            label = " / ".join(part for part in (row[0], name) if part)
            yield Reading(value=to_number(match[1]), unit=to_unit(with_unit[2] if with_unit else None), label=label)


def find_times(lines: list[str]) -> list[Posted]:
    """What `time` prints: two or three of real, user and sys."""
    found = []
    for start, run in _groups(lines, _TIME):
        if len(run) > 1:
            readings = [
                Reading(value=60.0 * int(match[2] or 0) + to_seconds(match[3]), unit="s", label=match[1])
                for match in run
            ]
            quote = "\n".join(lines[start : start + len(run)])
            found.append(Posted(form=Form.TIMES, line=start + 1, quote=quote, readings=tuple(readings)))
    return found


def find_profiles(lines: list[str]) -> list[Posted]:
    """Shares of symbols as `perf report` prints them."""
    found = []
    for start, run in _groups(lines, _PROFILE):
        readings = tuple(Reading(value=float(match[1]), unit="%", label=match[2]) for match in run)
        quote = "\n".join(lines[start : start + len(run)])
        found.append(Posted(form=Form.PROFILE, line=start + 1, quote=quote, readings=readings))
    return found


def find_rows(lines: list[str]) -> list[Posted]:
    """Three or more bare numbers, one a line."""
    found = []
    for start, run in _groups(lines, _BARE):
        if len(run) >= 3:
            readings = tuple(Reading(value=to_number(match[1]), unit="") for match in run)
            quote = "\n".join(lines[start : start + len(run)])
            found.append(Posted(form=Form.ROW, line=start + 1, quote=quote, readings=readings))
    return found


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
