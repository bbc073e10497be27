"""`reviewbot evidence`: the benchmark figures that people posted, beside what the cost model predicts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reviewbot.frontends.options import complete_cpu

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewbot.cost.environment import CpuChoice
    from reviewbot.cost.weighing import Prediction
    from reviewbot.mail.limits import Limits
    from reviewbot.mail.message import Message
    from reviewbot.rulebook.book import Rulebook

_PAIRS = re.compile(r"(\d{1,6}):(\d{1,6})")
_PAGE_BYTES = 4 << 20


@click.command()
@click.argument("sources", metavar="MBOX|MAILDIR|PAGE|-", nargs=-1, required=True)
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The kernel tree that the series is for; its switches per call are counted there.",
)
@click.option("--base", metavar="REV", help="The commit that the series is applied to.")
@click.option("--pairs", metavar="BEFORE:AFTER", help="Pairs of one operation before and after, as 44:11.")
@click.option(
    "--cpu", metavar="MODEL", shell_complete=complete_cpu, help="The CPU that was measured, where the mails do not say."
)
@click.option("--clock", type=click.FloatRange(min=0, min_open=True), metavar="GHZ", help="Its clock.")
@click.option(
    "--operations", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Operations in one measured time."
)
@click.option("--mitigations", metavar="on|off", help="Whether CPU mitigations were on.")
@click.option("--kernel", metavar="VERSION", help="The kernel version that was measured.")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it here, not to stdout.")
@click.option("--rules", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another set of rules.")
def evidence(
    sources: tuple[str, ...],
    tree: Path | None,
    base: str | None,
    pairs: str | None,
    cpu: str | None,
    clock: float | None,
    operations: float | None,
    mitigations: str | None,
    kernel: str | None,
    form: str,
    output: Path | None,
    rules: Path | None,
) -> int:
    """Find the benchmark figures in mails (tables, timings, perf counters, "from 2.5 s to 1.7 s") and say of each
    before and after whether it agrees with what the model predicts for the series. The pairs of switches come from
    --pairs, from the series on --tree, or from its hunks where these are evident.

    \b
    Examples:
      reviewbot evidence thread.mbox --tree ~/linux
      reviewbot evidence thread.mbox --pairs 44:11 --cpu power9 --clock 3.8
    """
    from reviewbot.cost.evidence import find_evidence
    from reviewbot.cost.weighing import weigh
    from reviewbot.frontends.choices import cpu_of_options
    from reviewbot.frontends.exits import Exit
    from reviewbot.frontends.output import emit
    from reviewbot.frontends.progress import command_progress
    from reviewbot.frontends.settings import limits_in_force
    from reviewbot.report.evidence import render_json, render_text
    from reviewbot.rulebook.book import load_rulebook

    limits = limits_in_force()
    book = replace(load_rulebook(rules), limits=limits.code)
    choice = cpu_of_options(book, cpu, mitigations, kernel)
    messages, problems = _read(sources, limits.input)
    for problem in problems:
        click.echo(f"reviewbot: {problem}", err=True)
    tell = command_progress(quiet=False)
    tell.start("counting switches")
    found = find_evidence(messages, book)
    prediction = _given(pairs) if pairs else _predict(messages, tree, base, book, choice, limits.input)
    weighed = weigh(found, prediction, book, choice, clock_ghz=clock, operations=operations)
    render = render_json if form == "json" else render_text
    tell.stop()
    emit(render(found, weighed, prediction), output, for_people=form == "text")
    return Exit.NOT_REVIEWED if problems else Exit.CLEAN


def _read(sources: Sequence[str], limits: Limits) -> tuple[list[Message], list[str]]:
    """The mails of all sources, and a sentence for each thing that could not be read. Raises InputError if nothing
    could."""
    from reviewbot.errors import InputError
    from reviewbot.mail.mailbox import read_mailbox
    from reviewbot.mail.page import read_page

    messages: list[Message] = []
    problems: list[str] = []
    for source in sources:
        try:
            read = read_mailbox(source, limits=limits)
        except InputError as error:
            text = _page_text(source)
            if text is None:
                problems.append(str(error))
                continue
            messages.append(read_page(text, Path(source).name))
            continue
        messages += read.messages
        problems += read.problems
    if not messages:
        raise InputError("; ".join(problems) or "There is no mail in the input.")
    return messages, problems


def _page_text(source: str) -> str | None:
    """The text of a saved web page that shows a mail."""
    path = Path(source)
    if not path.is_file() or path.stat().st_size > _PAGE_BYTES:
        return None
    data = path.read_bytes()
    return None if b"\0" in data or not data.strip() else data.decode("utf-8", "replace")


def _given(pairs: str) -> Prediction:
    from reviewbot.cost.weighing import Prediction
    from reviewbot.rulebook.primitives import Direction

    match = _PAIRS.fullmatch(pairs.strip())
    if match is None:
        raise click.UsageError(f'--pairs is written like "44:11", not {pairs!r}.')
    before, after = int(match[1]), int(match[2])
    return Prediction(
        how=f"{before} before and {after} after, as given, taken to be writes",
        before={Direction.WRITE: before},
        after={Direction.WRITE: after},
    )


def _predict(
    messages: Sequence[Message],
    tree: Path | None,
    base: str | None,
    book: Rulebook,
    choice: CpuChoice,
    limits: Limits,
) -> Prediction:
    from reviewbot.cost.series_prediction import from_hunks, from_states
    from reviewbot.cost.weighing import Prediction
    from reviewbot.errors import InputError
    from reviewbot.frontends.budget import open_tree
    from reviewbot.series.from_mail import choose_series, find_series
    from reviewbot.source.states import build_states

    try:
        series = choose_series(find_series(messages, limits=limits))
    except InputError:
        return Prediction(how="the mails hold no series, and --pairs was not given")
    if tree is None:
        return from_hunks(series, book)
    states = build_states(series, open_tree(tree, base))
    return from_states(states, book, choice)
