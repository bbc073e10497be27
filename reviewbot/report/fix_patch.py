"""The edits of all findings as one unified diff that `git apply` takes, on top of what was reviewed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from reviewbot.findings.edit import CONTEXT_LINES, Edit, Replacement
from reviewbot.findings.review import Review
from reviewbot.series.paths import to_header_path

_NO_END = "\n\\ No newline at end of file\n"


def render(review: Review) -> str:
    """The patch, or "" when nothing can be mended mechanically. Bytes that are no UTF-8 are surrogate escapes."""
    by_path: dict[str, list[Edit]] = {}
    for finding in review.findings:
        if finding.edit is not None:
            by_path.setdefault(finding.edit.path, []).append(finding.edit)
    return "".join(_file(path, by_path[path]) for path in sorted(by_path))


def _file(path: str, edits: Sequence[Edit]) -> str:
    lines = dict(line for edit in edits for line in edit.lines)
    old, new = to_header_path("a/", path), to_header_path("b/", path)
    head = f"diff --git {old} {new}\n--- {_marked(old)}\n+++ {_marked(new)}\n"
    hunks, shift = [], 0
    for group in _groups(_without_overlaps(each for edit in edits for each in edit.replacements)):
        text, grown = _hunk(group, lines, shift)
        hunks.append(text)
        shift += grown
    return head + "".join(hunks)


def _marked(path: str) -> str:
    """A path with blanks ends in a tab, as git writes it."""
    return f"{path}\t" if " " in path else path


def _without_overlaps(replacements: Iterable[Replacement]) -> list[Replacement]:
    """In order, each once; of two that overlap the first."""
    kept: list[Replacement] = []
    for each in sorted(set(replacements)):
        if not kept or (kept[-1].end_line, kept[-1].end_column) <= (each.line, each.column):
            kept.append(each)
    return kept


def _groups(replacements: Sequence[Replacement]) -> Iterator[list[Replacement]]:
    """Those whose context touches share a hunk."""
    group: list[Replacement] = []
    for each in replacements:
        if group and each.line - group[-1].end_line > 2 * CONTEXT_LINES:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _hunk(group: Sequence[Replacement], lines: dict[int, str], shift: int) -> tuple[str, int]:
    """One hunk, and by how many lines it makes the file longer."""
    first, last = group[0].line - CONTEXT_LINES, group[-1].end_line + CONTEXT_LINES
    numbers = [number for number in range(first, last + 1) if number in lines]
    rows: list[str] = []
    counts = {" ": 0, "-": 0, "+": 0}
    at = numbers[0]
    for block in _blocks(group):
        for sign, texts in (
            (" ", [lines[number] for number in range(at, block[0].line)]),
            ("-", [lines[number] for number in range(block[0].line, block[-1].end_line + 1)]),
            ("+", _changed(block, lines)),
        ):
            rows += [sign + text for text in texts]
            counts[sign] += len(texts)
        at = block[-1].end_line + 1
    rest = [lines[number] for number in numbers if number >= at]
    rows += [f" {text}" for text in rest]
    before = counts[" "] + len(rest) + counts["-"]
    after = counts[" "] + len(rest) + counts["+"]
    header = f"@@ -{numbers[0]},{before} +{numbers[0] + shift},{after} @@\n"
    body = "".join(row if row.endswith("\n") else row + _NO_END for row in rows)
    return header + body, after - before


def _blocks(group: Sequence[Replacement]) -> Iterator[list[Replacement]]:
    """Replacements that share lines."""
    block: list[Replacement] = []
    for each in group:
        if block and each.line > block[-1].end_line:
            yield block
            block = []
        block.append(each)
    yield block


def _changed(block: Sequence[Replacement], lines: dict[int, str]) -> list[str]:
    """The lines of a block after its replacements."""
    first = block[0].line
    texts = [lines[number] for number in range(first, block[-1].end_line + 1)]
    for each in reversed(block):
        start, end = each.line - first, each.end_line - first
        joined = texts[start][: each.column - 1] + each.text + texts[end][each.end_column - 1 :]
        texts[start : end + 1] = [joined]
    return re.findall(r"[^\n]*\n|[^\n]+", "".join(texts))
