"""The source before and after each patch of a series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from reviewbot.git import Repository
from reviewbot.series.patch import ChangeKind, FileChange, Hunk, Patch, Series
from reviewbot.source.apply import Applied, ApplyError, apply_hunks
from reviewbot.source.c_files import may_be_c
from reviewbot.source.git_tree import CommitTree
from reviewbot.source.hidden_change import made_visible
from reviewbot.source.hunk_tree import HunkTree, Lines, learn, to_ranges
from reviewbot.source.overlay import OverlayTree
from reviewbot.source.tree import SourceTree
from reviewbot.source.unread import REASON, is_unread
from reviewbot.values import dataclass

_LINK = "120000"
_SHOWN_FAILURES = 3

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What a patch does to one file, in inclusive 1-based ranges: lines `added` to the new, `removed` from the old
    text."""

    added: Ranges
    removed: Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchState:
    """`patch` between its two trees. `changed` holds the files it was applied to, by their path after it (before it for
    one that it deletes); `renames` are (old, new). `failures` are the files it could not be applied to; `doubts` are
    sentences about files that it was applied to although an earlier patch was not."""

    patch: Patch
    before: SourceTree
    after: SourceTree
    changed: Mapping[str, Touched]
    renames: tuple[tuple[str, str], ...] = ()
    failures: tuple[ApplyError, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def why_not_applied(self) -> str:
        """One sentence that names files, hunks and reasons; "" if everything was applied."""
        if not self.failures:
            return ""
        if not self.changed and all(failure.is_applied_already for failure in self.failures):
            return "the tree already has this patch"
        shown = "; ".join(str(failure) for failure in self.failures[:_SHOWN_FAILURES])
        more = len(self.failures) - _SHOWN_FAILURES
        return shown + (f"; and {more} more file{'s' if more > 1 else ''}" if more > 0 else "")


def build_states(series: Series, base: SourceTree | None) -> tuple[PatchState, ...]:
    """A PatchState for every patch, in order. Without a base the trees are made of the hunks alone.

    A file that a patch does not apply to is left as it was, and everything else goes on.
    """
    return tuple(_states_from_hunks(series) if base is None else _states_on(base, series))


def _states_on(base: SourceTree, series: Series) -> Iterator[PatchState]:
    repository = base.repository if isinstance(base, CommitTree) else None
    before, commit = base, base.rev if isinstance(base, CommitTree) else None
    broken: dict[str, int] = {}
    for patch in series.patches:
        if repository and patch.commit and isinstance(base, CommitTree):
            before = _parent_tree(repository, base, patch.commit, before, commit)
        state = _apply_patch(patch, before, f"{base.label} + {_name(patch, series)}", repository, broken)
        broken |= {failure.path: patch.index for failure in state.failures}
        yield state
        before, commit = state.after, patch.commit


def _parent_tree(
    repository: Repository, base: CommitTree, commit: str, latest: SourceTree, latest_commit: str | None
) -> SourceTree:
    """The tree that a commit was made on: the state so far, unless history is no straight line here."""
    parent = next(iter(repository.commit(commit).parents), None) or repository.empty_tree
    if parent == latest_commit:
        return latest
    contents = {
        path: repository.blob(entry.object_id) if entry and entry.is_file else None
        for path, entry in repository.changed_entries(base.rev, parent).items()
    }
    return OverlayTree(base, contents, label=parent[:12])


def _apply_patch(
    patch: Patch, before: SourceTree, label: str, repository: Repository | None, broken: Mapping[str, int]
) -> PatchState:
    contents: dict[str, bytes | None] = {}
    touched: dict[str, Touched] = {}
    failures, doubts = [], []
    if repository:
        files = (made_visible(change, repository) if _is_source(change) else change for change in patch.files)
        patch = replace(patch, files=tuple(files))
    for change in patch.files:
        earlier = broken.get(change.old_path or "", broken.get(change.path))
        try:
            applied = _apply(change, before, contents, repository)
        except ApplyError as error:
            failures.append(_after_failure(error, earlier))
            continue
        if applied is None:
            continue
        _put(contents, change, applied.content)
        touched[change.path] = _touched(change.hunks, applied.old_lines, applied.new_lines)
        if earlier:
            doubts.append(f"{change.path} is reviewed without patch {earlier}, which does not apply to it")
    return PatchState(
        patch=patch,
        before=before,
        after=OverlayTree(before, contents, label),
        changed=touched,
        renames=_renames(patch, touched),
        failures=tuple(failures),
        doubts=tuple(doubts),
    )


def _apply(
    change: FileChange, before: SourceTree, contents: Mapping[str, bytes | None], repository: Repository | None
) -> Applied | None:
    """The outcome of one change, None if it does not concern the sources."""
    is_moved = change.kind in (ChangeKind.RENAMED, ChangeKind.COPIED)
    old_path = change.old_path or change.path
    old = contents[old_path] if old_path in contents and not is_moved else before.read(old_path)
    if change.new_mode == _LINK:
        return Applied(content=None, old_lines=(), new_lines=())
    if repository and (known := _from_objects(change, old_path, before, contents, repository)):
        return known
    if old is None and change.old_path and old_path not in contents and is_unread(before, old_path):
        raise ApplyError(change.path, 0, REASON)
    if change.kind is ChangeKind.SUBMODULE or (change.kind is ChangeKind.BINARY and not _is_source(change)):
        return None
    return apply_hunks(old, change)


def _from_objects(
    change: FileChange, old_path: str, before: SourceTree, contents: Mapping[str, bytes | None], repository: Repository
) -> Applied | None:
    """The new side as git has it, if the change names it in full and was made on the very text at hand."""
    full = repository.id_digits
    if not change.new_blob or len(change.new_blob) != full or old_path in contents or not _is_source(change):
        return None
    if change.old_path and before.blob_id(change.old_path) != change.old_blob:
        return None
    if change.new_path is None:
        content = None
    elif (content := repository.blob(change.new_blob)) is None:
        return None
    return Applied(
        content=content,
        old_lines=tuple(hunk.old_start - (hunk.old_count > 0) for hunk in change.hunks),
        new_lines=tuple(hunk.new_start - (hunk.new_count > 0) for hunk in change.hunks),
    )


def _put(contents: dict[str, bytes | None], change: FileChange, content: bytes | None) -> None:
    if change.kind is ChangeKind.RENAMED and change.old_path:
        contents.setdefault(change.old_path, None)  # unless another file has been renamed to it
    contents[change.path] = content


def _after_failure(error: ApplyError, earlier: int | None) -> ApplyError:
    if earlier is None:
        return error
    reason = f"{error.reason} (nor did patch {earlier} apply to this file)"
    return ApplyError(error.path, error.hunk, reason, is_applied_already=error.is_applied_already)


def _states_from_hunks(series: Series) -> Iterator[PatchState]:
    files: dict[str, Lines] = {}
    for patch in series.patches:
        before, after = dict(files), dict(files)
        touched: dict[str, Touched] = {}
        failures = []
        for change in patch.files:
            is_hidden = change.kind is ChangeKind.BINARY and _is_source(change)
            if change.kind in (ChangeKind.SUBMODULE, ChangeKind.BINARY) and not is_hidden:
                continue
            if not change.hunks and not is_hidden:
                continue
            old_path = change.old_path or change.path
            try:
                if is_hidden:
                    apply_hunks(None, change)  # says why it cannot be read
                known = learn(files.get(old_path, {}), change)
            except ApplyError as error:
                failures.append(error)
                continue
            if change.old_path:
                before[old_path] = known.before
            if change.kind in (ChangeKind.RENAMED, ChangeKind.DELETED):
                after.pop(old_path, None)
            if change.new_path:
                after[change.new_path] = known.after
            old_lines = tuple(max(hunk.old_start, 1) - 1 for hunk in change.hunks)
            touched[change.path] = _touched(change.hunks, old_lines, tuple(h.new_start - 1 for h in change.hunks))
        name = _name(patch, series)
        yield PatchState(
            patch=patch,
            before=HunkTree(before, f"the hunks before {name}"),
            after=HunkTree(after, f"the hunks of {name}"),
            changed=touched,
            renames=_renames(patch, touched),
            failures=tuple(failures),
        )
        files = after


def _touched(hunks: tuple[Hunk, ...], old_lines: tuple[int, ...], new_lines: tuple[int, ...]) -> Touched:
    added: list[int] = []
    removed: list[int] = []
    for hunk, old, new in zip(hunks, old_lines, new_lines, strict=False):
        old_line, new_line = old, new
        for line in hunk.lines:
            sign = line[:1]
            old_line += sign != b"+"
            new_line += sign != b"-"
            if sign == b"+":
                added.append(new_line)
            elif sign == b"-":
                removed.append(old_line)
    return Touched(added=to_ranges(added), removed=to_ranges(removed))


def _renames(patch: Patch, touched: Mapping[str, Touched]) -> tuple[tuple[str, str], ...]:
    renamed = (change for change in patch.files if change.kind is ChangeKind.RENAMED and change.path in touched)
    return tuple((change.old_path or "", change.path) for change in renamed)


def _is_source(change: FileChange) -> bool:
    return change.path.endswith(".S") or may_be_c(change.path)


def _name(patch: Patch, series: Series) -> str:
    return f"patch {patch.index}/{series.total}" if series.total > 1 else "the patch"
