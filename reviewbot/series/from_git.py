"""Commits, a push or the staged changes of a repository, as a Series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reviewbot.errors import GitError, InputError
from reviewbot.git import Commit, Repository
from reviewbot.grammar import plural
from reviewbot.mail.message import Address
from reviewbot.patterns import regex
from reviewbot.series.diff import parse_diff
from reviewbot.series.less_context import with_less_context
from reviewbot.series.patch import Patch, Problem, Series

MAX_COMMITS = 5000
_TRAILER = regex(r"^([A-Za-z0-9][A-Za-z0-9-]*): *(\S.*)$")
_NOBODY = Address(name="", email="")


def series_from_range(repository: Repository, range_text: str | None = None) -> Series:
    """The commits of `A..B` (an empty side is HEAD), of one rev alone, or of `@{upstream}..HEAD` by default.

    Oldest first; merges are left out and counted in the notes. Raises InputError if there is nothing to review, and
    GitError for a rev that names no commit.
    """
    text = (range_text or "").strip() or _default_range(repository)
    if "..." in text:
        raise InputError(f"{text!r} is a symmetric difference, which is no series; write A..B")
    start, dots, end = text.partition("..")
    if not dots:
        commit = repository.commit(text)
        if len(commit.parents) > 1:
            raise InputError(f"{text!r} is a merge; name a range of the commits that it brings in: {text}^1..{text}")
        return _to_series(repository, [commit.commit_id], 0, text)
    tip, known = repository.resolve(end or "HEAD"), repository.resolve(start or "HEAD")
    commits, merges = repository.commits(tip, [known])
    if not commits:
        raise InputError(f"{text!r} holds no commits" + (" but merges" if merges else ""))
    return _to_series(repository, commits, merges, text)


def series_from_push(repository: Repository, from_ref: str, to_ref: str) -> Series:
    """What a push from `from_ref` (what the remote has; zeros for a new branch) to `to_ref` (zeros: deletion) brings.

    Has no patches if it brings nothing. A `from_ref` that this repository does not know counts as a new branch.
    """
    if not to_ref.strip("0"):
        return _to_series(repository, [], 0, "a deleted branch")
    tip = repository.resolve(to_ref)
    known = [repository.resolve(from_ref)] if from_ref.strip("0") and repository.has_commit(from_ref) else []
    commits, merges = repository.commits(tip, known, remotes=not known)
    return _to_series(repository, commits, merges, f"push of {tip[:12]}")


def series_from_staged(repository: Repository, whole_files: bytes | None = None) -> Series:
    """What is staged, as one pseudo patch; it has no files if nothing is. Works before the first commit, too.
    `whole_files` is the diff against HEAD with whole files as context, if git has been asked for it."""
    head = repository.resolve("HEAD") if repository.has_commit("HEAD") else None
    diff = with_less_context(whole_files) if head and whole_files is not None else None
    parsed = parse_diff(repository.diff_of_index(head) if diff is None else diff)
    patch = Patch(
        index=1,
        subject="staged changes",
        author=_NOBODY,
        message_id="",
        commit=None,
        log="",
        trailers=(),
        files=parsed.files,
        problems=parsed.problems,
    )
    return Series(subject=patch.subject, version=1, total=1, patches=(patch,), base_commit=head)


def _default_range(repository: Repository) -> str:
    if not repository.has_commit("@{upstream}"):
        raise InputError("the current branch has no upstream branch to compare with; name a range: A..B")
    return "@{upstream}..HEAD"


def _to_series(repository: Repository, commits: Sequence[str], merges: int, name: str) -> Series:
    if len(commits) > MAX_COMMITS:
        raise InputError(f"{name!r} holds {plural(len(commits), 'commit')}; the limit for one series is {MAX_COMMITS}")
    patches = tuple(_to_patch(repository, commit, index) for index, commit in enumerate(commits, 1))
    notes = (f"{plural(merges, 'merge commit')} left out",) if merges else ()
    subject = patches[0].subject if len(patches) == 1 else name
    base = _parent(repository, commits[0]) if commits else None
    return Series(subject=subject, version=1, total=len(patches), patches=patches, base_commit=base, notes=notes)


def _to_patch(repository: Repository, commit_id: str, index: int) -> Patch:
    commit = repository.commit(commit_id)
    subject, log = _split_message(commit.message)
    patch = Patch(
        index=index,
        subject=subject,
        author=Address(name=commit.author[0], email=commit.author[1].lower()),
        message_id="",
        commit=commit_id,
        log=log,
        trailers=_trailers(log),
        files=(),
    )
    try:
        parsed = parse_diff(_diff(repository, commit))
    except GitError as error:  # one commit too large must not lose the others
        return replace(patch, problems=(Problem(path=None, line_in_message=0, reason=str(error)),))
    return replace(patch, files=parsed.files, problems=parsed.problems)


def _diff(repository: Repository, commit: Commit) -> bytes:
    return repository.diff_of_commit(commit.commit_id)


def _parent(repository: Repository, commit_id: str) -> str | None:
    return next(iter(repository.commit(commit_id).parents), None)


def _split_message(message: str) -> tuple[str, str]:
    """git's subject (the first paragraph, unfolded) and the rest."""
    head, _, log = message.strip("\n").partition("\n\n")
    return " ".join(head.split()), log.strip("\n")


def _trailers(log: str) -> tuple[tuple[str, str], ...]:
    lines = log.rstrip().rpartition("\n\n")[2].splitlines()
    return tuple((found[1], found[2]) for line in lines if (found := _TRAILER.match(line)))
