"""A change of source text that mends a finding, with enough of the text around it to be written as a patch."""

from __future__ import annotations

from collections.abc import Sequence

from reviewbot.values import dataclass

CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Replacement:
    """`text` in the place of what stands from a line and column up to, and without, `end_line` and `end_column`. Lines
    and columns are 1-based and columns count code points, as in a Place; equal ends mean an insertion."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replacements in one file, in order. `lines` are (number, text with its line end) of the lines they touch and of
    three around them; bytes that are no UTF-8 are surrogate escapes."""

    path: str
    replacements: tuple[Replacement, ...]
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """New bytes for those from `start` to `end` in a file."""

    start: int
    end: int
    text: bytes


def to_edit(path: str, data: bytes, spans: Sequence[Span]) -> Edit:
    """The edit of a file that puts each span's text in its place; the spans do not overlap."""
    replacements = [
        Replacement(
            **dict(zip(("line", "column"), _position(data, span.start), strict=True)),
            **dict(zip(("end_line", "end_column"), _position(data, span.end), strict=True)),
            text=_to_text(span.text),
        )
        for span in spans
    ]
    texts = data.split(b"\n")
    ends = [b"\n"] * (len(texts) - 1) + [b""]
    wanted = sorted(
        {
            number
            for each in replacements
            for number in range(each.line - CONTEXT_LINES, each.end_line + CONTEXT_LINES + 1)
            if 1 <= number <= len(texts) and texts[number - 1] + ends[number - 1]
        }
    )
    lines = tuple((number, _to_text(texts[number - 1] + ends[number - 1])) for number in wanted)
    return Edit(path=path, replacements=tuple(sorted(replacements)), lines=lines)


def apply_spans(data: bytes, spans: Sequence[Span]) -> bytes:
    """The bytes after the change."""
    for span in sorted(spans, key=lambda each: each.start, reverse=True):
        data = data[: span.start] + span.text + data[span.end :]
    return data


def _position(data: bytes, offset: int) -> tuple[int, int]:
    start = data.rfind(b"\n", 0, offset) + 1
    return data.count(b"\n", 0, offset) + 1, len(_to_text(data[start:offset])) + 1


def _to_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
