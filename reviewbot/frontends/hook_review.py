"""The review that `reviewbot hook` makes: of what is staged, or of what is about to be pushed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from reviewbot import pipeline
from reviewbot.frontends import settings
from reviewbot.frontends.exits import Exit
from reviewbot.frontends.guard import say
from reviewbot.frontends.progress import progress
from reviewbot.frontends.quiet_hook import remember_words
from reviewbot.frontends.reviewing import conclude, prepare
from reviewbot.frontends.wish import Wish
from reviewbot.git import Repository
from reviewbot.progress import Progress

if TYPE_CHECKING:
    from reviewbot.findings.review import Review
    from reviewbot.frontends.reviewing import Ready


def review_hook(wish: Wish, *, push: bool = False, strict: bool = False, staged: bytes | None = None) -> Exit:
    """Report findings on stdout, and on stderr what could not be reviewed; gives the exit code. `staged` is what
    `quiet_hook.look_at_staged` gave, if it was asked."""
    repository = Repository.open(Path(), in_hook=True)
    try:
        with progress(quiet=wish.quiet) as tell:
            return _review(repository, wish, tell, push, strict, staged)
    finally:
        repository.close()


def _review(repository: Repository, wish: Wish, tell: Progress, push: bool, strict: bool, staged: bytes | None) -> Exit:
    layers = settings.developer_layers(wish.config, repository.root or Path(), repository.root)
    ready = prepare(wish, layers, tell)
    if wish.rules is None and not wish.no_cache:
        remember_words(ready.book)
    if push:
        runs = [_of_push(repository, ready, *ends) for ends in _pushed()]
    else:
        runs = [lambda: pipeline.review_staged(repository, ready.options, ready.book, staged)]
    is_silent = not (strict or wish.verbose)
    codes = [conclude(_telling_gaps(run), wish, ready, layers, only_findings=is_silent) for run in runs]
    if Exit.FINDINGS in codes:
        return Exit.FINDINGS
    return Exit.NOT_REVIEWED if strict and Exit.NOT_REVIEWED in codes else Exit.CLEAN


def _of_push(repository: Repository, ready: Ready, before: str, after: str) -> Callable[[], Review]:
    return lambda: pipeline.review_push(repository, before, after, ready.options, ready.book)


def _pushed() -> list[tuple[str, str]]:
    """(what the remote has, what it is to get) of each ref: from pre-commit's variables, or from git on stdin."""
    if "PRE_COMMIT_TO_REF" in os.environ:
        return [(os.environ.get("PRE_COMMIT_FROM_REF", ""), os.environ["PRE_COMMIT_TO_REF"])]
    if "PRE_COMMIT" in os.environ:  # it names no commits where a first push brings the root, nor when run by hand
        return [("", os.environ.get("PRE_COMMIT_LOCAL_BRANCH", "HEAD"))]
    rows = [line.split(" ") for line in sys.stdin.read().splitlines()]
    if any(len(row) != 4 for row in rows):
        import click

        raise click.UsageError("--push reads what git tells a pre-push hook, `local-ref id remote-ref id`, from stdin.")
    return [(row[3], row[1]) for row in rows]


def _telling_gaps(run: Callable[[], Review]) -> Callable[[], Review]:
    """The same review, with one line on stderr when something was left out: the report may be silent, this is not."""

    def reviewed() -> Review:
        from reviewbot.report import phrases

        made = run()
        if missed := phrases.not_reviewed(made):
            say(f"not reviewed in full: {'; '.join(missed)} (reviewbot hook -v tells more)")
        return made

    return reviewed
