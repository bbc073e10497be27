"""`reviewbot range`: the commits of a git range, each as the patch that it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reviewbot.frontends.options import directory_option, review_options, to_wish


@click.command("range")
@click.argument("range_text", metavar="[A..B]", required=False)
@directory_option
@review_options
def range_(range_text: str | None, directory: Path, **values: Any) -> int:
    """Review the commits of A..B; a single commit; or, without an argument, what your branch has above its upstream.

    \b
    Examples:
      reviewbot range origin/master..
      reviewbot range HEAD
      reviewbot range v6.1..topic -C ~/linux --cpu power9
    """
    from reviewbot import pipeline
    from reviewbot.frontends import settings
    from reviewbot.frontends.progress import command_progress
    from reviewbot.frontends.reviewing import conclude, prepare
    from reviewbot.git import Repository

    wish = to_wish(values)
    layers = settings.developer_layers(wish.config, directory)
    ready = prepare(wish, layers, command_progress(quiet=wish.quiet))
    repository = Repository.open(directory)
    return conclude(
        lambda: pipeline.review_range(repository, range_text, ready.options, ready.book), wish, ready, layers
    )
