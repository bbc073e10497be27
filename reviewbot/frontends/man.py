"""`reviewbot man`: the manual page, made from the same words as --help."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

import click

from reviewbot import __version__
from reviewbot.frontends.commands import COMMANDS, EXAMPLES


@click.command()
def man() -> int:
    """Print the manual page.

    \b
    Example:
      reviewbot man > ~/.local/share/man/man1/reviewbot.1
    """
    from reviewbot.frontends.cli import cli

    parts = [
        f'.TH REVIEWBOT 1 "" "reviewbot {__version__}" "User Commands"',
        ".ad l\n.nh\n.SH NAME\nreviewbot \\- reviews Linux kernel patch series for the way they touch user memory",
        ".SH SYNOPSIS\n.B reviewbot\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]",
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, "every registered command can be loaded"
        parts += _commands(name, command)
    parts += [f".SH EXAMPLES AND EXIT CODES\n{_verbatim(EXAMPLES)}", _table("ENVIRONMENT", _ENVIRONMENT)]
    parts += [_table("FILES", _FILES), ".SH SEE ALSO\n.BR git (1),\n.BR githooks (5)"]
    click.echo("\n".join(parts))
    return 0


_ENVIRONMENT = (
    ("REVIEWBOT_CONFIG", "The user's settings file, instead of the one in the place below."),
    ("REVIEWBOT_PAGER, GIT_PAGER, PAGER", "The pager; then the user's core.pager, before PAGER. Empty or cat: none."),
    ("NO_COLOR", "When it is set and not empty, there is no colour."),
    ("COLUMNS", "How wide a report for people is."),
    ("XDG_CONFIG_HOME, XDG_CACHE_HOME, XDG_STATE_HOME", "Where settings, cache and the bots' memory belong."),
)
_FILES = (
    ("~/.config/reviewbot/config.toml", "The user's own settings; `reviewbot config --example` prints one."),
    (".reviewbot.toml", "At the top of a tree: settings and waivers for its developers' own commands."),
    ("~/.cache/reviewbot", "What is kept from run to run; `reviewbot cache clear` deletes it."),
)


def _table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join([f".SH {title}", *(f".TP\n.B {_plain(name)}\n{_plain(text)}" for name, text in rows)])


def _commands(name: str, command: click.Command) -> Iterator[str]:
    """The command, and those below it where it is a group."""
    yield _command(name, command)
    if isinstance(command, click.Group):
        for below, each in command.commands.items():
            yield from _commands(f"{name} {below}", each)


def _command(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"reviewbot {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    rows = [f'.SS "reviewbot {_plain(name)} {_plain(usage)}"']
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        text = paragraph.removeprefix("\b\n")
        rows.append(_verbatim(text) if text != paragraph else f".PP\n{_plain(' '.join(text.split()))}")
    for option in (each for each in command.params if isinstance(each, click.Option)):
        record = option.get_help_record(context)
        if record is not None:
            rows.append(f".TP\n.B {_plain(record[0])}\n{_plain(record[1])}")
    return "\n".join(rows)


def _verbatim(text: str) -> str:
    return f".PP\n.nf\n{_plain(text.rstrip())}\n.fi"


def _plain(text: str) -> str:
    """Text that troff takes as it is: no escapes, no requests, hyphens that can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("|", "|\\:")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in escaped.split("\n"))
