"""The lines round a finding, with what the series did to them."""

from __future__ import annotations

from reviewbot.findings.review import SourceExcerpt
from reviewbot.patterns import regex

CONTEXT_LINES = 3
_MAX_REMOVED_LINES = 3
_WORD = regex(rb"[A-Za-z_]\w{3,}")
_MAX_LINE_CHARACTERS = 400
# Above this the two texts are not compared, and the lines are shown without signs.
_MAX_COMPARED_LINES = 20_000


def make_excerpt(path: str, text: bytes, line: int, other: bytes, *, is_gone: bool = False) -> SourceExcerpt:
    """Lines around the 1-based `line` of `text`.

    `other` is the text before the series: what it has not is signed '+', and what only it has, where it speaks of the
    same things as the line itself, is shown with '-' where it stood, by its old number. With `is_gone` the finding was
    fixed: `other` is the text after, and what it has not is '-'."""
    lines = _split(text)
    others = lines if other == text else _split(other)
    first, last = max(line - CONTEXT_LINES, 1), min(line + CONTEXT_LINES, len(lines))
    signs, between = _compare(others, lines)
    rows: list[tuple[int, str, str]] = []
    for number in range(first, last + 1):
        if not is_gone and number > first:
            gone = [old for old in between.get(number, ()) if _words(others[old - 1]) & _words(lines[line - 1])]
            rows += [(old, "-", _to_text(others[old - 1])) for old in gone[:_MAX_REMOVED_LINES]]
        sign = signs.get(number, " ")
        rows.append((number, "-" if is_gone and sign == "+" else sign, _to_text(lines[number - 1])))
    return SourceExcerpt(path=path, lines=tuple(rows))


def _compare(others: list[bytes], lines: list[bytes]) -> tuple[dict[int, str], dict[int, range]]:
    """({line number: '+'} of what is not in `others`, {line number: old numbers of what stood before it})."""
    if others is lines or max(len(others), len(lines)) > _MAX_COMPARED_LINES:
        return {}, {}
    start = 0
    while start < min(len(others), len(lines)) and others[start] == lines[start]:
        start += 1
    signs: dict[int, str] = {}
    between: dict[int, range] = {}
    from difflib import SequenceMatcher  # a clean commit has no excerpts

    matcher = SequenceMatcher(None, others[start:], lines[start:], autojunk=True)
    for tag, old_first, old_last, new_first, new_last in matcher.get_opcodes():
        if tag != "equal":
            signs |= {start + number + 1: "+" for number in range(new_first, new_last)}
            between[start + new_first + 1] = range(start + old_first + 1, start + old_last + 1)
    return signs, between


def _words(line: bytes) -> set[bytes]:
    return set(_WORD.findall(line))


def _split(text: bytes) -> list[bytes]:
    return text.split(b"\n")


def _to_text(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= _MAX_LINE_CHARACTERS else f"{text[: _MAX_LINE_CHARACTERS - 1]}…"
