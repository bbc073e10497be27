"""A tree rebuilt from hunks alone: the lines that the patches show, at their line numbers, blank lines between them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from reviewbot.series.patch import FileChange, Hunk
from reviewbot.source.apply import ApplyError, sides
from reviewbot.source.contents import to_blob_id
from reviewbot.source.words import Places, WordIndex, search_contents
from reviewbot.values import dataclass

# Line numbers are the sender's word; the longest source file of the kernel has 250,000 lines.
MAX_LINES = 2_000_000
_SOURCES = (".c", ".h", ".S")

Lines = Mapping[int, bytes]


class HunkTree:
    """path -> known lines (1-based number -> bytes with line end). A path that is not in it is unknown, not absent."""

    is_complete = False

    def __init__(self, files: Mapping[str, Lines], label: str) -> None:
        self.files = files
        self.label = label
        self._words = WordIndex(self._find)
        self._contents: dict[str, bytes] = {}

    def read(self, path: str) -> bytes | None:
        if path not in self.files:
            return None
        if path not in self._contents:
            self._contents[path] = _to_content(self.files[path])
        return self._contents[path]

    def blob_id(self, path: str) -> str | None:
        content = self.read(path)
        return None if content is None else to_blob_id(content)

    def paths(self) -> Sequence[str]:
        return self._paths

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tuple(sorted(self.files))

    def known_lines(self, path: str) -> tuple[tuple[int, int], ...] | None:
        return to_ranges(self.files.get(path, {}))

    def search(
        self, words: Collection[str], suffixes: Collection[str] = _SOURCES, folders: Collection[str] = ()
    ) -> Mapping[str, tuple[str, ...]]:
        return self._words.find(words, suffixes, folders)

    def _find(self, words: Collection[str], places: Places) -> Mapping[str, Collection[str]]:
        return search_contents(((path, self.read(path) or b"") for path in self.files), words, places)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLines:
    """What is known of one file before and after a change."""

    before: Lines
    after: Lines


def learn(known: Lines, change: FileChange) -> KnownLines:
    """Add what the hunks of `change` show to what earlier patches showed of the file. Where the two disagree (another
    base, a patch that is missing), the earlier knowledge is dropped. Raises ApplyError for absurd line numbers."""
    shown: dict[int, bytes] = {}
    for number, hunk in enumerate(change.hunks, 1):
        if max(hunk.old_start + hunk.old_count, hunk.new_start + hunk.new_count) > MAX_LINES:
            raise ApplyError(change.path, number, f"its line numbers are above {MAX_LINES:,}")
        shown.update(enumerate(sides(hunk)[0], hunk.old_start))
    agrees = all(known.get(number, line) == line for number, line in shown.items())
    before = {**known, **shown} if agrees else shown
    return KnownLines(before=before, after=_after(before, change.hunks))


def to_ranges(numbers: Collection[int]) -> tuple[tuple[int, int], ...]:
    """Line numbers as inclusive ranges."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and number <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)


def _after(before: Lines, hunks: Sequence[Hunk]) -> Lines:
    ordered = sorted(hunks, key=lambda hunk: hunk.old_start)
    after: dict[int, bytes] = {}
    at, growth = 0, 0
    for number in sorted(before):
        while at < len(ordered) and number >= _end(ordered[at]):
            growth += ordered[at].new_count - ordered[at].old_count
            at += 1
        if at == len(ordered) or number < ordered[at].old_start or not ordered[at].old_count:
            after[number + growth] = before[number]
    for hunk in ordered:
        after.update(enumerate(sides(hunk)[1], hunk.new_start))
    return after


def _end(hunk: Hunk) -> int:
    """The first line behind the old side; a hunk without one adds its lines behind the line it names."""
    return hunk.old_start + max(hunk.old_count, 1)


def _to_content(lines: Lines) -> bytes:
    content, last = [], 0
    for number in sorted(lines):
        content.append(b"\n" * (number - last - 1))
        content.append(lines[number])
        last = number
    return b"".join(content)
