"""Which commit a series is to be applied to."""

from __future__ import annotations

from collections.abc import Mapping

from reviewbot.errors import GitError, InputError
from reviewbot.git import Repository
from reviewbot.patterns import regex
from reviewbot.series.patch import ChangeKind, Series

MAX_CANDIDATES = 400
_SHORTEST_ID = 7
_COMMIT_ID = regex(r"[0-9a-f]{7,64}")


def choose_base(repository: Repository, series: Series, wanted: str | None = None) -> tuple[str, str]:
    """(full commit id, one sentence how it was chosen): the `wanted` rev, else the series' base-commit trailer, else
    the newest of a bounded number of commits that holds the blobs of the index lines, else HEAD.

    Raises InputError if `wanted` names no commit or there is no commit at all.
    """
    if wanted is not None:
        return _wanted(repository, wanted)
    unknown = ""
    if series.base_commit:
        if _COMMIT_ID.fullmatch(series.base_commit.lower()) and repository.has_commit(series.base_commit):
            base = repository.resolve(series.base_commit)
            return base, f"the base-commit trailer names {base[:12]}"
        unknown = f"the base-commit {series.base_commit[:12]} is not in the repository; "
    blobs = blobs_before(series)
    if blobs and (match := _commit_with(repository, blobs)):
        return match, f"{unknown}the index lines match {match[:12]}"
    try:
        head = repository.resolve("HEAD")
    except GitError:
        raise InputError(f"{repository} has no commit yet, so there is no base for the series") from None
    why = "no commit that was looked at matches the index lines" if blobs else "the series has no index lines"
    return head, f"{unknown}{why}, so HEAD ({head[:12]}) is taken"


def blobs_before(series: Series) -> Mapping[str, str]:
    """path -> blob id (often abbreviated) that the series expects in its base."""
    expected: dict[str, str] = {}
    made: set[str] = set()
    for patch in series.patches:
        for change in patch.files:
            old = change.old_path
            if old and old not in made and change.old_blob and change.kind is not ChangeKind.SUBMODULE:
                expected.setdefault(old, change.old_blob.lower())
            made.update(path for path in (old, change.new_path) if path)
    return {path: blob for path, blob in expected.items() if len(blob) >= _SHORTEST_ID and blob.strip("0")}


def _wanted(repository: Repository, wanted: str) -> tuple[str, str]:
    try:
        base = repository.resolve(wanted)
    except GitError as error:
        raise InputError(f"--base: {error}") from None
    return base, f"--base {wanted} names {base[:12]}"


def _commit_with(repository: Repository, blobs: Mapping[str, str]) -> str | None:
    """The newest candidate (HEAD first) whose tree has all these blobs at these paths."""
    if any(repository.blob(blob) is None for blob in blobs.values()):
        return None  # a blob that no commit has
    candidates = repository.recent_commits(sorted(blobs), MAX_CANDIDATES)
    return next((commit for commit in candidates if _holds(repository, commit, blobs)), None)


def _holds(repository: Repository, commit: str, blobs: Mapping[str, str]) -> bool:
    entries = ((repository.entry(commit, path), blob) for path, blob in blobs.items())
    return all(entry is not None and entry.object_id.startswith(blob) for entry, blob in entries)
