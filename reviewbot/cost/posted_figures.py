"""Lines of a mail -> the figures that people post: tables, timings, changes, counters, sentences."""

from __future__ import annotations

from reviewbot.cost.figure_blocks import find_profiles, find_rows, find_tables, find_times
from reviewbot.cost.figure_lines import find_changes, find_lines, find_perf
from reviewbot.cost.readings import Posted


def find_posted(lines: list[str]) -> list[Posted]:
    """All figures in order of their lines; each line belongs to one form at most. Diffstats and dates are no
    figures."""
    found: list[Posted] = []
    rest = list(lines)
    for find in (find_tables, find_times, find_perf, find_profiles, find_rows, find_changes, find_lines):
        for posted in find(rest):
            found.append(posted)
            for index in range(posted.line - 1, posted.line - 1 + posted.quote.count("\n") + 1):
                rest[index] = ""
    return sorted(found, key=lambda posted: posted.line)
