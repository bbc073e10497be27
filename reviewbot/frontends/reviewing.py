"""What every reviewing command does around the pipeline: settings in, report and exit code out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from reviewbot.config import Layer, cache_dir
from reviewbot.findings.review import Review
from reviewbot.findings.waivers import hold_back, new_baseline, read_baseline, read_waivers, why_accepted
from reviewbot.frontends import settings
from reviewbot.frontends.choices import to_cpu_choice
from reviewbot.frontends.exits import Exit, exit_code
from reviewbot.frontends.guard import say
from reviewbot.frontends.wish import Wish
from reviewbot.grammar import plural
from reviewbot.progress import Progress
from reviewbot.values import dataclass

if TYPE_CHECKING:
    from reviewbot.findings.finding import Finding
    from reviewbot.mail.limits import Limits
    from reviewbot.pipeline import ReviewOptions
    from reviewbot.report.view import View
    from reviewbot.rulebook.book import Rulebook


NOBODY = Progress()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """All that a review needs beside its input. `section` is [review] with the command line on top."""

    section: settings.ReviewSection
    options: ReviewOptions
    book: Rulebook
    limits: Limits


def prepare(wish: Wish, layers: Sequence[Layer], tell: Progress = NOBODY) -> Ready:
    """Settings and rules for one run, whose stages tell their progress to `tell`. Raises UsageError for a CPU,
    version or setting that does not exist."""
    from reviewbot.cost.rate import parse_base_rate
    from reviewbot.pipeline import ReviewOptions
    from reviewbot.rulebook.book import load_rulebook

    given = settings.command_line(
        {
            "cpu": wish.cpu,
            "mitigations": wish.mitigations,
            "kernel": wish.kernel,
            "min_cycles": wish.min_cycles,
            "fail_on": wish.fail_on.value if wish.fail_on else None,
        }
    )
    section, _ = settings.section("review", [*layers, given])
    limits, _ = settings.section("limits", layers)
    kept = None if wish.no_cache else cache_dir()
    book = replace(load_rulebook(wish.rules, kept), limits=limits.code)
    options = ReviewOptions(
        cache=kept,
        tell=tell,
        complain=say,
        show_all=wish.everything,
        cpu=to_cpu_choice(section, book),
        with_edits=wish.wants_edits,
        with_graphs=wish.wants_graphs,
        base_rate=parse_base_rate(wish.base_rate) if wish.base_rate else None,
    )
    return Ready(section=section, options=options, book=book, limits=limits.input)


def conclude(
    make: Callable[[], Review], wish: Wish, ready: Ready, layers: Sequence[Layer], *, only_findings: bool = False
) -> Exit:
    """Review, hold back what is accepted, write the report, and say what to exit with.

    `only_findings`: without a finding that stands there is no report; the caller says what was not reviewed.
    """
    baseline = read_baseline(wish.baseline) if wish.baseline else {}
    waivers = read_waivers(layers)
    made = make()
    ready.options.tell.stop()
    review = _above(ready.section.min_cycles, hold_back(made, waivers, baseline, date.today()))
    if wish.write_baseline:
        from reviewbot.frontends import output

        output.write_file("the baseline", new_baseline(review, baseline), wish.write_baseline)
    if wish.fix_patch:
        _write_fixes(review, wish.fix_patch)
    if wish.graph:
        _write_graphs(review, wish.graph)
    status = exit_code(review, ready.section.fail_on)
    is_silent = only_findings or (wish.quiet and status is Exit.CLEAN)
    told = [each for each in review.findings if not only_findings or _stands(each)]
    if is_silent and not told and not wish.output:
        return status
    from reviewbot.frontends import output
    from reviewbot.report.formats import FORMATS

    text = FORMATS[wish.format].render(review, _view(wish, ready))
    output.emit(text, wish.output, for_people=wish.format in output.FOR_PEOPLE)
    return status


def acceptance(wish: Wish, layers: Sequence[Layer]) -> Callable[[Finding], bool]:
    """Whether a finding is one that `conclude` will hold back for a waiver or the baseline."""
    baseline = read_baseline(wish.baseline) if wish.baseline else {}
    waivers, today = read_waivers(layers), date.today()
    return lambda finding: bool(why_accepted(finding, waivers, baseline, today))


def _stands(finding: Finding) -> bool:
    """Whether it is there after the last patch; what is fixed is no reason to speak up."""
    from reviewbot.report.phrases import is_open

    return is_open(finding)


def _above(least: float | None, review: Review) -> Review:
    """--min-cycles: cheaper findings are held back; what is fixed or wrong for another reason costs nothing to say."""
    from reviewbot.findings.finding import HeldBack, Severity

    if least is None:
        return review
    cheap = [
        finding
        for finding in review.findings
        if finding.cost.cycles.typ < least and finding.severity is not Severity.ERROR
    ]
    held = tuple(
        HeldBack(finding=each, reason=f"costs less than {plural(least, 'cycle', f'{least:g}')} (--min-cycles)")
        for each in cheap
    )
    kept = tuple(finding for finding in review.findings if finding not in cheap)
    return replace(review, findings=kept, held_back=(*review.held_back, *held))


def _view(wish: Wish, ready: Ready) -> View:
    from reviewbot.frontends import output
    from reviewbot.report.view import RuleText, View

    rules = tuple(
        RuleText(slug=entry.slug, title=entry.short, why=entry.full, fix=entry.fix)
        for entry in ready.book.catalogue.values()
    )
    is_terminal = wish.output is None and wish.format == "terminal"
    return View(
        width=output.width() if is_terminal else output.PIPE_WIDTH,
        colour=output.wants_colour(wish.colour) if is_terminal or wish.colour else False,
        cpu=ready.section.cpu or "",
        verbose=wish.verbose,
        rules=rules,
    )


def _write_fixes(review: Review, path: Path) -> None:
    from reviewbot.frontends import output
    from reviewbot.report import fix_patch

    output.write_file("the patch with fixes", fix_patch.render(review), path)


def _write_graphs(review: Review, path: Path) -> None:
    from reviewbot.frontends import output
    from reviewbot.report.block_graph import to_dot, to_svg

    output.write_file("the graph", (to_dot if path.suffix == ".dot" else to_svg)(review.graphs), path)
