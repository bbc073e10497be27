"""`reviewbot hook`: what is staged, or what is about to be pushed; silent when there is nothing to say."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reviewbot.frontends.exits import Exit
from reviewbot.frontends.options import review_options, to_wish

if TYPE_CHECKING:
    from collections.abc import Callable

    from reviewbot.findings.review import Review
    from reviewbot.frontends.reviewing import Ready
    from reviewbot.git import Repository


@click.command()
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--push", is_flag=True, help="Review what is about to be pushed, not what is staged.")
@click.option("--install", is_flag=True, help="Write the git hook; one that is there already is run first.")
@click.option("--uninstall", is_flag=True, help="Take the git hook away again.")
@click.option("--force", is_flag=True, help="With --install: also into a folder that other repositories share.")
@click.option("--strict", is_flag=True, help="Stop also when something could not be reviewed.")
@review_options
def hook(
    arguments: tuple[str, ...], push: bool, install: bool, uninstall: bool, force: bool, strict: bool, **values: Any
) -> int:
    """Review what is staged (or, with --push, what is about to be pushed). Silent when there is nothing to say.

    What could not be reviewed is said on stderr; it stops the commit only with --strict.

    \b
    Examples:
      reviewbot hook --install           review every commit
      reviewbot hook --install --push    review before every push
    """
    from reviewbot.frontends import hook_file

    name = "pre-push" if push else "pre-commit"
    if install or uninstall:
        act = hook_file.install if install else hook_file.uninstall
        click.echo(act(Path(), name, force=force), err=True)
        return Exit.CLEAN
    return _review(push, strict, values)


def _review(push: bool, strict: bool, values: dict[str, Any]) -> int:
    from reviewbot import pipeline
    from reviewbot.frontends import settings
    from reviewbot.frontends.progress import command_progress
    from reviewbot.frontends.quiet_hook import remember_words
    from reviewbot.frontends.reviewing import conclude, prepare
    from reviewbot.git import Repository

    wish = to_wish(values)
    repository = Repository.open(Path(), in_hook=True)
    layers = settings.developer_layers(wish.config, repository.root or Path())
    ready = prepare(wish, layers, command_progress(quiet=wish.quiet))
    if wish.rules is None and not wish.no_cache:
        remember_words(ready.book)
    if push:
        runs = [_of_push(repository, ready, *ends) for ends in _pushed()]
    else:
        runs = [lambda: pipeline.review_staged(repository, ready.options, ready.book)]
    is_silent = not (strict or wish.verbose)
    codes = [conclude(_telling_gaps(run), wish, ready, layers, only_findings=is_silent) for run in runs]
    if Exit.FINDINGS in codes:
        return Exit.FINDINGS
    return Exit.NOT_REVIEWED if strict and Exit.NOT_REVIEWED in codes else Exit.CLEAN


def _of_push(repository: Repository, ready: Ready, before: str, after: str) -> Callable[[], Review]:
    from reviewbot import pipeline

    return lambda: pipeline.review_push(repository, before, after, ready.options, ready.book)


def _pushed() -> list[tuple[str, str]]:
    """(what the remote has, what it is to get) of each ref: from pre-commit's variables, or from git on stdin."""
    if "PRE_COMMIT_TO_REF" in os.environ:
        return [(os.environ.get("PRE_COMMIT_FROM_REF", ""), os.environ["PRE_COMMIT_TO_REF"])]
    if "PRE_COMMIT" in os.environ:  # it names no commits where a first push brings the root, nor when run by hand
        return [("", os.environ.get("PRE_COMMIT_LOCAL_BRANCH", "HEAD"))]
    rows = [line.split(" ") for line in sys.stdin.read().splitlines()]
    if any(len(row) != 4 for row in rows):
        raise click.UsageError("--push reads what git tells a pre-push hook, `local-ref id remote-ref id`, from stdin.")
    return [(row[3], row[1]) for row in rows]


def _telling_gaps(run: Callable[[], Review]) -> Callable[[], Review]:
    """The same review, with one line on stderr when something was left out: the report may be silent, this is not."""

    def reviewed() -> Review:
        from reviewbot.frontends.guard import say
        from reviewbot.report import phrases

        made = run()
        if missed := phrases.not_reviewed(made):
            say(f"not reviewed in full: {'; '.join(missed)} (reviewbot hook -v tells more)")
        return made

    return reviewed
