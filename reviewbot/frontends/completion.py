"""`reviewbot completion SHELL`: the script that makes a shell complete commands, options and rules."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script for SHELL.

    \b
    Put this line where it belongs:
      ~/.bashrc                   eval "$(reviewbot completion bash)"
      ~/.zshrc                    eval "$(reviewbot completion zsh)"
      ~/.config/fish/config.fish  reviewbot completion fish | source
    """
    from reviewbot.frontends.cli import cli

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the shells that are offered"
    click.echo(kind(cli, {}, "reviewbot", "_REVIEWBOT_COMPLETE").source())
    return 0
