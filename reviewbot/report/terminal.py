"""For people at a terminal: readable at 80 columns, without colour, and in a pipe."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from reviewbot.findings.finding import Finding, Severity, Status
from reviewbot.findings.review import Outcome, PatchResult, Review, SourceExcerpt, SwitchBudget
from reviewbot.grammar import plural
from reviewbot.report import phrases
from reviewbot.report.escape import expand, visible
from reviewbot.report.excerpt import excerpt_of, is_offending
from reviewbot.report.view import View

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

MIN_WIDTH = 40
MAX_PLACES = 8  # of one reason for a gap, unless verbose
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_MARKS = {"+": "green", "-": "red", " ": ""}


def render(review: Review, view: View) -> str:
    """The report as text. Nothing from the input is taken for markup, and its control characters are written out."""
    from rich.console import Console

    target = io.StringIO()
    console = Console(
        file=target,
        width=max(view.width, MIN_WIDTH),
        force_terminal=view.colour,
        color_system="standard" if view.colour else None,
        no_color=not view.colour,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    for section in (_header, _patches, _findings, _switches, _gaps, _notes, _held_back):
        _print_section(console, section(review, view))
    _verdict(console, review)
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().splitlines())


def _print_section(console: Console, parts: Iterable[RenderableType]) -> None:
    printed = False
    for part in parts:
        console.print(part)
        printed = True
    if printed:
        console.print()


def _header(review: Review, view: View) -> Iterator[RenderableType]:
    from rich.text import Text

    version = f" (version {review.series.version})" if review.series and review.series.version > 1 else ""
    yield Text(visible(review.subject) + version, style="bold")
    if review.base.how:
        rev = f"{review.base.rev[:12]} " if review.base.rev else ""
        yield _fields([("base", Text(visible(f"{rev}({review.base.how.rstrip('.')})" if rev else review.base.how)))])


def _patches(review: Review, view: View) -> Iterator[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    if not review.patches:
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(ratio=1, overflow="fold")
    table.add_column(no_wrap=True)
    for patch in review.patches:
        outcome = Text(_outcome(patch, review), style=_outcome_style(patch, review))
        table.add_row(Text(phrases.number_of(patch.index, review)), Text(visible(patch.subject)), outcome)
    yield table
    reasons = _reasons(review)
    if reasons:
        yield ""
    for reason, numbers in reasons.items():
        yield _fields([("", Text(visible(f"{', '.join(numbers)}: {reason}")))], label_width=0)


def _reasons(review: Review) -> dict[str, list[str]]:
    """reason -> numbers of the patches that were not reviewed in full for it. What is a gap is not said twice."""
    gaps = {gap.reason for gap in review.gaps}
    reasons: dict[str, list[str]] = {}
    for patch in review.patches:
        parts = [part for part in patch.reason.split("; ") if part not in gaps and not part.startswith("and ")]
        if parts and patch.outcome not in phrases.COMPLETE:
            reasons.setdefault("; ".join(parts), []).append(phrases.number_of(patch.index, review))
    return reasons


def _outcome(patch: PatchResult, review: Review) -> str:
    found = phrases.open_findings(phrases.patch_findings(review, patch))
    words = plural(len(found), "finding") if found else phrases.OUTCOMES[patch.outcome]
    if found and patch.outcome is not Outcome.REVIEWED:
        words += f", {phrases.OUTCOMES[patch.outcome]}"
    return words


def _outcome_style(patch: PatchResult, review: Review) -> str:
    if phrases.open_findings(phrases.patch_findings(review, patch)):
        return "bold red"
    return "" if patch.outcome in phrases.COMPLETE else "bold yellow"


def _findings(review: Review, view: View) -> Iterator[RenderableType]:
    for at, finding in enumerate(phrases.in_reading_order(review.findings)):
        if at:
            yield ""
        yield from _finding(finding, review, view)


def _finding(finding: Finding, review: Review, view: View) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    style = "green" if finding.status is Status.FIXED else _STYLES[finding.severity]
    level = "fixed" if finding.status is Status.FIXED else finding.severity.value
    head = Text(f"{visible(phrases.place(finding))}: ", style="bold")
    head.append(level, style=style).append(f": {finding.rule}", style="")
    if phrases.history(finding, review) != level:
        head.append(f", {phrases.history(finding, review)}", style="")
    yield head
    yield Padding(Text(visible(finding.message, keep="\n\t")), (0, 0, 0, 2))
    excerpt = excerpt_of(review, finding)
    is_shown = view.verbose or finding.status is not Status.FIXED  # what is gone needs no study
    if excerpt is not None and is_shown:
        yield ""
        yield from _excerpt(excerpt, finding, max(view.width, MIN_WIDTH))
        yield ""
    yield _fields([(label, Text(visible(text))) for label, text in _details(finding, view)])


def _details(finding: Finding, view: View) -> Iterator[tuple[str, str]]:
    """Label and text of the rows below a finding; a label that repeats is shown once."""
    label = "path"
    chain = finding.observation.chain if view.verbose or finding.status is not Status.FIXED else ()
    for link in chain:
        yield label, f"{phrases.step_place(link, finding)}: {phrases.step(link)}"
        label = ""
    where = phrases.conditions(finding)
    if where:
        yield "holds", where
    cost = finding.cost
    yield "cost", phrases.cost(cost)
    if finding.status is Status.FIXED and not view.verbose:
        return
    if cost.basis:
        yield "", cost.basis
    if cost.note:
        yield "", cost.note
    if finding.suggestion and finding.status is not Status.FIXED:
        yield "do", finding.suggestion
    if finding.confidence.value != "high" or view.verbose:
        yield "sure", f"{finding.confidence.value} confidence in the finding"
    if view.verbose:
        yield "facts", ", ".join(cost.facts) or "none"
        yield "id", finding.fingerprint


def _excerpt(excerpt: SourceExcerpt, finding: Finding, width: int) -> Iterator[RenderableType]:
    """The lines around the finding. Its own line is always whole, wrapped behind the line numbers; others are cut."""
    from rich.table import Table
    from rich.text import Text

    digits = max((len(str(number)) for number, _, _ in excerpt.lines), default=1)
    table = Table.grid(pad_edge=False)
    table.add_column(no_wrap=True, width=digits + 4)
    table.add_column(overflow="fold")
    for number, mark, text in excerpt.lines:
        is_own = is_offending(finding, number, mark)
        code, room = expand(text), width - digits - 4
        if not is_own and len(code) > room:
            code = code[: room - 1] + "…"
        gutter = Text(f"{'>' if is_own else ' '} {number:>{digits}} {mark}", style="bold" if is_own else "dim")
        table.add_row(gutter, Text(code, style=_MARKS.get(mark, "") + (" bold" if is_own else "")))
    yield table


def _switches(review: Review, view: View) -> Iterator[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    changed = [budget for budget in review.switches if view.verbose or budget.before != budget.after]
    if not changed:
        return
    yield Text("Pairs of switches per call", style="bold")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    for _ in range(3):
        table.add_column(overflow="fold", max_width=28)
    for budget in changed:
        table.add_row(*(Text(visible(cell)) for cell in _budget(budget)))
    yield table


def _budget(budget: SwitchBudget) -> tuple[str, str, str, str]:
    change = f"{phrases.pairs(budget.before)} → {phrases.pairs(budget.after)}"
    saved = "" if budget.saved is None else f"{phrases.interval(budget.saved.cycles)} saved on {budget.saved.cpu}"
    return phrases.called(budget.function), budget.arch, change, saved


def _gaps(review: Review, view: View) -> Iterator[RenderableType]:
    from rich.text import Text

    if not review.gaps:
        return
    yield Text(f"Not reviewed ({len(review.gaps)})", style="bold yellow")
    by_reason: dict[str, list[str]] = {}
    for gap in review.gaps:
        by_reason.setdefault(gap.reason, []).append(phrases.gap_place(gap, review))
    for reason, places in by_reason.items():
        yield from _reason(reason, [place for place in places if place], view)


def _reason(reason: str, places: list[str], view: View) -> Iterator[RenderableType]:
    """One reason, and the places that it concerns: on its line for one, below it for more."""
    from rich.text import Text

    shown = places if view.verbose else places[:MAX_PLACES]
    if len(places) == 1:
        yield _fields([("", Text(visible(f"{places[0]}: {reason}")))], label_width=0)
        return
    rows = [visible(reason), *(f"  {visible(place)}" for place in shown)]
    if len(shown) < len(places):
        rows.append(f"  and {len(places) - len(shown)} more; -v shows them")
    yield _fields([("", Text(row)) for row in rows], label_width=0)


def _notes(review: Review, view: View) -> Iterator[RenderableType]:
    from rich.text import Text

    for note in review.notes:
        yield _fields([("note", Text(visible(note)))])


def _held_back(review: Review, view: View) -> Iterator[RenderableType]:
    from rich.text import Text

    for row in phrases.held_back(review.held_back):
        yield Text(visible(row))
    if view.verbose:
        for entry in review.held_back:
            place = f"  {phrases.place(entry.finding)}: {entry.finding.rule}: {entry.finding.message} ({entry.reason})"
            yield Text(visible(place))


def _verdict(console: Console, review: Review) -> None:
    from rich.text import Text

    is_good = phrases.is_complete(review) and not phrases.open_findings(review.findings)
    console.print(Text(visible(phrases.verdict(review)), style="bold green" if is_good else "bold"))


def _fields(rows: Iterable[tuple[str, RenderableType]], label_width: int = 5) -> RenderableType:
    """Rows of label and text, the text wrapped under itself."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(width=2)
    table.add_column(no_wrap=True, width=label_width, style="dim")
    table.add_column(overflow="fold")
    for label, text in rows:
        table.add_row("", label, text)
    return table
