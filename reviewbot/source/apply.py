"""Apply one file's hunks in memory, exactly as `git apply` places them, or take them back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reviewbot.errors import InputError
from reviewbot.grammar import plural
from reviewbot.series.patch import ChangeKind, FileChange, Hunk
from reviewbot.values import dataclass

_SEARCHED_LINES = 20_000_000  # for all hunks of one file
_SWAPPED = {ChangeKind.ADDED: ChangeKind.DELETED, ChangeKind.DELETED: ChangeKind.ADDED}
_SWAPPED_SIGN = {b"+": b"-", b"-": b"+"}
_UNREADABLE = {
    ChangeKind.BINARY: "the change is binary, and its content is not in the patch",
    ChangeKind.SUBMODULE: "the path is a submodule",
}


class ApplyError(InputError):
    """A change does not apply: `path`, `hunk` (1-based, 0 for the file as a whole) and `reason`, one sentence."""

    def __init__(self, path: str, hunk: int, reason: str, *, is_applied_already: bool = False) -> None:
        super().__init__(f"{path}, hunk {hunk}: {reason}" if hunk else f"{path}: {reason}")
        self.path = path
        self.hunk = hunk
        self.reason = reason
        self.is_applied_already = is_applied_already


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What came of a change: the new `content` (None: the file is gone), and for each hunk, in order, the 0-based line
    at which its old side was found and at which its new side stands in the end."""

    content: bytes | None
    old_lines: tuple[int, ...]
    new_lines: tuple[int, ...]


def apply_change(before: bytes | None, change: FileChange) -> bytes | None:
    """The content after `change`, None if that deletes the file; `before` is the content at its old path, None if none.

    Context must match exactly, at the stated line or, as with `git apply`, at the nearest. Raises ApplyError."""
    return apply_hunks(before, change).content


def apply_hunks(before: bytes | None, change: FileChange) -> Applied:
    """As apply_change, and where each hunk went."""
    if change.kind in _UNREADABLE:
        raise ApplyError(change.path, 0, _UNREADABLE[change.kind])
    if change.kind is ChangeKind.ADDED:
        _refuse_existing(before, change)
    elif before is None:
        name = "such file" if change.old_path == change.path else f"file {change.old_path}"
        raise ApplyError(change.path, 0, f"the tree has no {name}")
    image = _Image(before or b"")
    try:
        for number, hunk in enumerate(change.hunks, 1):
            image.put(number, hunk, change.path)
    except ApplyError:
        if _is_applied_already(before, change):
            raise ApplyError(change.path, 0, "the tree already has this change", is_applied_already=True) from None
        raise
    applied = image.result()
    if change.kind is not ChangeKind.DELETED:
        return applied
    if applied.content:
        raise ApplyError(change.path, len(change.hunks), "the patch deletes the file but leaves some of its lines")
    return replace(applied, content=None)


def reverse(change: FileChange) -> FileChange:
    """The change that takes `change` back."""
    return replace(
        change,
        kind=_SWAPPED.get(change.kind, change.kind),
        old_path=change.new_path,
        new_path=change.old_path,
        old_mode=change.new_mode,
        new_mode=change.old_mode,
        old_blob=change.new_blob,
        new_blob=change.old_blob,
        hunks=tuple(_reverse_hunk(hunk) for hunk in change.hunks),
    )


def sides(hunk: Hunk) -> tuple[list[bytes], list[bytes]]:
    """The old and the new lines of a hunk, each with its line end."""
    old = [line[1:] + b"\n" for line in hunk.lines if line[:1] != b"+"]
    new = [line[1:] + b"\n" for line in hunk.lines if line[:1] != b"-"]
    if hunk.no_newline_old and old:
        old[-1] = old[-1][:-1]
    if hunk.no_newline_new and new:
        new[-1] = new[-1][:-1]
    return old, new


class _Image:
    """The lines of a file while hunks are put in. What one hunk has matched may not be matched by another."""

    def __init__(self, content: bytes) -> None:
        self._lines = _split(content)
        self._has_crlf = bool(self._lines) and all(line.endswith(b"\r\n") for line in self._lines[:20])
        self._placed: list[_Placed] = []
        self._end = 0  # behind the lowest hunk so far
        self._growth = 0
        self._budget = _SEARCHED_LINES

    def put(self, number: int, hunk: Hunk, path: str) -> None:
        """Put one hunk in. Raises ApplyError."""
        old, new = sides(hunk)
        at = self._find(old, hunk)
        if at is None and self._has_crlf and not any(line.endswith(b"\r\n") for line in (*old, *new)):
            # mail programs take the CR away; the file says that it belongs there
            old, new = [_with_cr(line) for line in old], [_with_cr(line) for line in new]
            at = self._find(old, hunk)
        if at is None:
            raise ApplyError(path, number, self._why_not(old, hunk))
        self._lines[at : at + len(old)] = new
        self._record(at, len(old), len(new))

    def result(self) -> Applied:
        return Applied(
            content=b"".join(self._lines),
            old_lines=tuple(placed.old_at for placed in self._placed),
            new_lines=tuple(placed.at for placed in self._placed),
        )

    def _record(self, at: int, old_count: int, new_count: int) -> None:
        growth = new_count - old_count
        shift = self._growth
        if at < self._end:  # hunks out of order
            shift = sum(placed.growth for placed in self._placed if placed.at < at)
            for placed in self._placed:
                placed.at += growth if placed.at >= at else 0
            self._end += growth
        self._end = max(self._end, at + new_count)
        self._growth += growth
        self._placed.append(_Placed(at=at, old_at=at - shift, count=new_count, growth=growth))

    def _find(self, old: list[bytes], hunk: Hunk) -> int | None:
        """The nearest line at which the old side stands, as git's find_pos() looks for it: at the stated line, then one
        below, one above, two below … A hunk that begins at line 1 must match the start of the file, and one without
        context at its end the end of it."""
        last = len(self._lines) - len(old)
        if last < 0:
            return None
        first, final = hunk.old_start <= 1, hunk.lines[-1:] == () or hunk.lines[-1][:1] != b" "
        if first or final:
            at = 0 if first else last
            return at if (not final or at == last) and self._is_at(old, at) else None
        wanted = max(hunk.new_start - 1, 0)
        for distance in range(max(0, wanted - last), max(wanted, last - wanted) + 1):
            for at in {wanted + distance: 0, wanted - distance: 0}:
                if 0 <= at <= last and self._lines[at] == old[0] and self._is_at(old, at):
                    return at
            self._budget -= 1
            if self._budget < 0:
                return None
        return None

    def _is_at(self, old: list[bytes], at: int) -> bool:
        end = at + len(old)
        if self._lines[at:end] != old:
            return False
        if at >= self._end or not old:
            return True
        return not any(placed.at < end and at < placed.at + placed.count for placed in self._placed)

    def _why_not(self, old: list[bytes], hunk: Hunk) -> str:
        if self._budget < 0:
            return "its place was not found within the limit of lines to search"
        start = max(hunk.new_start - 1, 0)
        there = self._lines[start : start + len(old)]
        wrong = next((n for n, (is_, want) in enumerate(zip(there, old, strict=False)) if is_ != want), len(there))
        if wrong >= len(old):
            return (
                f"it stands at line {start + 1}, but not where the patch says it must (at the start or end of the file)"
            )
        if start + wrong >= len(self._lines):
            return f"the file has {plural(len(self._lines), 'line')}, and the patch expects more"
        return (
            f"line {start + wrong + 1} and what follows are not what the patch expects, here or elsewhere in the file"
        )


@dataclass(slots=True)
class _Placed:
    """A hunk that has been put in: 0-based `at` of its new side, now, and `old_at` of its old side, before."""

    at: int
    old_at: int
    count: int
    growth: int


def _reverse_hunk(hunk: Hunk) -> Hunk:
    return replace(
        hunk,
        old_start=hunk.new_start,
        old_count=hunk.new_count,
        new_start=hunk.old_start,
        new_count=hunk.old_count,
        lines=tuple(_removals_first(hunk.lines)),
        no_newline_old=hunk.no_newline_new,
        no_newline_new=hunk.no_newline_old,
    )


def _removals_first(lines: Sequence[bytes]) -> Iterator[bytes]:
    """The lines with their signs swapped, each run of changes with its removals first, as diff writes them."""
    added: list[bytes] = []
    for line in lines:
        sign = _SWAPPED_SIGN.get(line[:1])
        if sign == b"+":
            added.append(sign + line[1:])
            continue
        if sign is None:
            yield from added
            added.clear()
        yield (sign or line[:1]) + line[1:]
    yield from added


def _refuse_existing(before: bytes | None, change: FileChange) -> None:
    if before is None:
        return
    if before == b"".join(line for hunk in change.hunks for line in sides(hunk)[1]):
        raise ApplyError(change.path, 0, "the tree already has this file, with this content", is_applied_already=True)
    raise ApplyError(change.path, 0, "the patch adds the file, but the tree already has one of that name")


def _is_applied_already(before: bytes | None, change: FileChange) -> bool:
    image = _Image(before or b"")
    try:
        for number, hunk in enumerate(reverse(change).hunks, 1):
            image.put(number, hunk, change.path)
    except ApplyError:
        return False
    return True


def _split(content: bytes) -> list[bytes]:
    """The lines with their ends; only a line feed ends a line."""
    if b"\r" not in content:
        return content.splitlines(keepends=True)
    lines = [line + b"\n" for line in content.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _with_cr(line: bytes) -> bytes:
    return line[:-1] + b"\r\n" if line.endswith(b"\n") else line
