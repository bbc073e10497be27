"""The click group: finds a command's code by its name when it is called, and says what was meant when there is none."""

from __future__ import annotations

import difflib
import importlib

import click
from click.shell_completion import CompletionItem

from reviewbot.frontends.commands import COMMANDS, overview, version


class LazyGroup(click.Group):
    """A group whose commands are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name][0].split(":")
        command = getattr(importlib.import_module(f"reviewbot.frontends.{module}"), function)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names and summaries, without importing what stands behind them."""
        return [
            CompletionItem(name, help=summary) for name, (_, summary) in COMMANDS.items() if name.startswith(incomplete)
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = difflib.get_close_matches(name, COMMANDS, n=1)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"There is no command {name!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(overview())


@click.command(cls=LazyGroup, name="reviewbot", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=lambda *a: _print_version(*a))
def cli() -> None:
    """Reviews Linux kernel patch series for the way they touch user memory."""


def _print_version(context: click.Context, option: click.Parameter, is_set: bool) -> None:
    if is_set:
        click.echo(version(), nl=False)
        context.exit()
