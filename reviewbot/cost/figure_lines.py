"""Single lines of figures in a mail: counters, changes, and figures with a unit in a sentence."""

from __future__ import annotations

import re

from reviewbot.cost.readings import FIGURE, NUMBER, UNIT, Form, Posted, Reading, to_number, to_seconds, to_unit
from reviewbot.patterns import regex

_CHANGE = regex(
    rf"\bfrom (?:about |~ ?)?({NUMBER}) ?({UNIT})?(?: \w+){{0,2}} to (?:about |~ ?)?({NUMBER}) ?({UNIT})?(?![\w/])"
)
_PERF_STAT = regex(r"^\s*(\d[\d,.]{0,30})\s+(?:(msec|ns)\s+)?([a-z][\w/:.-]+)\s*(?:#.*|\(.*\)|\+-.*)?$")
_PERF_ELAPSED = regex(r"^\s*(\d{1,15}[.,]\d{1,15})(?: \+- \d+[.,]\d+)? seconds (time elapsed|user|sys)\b")
_COUNTERS = ("cycles", "instructions", "branches", "task-clock", "page-faults", "context-switches", "cache-misses")
_ENDS = ((1, "before"), (3, "after"))


def find_perf(lines: list[str]) -> list[Posted]:
    """Counters and times of `perf stat`, one piece for each line."""
    found = []
    for index, line in enumerate(lines):
        counter, elapsed = _PERF_STAT.match(line), _PERF_ELAPSED.match(line)
        if counter is not None and counter[3].split(":")[0] in _COUNTERS:
            unit = "ms" if counter[2] == "msec" else counter[2] or ("cycles" if counter[3].startswith("cycles") else "")
            reading = Reading(value=to_number(counter[1]), unit=unit, label=counter[3])
        elif elapsed is not None:
            reading = Reading(value=to_seconds(elapsed[1]), unit="s", label=elapsed[2])
        else:
            continue
        found.append(Posted(form=Form.PERF_STAT, line=index + 1, quote=line.strip(), readings=(reading,)))
    return found


def find_changes(lines: list[str]) -> list[Posted]:
    """`from A to B`, with a unit on one of the two or a k on both; a wrapped sentence is read as one."""
    found = []
    for index, line in enumerate(lines):
        following = lines[index + 1].strip() if index + 1 < len(lines) else ""
        for match in _CHANGE.finditer(f"{line} {following}" if following else line):
            if match.start() >= len(line):
                break
            unit = to_unit(match[4] or match[2])
            if not unit and not (match[1][-1] in "kK" and match[3][-1] in "kK"):
                continue
            before, after = (Reading(value=to_number(match[n]), unit=unit, label=name) for n, name in _ENDS)
            found.append(Posted(form=Form.CHANGE, line=index + 1, quote=line.strip(), readings=(before, after)))
            break
    return found


def _end_of(line: str) -> str:
    """Which end of a change the sentence speaks of, if it says so."""
    if re.search(r"\b(without|before|prior to)\b", line, re.IGNORECASE):
        return "before"
    return "after" if re.search(r"\b(with|after)\b", line, re.IGNORECASE) else ""


def find_lines(lines: list[str]) -> list[Posted]:
    """Every other line that holds a figure with a unit."""
    found = []
    for index, line in enumerate(lines):
        if matches := list(FIGURE.finditer(line)):
            end = _end_of(line)
            readings = tuple(Reading(value=to_number(match[1]), unit=to_unit(match[2]), label=end) for match in matches)
            found.append(Posted(form=Form.LINE, line=index + 1, quote=line.strip(), readings=readings))
    return found
