"""The command line of `reviewbot hook`; without options, frontends/hook_review.py answers before this is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reviewbot.frontends.exits import Exit
from reviewbot.frontends.options import review_options, to_wish


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
    from reviewbot.frontends.hook_review import review_hook

    name = "pre-push" if push else "pre-commit"
    if install or uninstall:
        act = hook_file.install if install else hook_file.uninstall
        click.echo(act(Path(), name, force=force), err=True)
        return Exit.CLEAN
    return review_hook(to_wish(values), push=push, strict=strict)
