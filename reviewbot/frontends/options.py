"""Options that several commands share; each has one meaning everywhere."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from reviewbot.frontends.exits import FailOn
from reviewbot.frontends.wish import Wish

Function = TypeVar("Function", bound=Callable[..., Any])

GRAPH_SUFFIXES = (".dot", ".svg")
FORMAT_NAMES = ("terminal", "text", "json", "sarif", "rdjson", "github", "b4", "html", "mail", "patchwork")

config_option = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A settings file; its values win over the user's own file, and its waivers count.",
)
directory_option = click.option(
    "-C",
    "directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Work in this directory instead of the current one.",
)


def complete_cpu(context: click.Context, option: click.Parameter, incomplete: str) -> list[str]:
    """The names of CPU models that begin so."""
    from reviewbot.cost.environment import list_models
    from reviewbot.rulebook.book import load_rulebook

    names = (model.name.lower() for model in list_models(load_rulebook()))
    return [name for name in names if name.startswith(incomplete.lower())]


cpu_option = click.option(
    "--cpu",
    metavar="MODEL",
    shell_complete=complete_cpu,
    help="The CPU that costs are for; `reviewbot models` lists them.",
)


def _graph_file(context: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix not in GRAPH_SUFFIXES:
        raise click.BadParameter(f"{value} ends neither in .dot nor in .svg, so the format is unknown.")
    return value


_OPTIONS = (
    click.option(
        "-f", "--format", type=click.Choice(FORMAT_NAMES), default="terminal", show_default=True, help="The report."
    ),
    click.option(
        "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the report here, not to stdout."
    ),
    cpu_option,
    click.option("--all", "everything", is_flag=True, help="Report old findings too, not only what is changed."),
    click.option(
        "--fail-on",
        type=click.Choice([each.value for each in FailOn]),
        callback=lambda context, option, value: FailOn(value) if value else None,
        help="The least severity that makes the exit code 1.  [default: warning]",
    ),
    click.option("--mitigations", metavar="on|off", help="Whether CPU mitigations are on."),
    click.option("--kernel", metavar="VERSION", help="The kernel version that costs are for, as 6.1."),
    click.option("--base-rate", metavar="RATE", help="Predict what becomes of this rate, as 158408/s@3.8GHz."),
    click.option(
        "--min-cycles",
        type=click.FloatRange(min=0),
        metavar="CYCLES",
        help="Hold back findings that cost less than this.",
    ),
    click.option("--color/--no-color", "colour", default=None, help="Colour, or none.  [default: at a terminal]"),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing when there is nothing to report."),
    click.option("-v", "--verbose", is_flag=True, help="Say more: facts, ids, what was held back."),
    click.option(
        "--baseline",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Hold back the findings of this file.",
    ),
    click.option(
        "--write-baseline",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write the findings to this file, for --baseline.",
    ),
    click.option(
        "--fix-patch",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write the mechanical fixes to this file, as a patch for `git apply`; an empty file: there is none.",
    ),
    click.option(
        "--graph",
        type=click.Path(dir_okay=False, path_type=Path),
        callback=_graph_file,
        help="Draw what runs inside the blocks into this file: FILE.svg for a picture, FILE.dot for Graphviz.",
    ),
    click.option("--no-cache", is_flag=True, help="Neither use nor write what is kept from earlier runs."),
    config_option,
    click.option(
        "--rules",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Use the rules in this directory instead of those that come with reviewbot.",
    ),
)


def review_options(function: Function) -> Function:
    """Adds the options of every reviewing command; `to_wish` collects their values."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def to_wish(values: dict[str, Any]) -> Wish:
    """The values of `review_options`, taken out of click's keyword arguments."""
    return Wish(**{name: values.pop(name) for name in Wish.__dataclass_fields__})


def unknown(what: str, word: str, known: list[str]) -> click.UsageError:
    """The error for a word that is none of the known ones, with the one that was probably meant."""
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), folded, n=1)
    meant = f"Did you mean {folded[close[0]]!r}?" if close else f"There are: {', '.join(known)}."
    return click.UsageError(f"There is no {what} {word!r}. {meant}")
