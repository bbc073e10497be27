"""`reviewbot config`: which settings are in force, and where each value comes from."""

from __future__ import annotations

from pathlib import Path

import click

from reviewbot.config import cache_dir, config_file, state_dir
from reviewbot.frontends import settings
from reviewbot.frontends.example_settings import example
from reviewbot.frontends.options import config_option, directory_option


@click.command("config")
@config_option
@directory_option
@click.option("--example", "as_example", is_flag=True, help="Print a settings file with every key instead.")
@click.argument("names", metavar="[SECTION]...", nargs=-1)
def show_config(config: Path | None, directory: Path, as_example: bool, names: tuple[str, ...]) -> int:
    """Print the settings in force, and where each value comes from. Secrets are not shown.

    \b
    Later places win:
      the user's own file (or $REVIEWBOT_CONFIG), then .reviewbot.toml
      in the tree, --config FILE, git config reviewbot.tree and
      reviewbot.cpu, and the command line
    """
    if as_example:
        click.echo(example(), nl=False)
        return 0
    unknown = [name for name in names if name not in settings.SECTIONS]
    if unknown:
        raise click.UsageError(f"There is no section {unknown[0]!r}; there are {', '.join(settings.SECTIONS)}.")
    layers = settings.developer_layers(config, directory)
    click.echo(f"settings file  {config_file()}{'' if config_file().is_file() else '  (not there)'}")
    click.echo(f"cache          {cache_dir()}\nstate          {state_dir()}\n")
    rows = [row for name in names or settings.SECTIONS for row in settings.section(name, layers)[1]]
    width = max(len(row.key) for row in rows)
    for row in rows:
        click.echo(f"{row.key:<{width}}  {row.value}  ({row.origin})")
    return 0
