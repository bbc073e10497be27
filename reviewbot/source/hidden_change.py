"""Changes of sources that git calls binary, for a NUL byte or because an attribute says so, made out from the blobs."""

from __future__ import annotations

from dataclasses import replace

from reviewbot.git import Repository
from reviewbot.series.patch import ChangeKind, FileChange, Hunk

CONTEXT_LINES = 3


def made_visible(change: FileChange, repository: Repository) -> FileChange:
    """A binary change as one hunk, from the first to the last line that differs, where both its blobs are named in full
    and at hand; any other change as it is."""
    if change.kind is not ChangeKind.BINARY or not (change.new_blob or change.old_blob):
        return change
    old = _blob(change.old_path, change.old_blob, repository)
    new = _blob(change.new_path, change.new_blob, repository)
    if old is None or new is None:
        return change
    if change.old_path is None or change.new_path is None:
        kind = ChangeKind.ADDED if change.old_path is None else ChangeKind.DELETED
    else:
        kind = ChangeKind.MODIFIED if change.old_path == change.new_path else ChangeKind.RENAMED
    return replace(change, kind=kind, hunks=() if old == new else (_one_hunk(old, new),))


def _blob(path: str | None, blob: str | None, repository: Repository) -> bytes | None:
    """The bytes of one side, none where the change has no such side; None if they are not known for certain."""
    if path is None:
        return b""
    return repository.blob(blob) if blob and len(blob) == repository.id_digits else None


def _one_hunk(old: bytes, new: bytes) -> Hunk:
    before, after = _lines(old), _lines(new)
    is_ended = old.endswith(b"\n") and new.endswith(b"\n")  # else the last lines are not the same, whatever they hold
    most = max(min(len(before), len(after)) - (not is_ended), 0)
    same = next((at for at in range(most) if before[at] != after[at]), most)
    least = most - same if is_ended else 0
    below = next((at for at in range(least) if before[-1 - at] != after[-1 - at]), least)
    start, end = max(same - CONTEXT_LINES, 0), max(below - CONTEXT_LINES, 0)
    removed, added = before[same : len(before) - below], after[same : len(after) - below]
    above, under = before[start:same], before[len(before) - below : len(before) - end]
    old_count, new_count = (len(above) + len(side) + len(under) for side in (removed, added))
    marked = ((b" ", above), (b"-", removed), (b"+", added), (b" ", under))
    return Hunk(
        old_start=start + (old_count > 0),
        old_count=old_count,
        new_start=start + (new_count > 0),
        new_count=new_count,
        lines=tuple(sign + line for sign, lines in marked for line in lines),
        no_newline_old=bool(removed) and not old.endswith(b"\n"),
        no_newline_new=bool(added) and not new.endswith(b"\n"),
    )


def _lines(content: bytes) -> list[bytes]:
    return content.removesuffix(b"\n").split(b"\n") if content else []
