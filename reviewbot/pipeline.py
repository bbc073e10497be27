"""A series and its base come in; a Review goes out: every stage once, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reviewbot.cost.environment import CpuChoice
from reviewbot.cost.predictions import SeriesBudgets, predict
from reviewbot.cost.rate import BaseRate
from reviewbot.findings.excerpt import make_excerpt
from reviewbot.findings.finding import Cost, Finding, Gap, Observation, Status
from reviewbot.findings.follow import Followed, Look, Sight, follow
from reviewbot.findings.outcome import missing_patches, to_result
from reviewbot.findings.review import Base, PatchResult, Review, SourceExcerpt
from reviewbot.findings.triage import Verdict, judge
from reviewbot.git import Repository
from reviewbot.graph.block_graph import BlockGraph
from reviewbot.progress import Progress
from reviewbot.rulebook.book import Rulebook
from reviewbot.series.from_git import series_from_push, series_from_range, series_from_staged
from reviewbot.series.patch import Series
from reviewbot.source.base import choose_base
from reviewbot.source.git_tree import CommitTree
from reviewbot.source.states import PatchState, build_states
from reviewbot.source.tree import SourceTree
from reviewbot.source.version import kernel_version
from reviewbot.time_limit import Timed
from reviewbot.values import dataclass

if TYPE_CHECKING:
    from reviewbot.facts.sights import Sights

NO_BASE = Base(rev="", how="no tree was given, so only the lines in the patches are known")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions:
    """`show_all`: report what the series does not change, hints, and what is below the thresholds. `cpu` chooses the
    model of the costs; without a kernel version in it, the base's counts. `rules`: only these slugs (None: all).
    `with_edits`: look for edits that mend what is reported, `with_graphs`: draw up what runs inside the blocks in
    question; each takes a second look at its files. `cache` is the directory of what earlier runs found (None: without
    one); trouble with it is told to `complain`. `tell` hears how far the review is."""

    show_all: bool = False
    cpu: CpuChoice = field(default_factory=CpuChoice)
    rules: frozenset[str] | None = None
    with_edits: bool = False
    with_graphs: bool = False
    switch_budgets: bool = True
    base_rate: BaseRate | None = None
    cache: Path | None = None
    complain: Callable[[str], None] = lambda sentence: None
    tell: Progress = field(default_factory=Progress)


def review(
    series: Series, base: SourceTree | None, options: ReviewOptions, book: Rulebook, origin: Base = NO_BASE
) -> Review:
    """Review a series on top of `base` (None: by its hunks alone); `origin` says what the base is."""
    with _sights(book, options) as sights:
        return _review(series, base, options, book, origin, sights)


def _review(
    series: Series,
    base: SourceTree | None,
    options: ReviewOptions,
    book: Rulebook,
    origin: Base,
    sights: Callable[[], Sights],
) -> Review:
    tell, timed = options.tell, Timed(book.limits.stage_s)
    tell.start("applying patches")
    states = build_states(series, base)
    not_kernel = _not_kernel(series, [base, *(state.after for state in states[-1:])])
    looked_at = [state for state in states if not not_kernel.get(state.patch.index)]
    tell.start("reviewing patches", len(looked_at))
    followed = follow(looked_at, book, _look(sights, options), tell.advance, show_all=options.show_all)
    cpu = _with_kernel_of(base, options.cpu)
    catalogue = book.catalogue if followed.lives else {}  # a clean commit need not read it
    verdicts = judge(followed.lives, catalogue, lambda seen: _cost(seen, book, cpu), show_all=options.show_all)
    if options.with_edits:
        tell.start("looking for fixes")
        verdicts = timed("looking for fixes", lambda: with_edits(verdicts, book), verdicts)
    findings = tuple(verdict.finding for verdict in verdicts if not verdict.held_back)
    tell.start("counting switches")
    budgets = timed("counting switches", lambda: _budgets(states, followed, sights, options, cpu), SeriesBudgets())
    graphs: tuple[BlockGraph, ...] = ()
    if options.with_graphs:
        graphs = timed("drawing graphs", lambda: _graphs(states, followed, findings, book), ())
    return Review(
        series=series,
        subject=series.subject,
        base=origin,
        patches=_results(series, states, followed, not_kernel),
        findings=findings,
        held_back=tuple(verdict.to_held_back() for verdict in verdicts if verdict.held_back),
        gaps=tuple(_gaps(states, followed)),
        switches=budgets.changed,
        excerpts=tuple(_excerpts(verdicts, states)),
        notes=(*series.notes, *timed.notes, *budgets.notes, *predict(budgets.changed, options.base_rate)),
        cpu=tuple(sorted({finding.cost.cpu for finding in findings})),
        graphs=graphs,
    )


def review_on_tree(
    series: Series, repository: Repository, options: ReviewOptions, book: Rulebook, wanted_base: str | None = None
) -> Review:
    """Review a series from mail on the tree of `repository`. Raises InputError for a wrong `wanted_base`."""
    rev, how = choose_base(repository, series, wanted_base)
    return review(series, CommitTree(repository, rev), options, book, Base(rev=rev, how=how))


def review_range(repository: Repository, range_text: str | None, options: ReviewOptions, book: Rulebook) -> Review:
    """Review `A..B`, one commit, or by default what the current branch has above its upstream branch."""
    series = series_from_range(repository, range_text)
    return _review_commits(series, repository, "the parent of the first commit", options, book)


def review_push(repository: Repository, from_ref: str, to_ref: str, options: ReviewOptions, book: Rulebook) -> Review:
    """Review what a push brings."""
    series = series_from_push(repository, from_ref, to_ref)
    return _review_commits(series, repository, "the parent of the first commit", _quick(options), book)


def review_staged(
    repository: Repository, options: ReviewOptions, book: Rulebook, whole_files: bytes | None = None
) -> Review:
    """Review what is staged against HEAD, or against nothing before the first commit. `whole_files` is the diff, where
    it is at hand."""
    series = series_from_staged(repository, whole_files)
    return _review_commits(series, repository, "HEAD", _quick(options), book)


def _quick(options: ReviewOptions) -> ReviewOptions:
    """A hook is waited for, and its reader wants findings."""
    return replace(options, switch_budgets=False)


def _review_commits(
    series: Series, repository: Repository, what: str, options: ReviewOptions, book: Rulebook
) -> Review:
    if series.base_commit is None:
        base = CommitTree(repository, repository.empty_tree, label="an empty tree")
        return review(series, base, options, book, Base(rev="", how="nothing: there is no commit below"))
    base = CommitTree(repository, series.base_commit)
    return review(series, base, options, book, Base(rev=series.base_commit, how=what))


def _not_kernel(series: Series, trees: Sequence[SourceTree | None]) -> dict[int, str | None]:
    """Patch index -> why it is not for the kernel. On a kernel tree, and where one is being made, everything is."""
    if any(tree is not None and kernel_version(tree) for tree in trees):
        return {}
    from reviewbot.series.kernel import why_not_kernel  # loads what reads mail

    return {patch.index: why_not_kernel(patch) for patch in series.patches}


@contextmanager
def _sights(book: Rulebook, options: ReviewOptions) -> Iterator[Callable[[], Sights]]:
    """Made when they are first asked for: most commits need none, and what keeps them takes time to load."""
    made: list[Sights] = []

    def sights() -> Sights:
        from reviewbot.facts.sights import Sights

        if not made:
            made.append(Sights(book, options.cache, options.complain))
        return made[0]

    try:
        yield sights
    finally:
        for each in made:
            each.close()


def _look(sights: Callable[[], Sights], options: ReviewOptions) -> Look:
    def look(tree: SourceTree, paths: Sequence[str], focus: Mapping[str, frozenset[str]] | None = None) -> Sight:
        inspection = sights().inspect(tree, paths, focus)
        wanted = options.rules
        kept = tuple(seen for seen in inspection.observations if wanted is None or seen.rule in wanted)
        return kept, inspection.gaps

    return look


def with_edits(verdicts: Sequence[Verdict], book: Rulebook) -> tuple[Verdict, ...]:
    """The same verdicts; what is reported and still there carries the edit that mends it, where there is one."""
    from reviewbot.rules.edits import Editor

    editor = Editor(book)

    def mended(verdict: Verdict) -> Verdict:
        finding, life = verdict.finding, verdict.life
        if verdict.held_back or finding.fixed_by is not None or finding.status is Status.FIXED:
            return verdict
        return replace(verdict, finding=replace(finding, edit=editor.edit_for(life.observation, life.tree)))

    return tuple(map(mended, verdicts))


def _graphs(
    states: Sequence[PatchState], followed: Followed, findings: Sequence[Finding], book: Rulebook
) -> tuple[BlockGraph, ...]:
    """What runs in the blocks of functions that the series changes or that have findings, as they are in the end."""
    return graphs_of(states[-1].after, findings, book, followed.functions) if states else ()


def graphs_of(
    tree: SourceTree, findings: Sequence[Finding], book: Rulebook, functions: Set[tuple[str, str]] = frozenset()
) -> tuple[BlockGraph, ...]:
    """What runs in the blocks of these functions, given as (path, name), and of those that have findings."""
    from reviewbot.graph.call_graph import block_graphs  # loads networkx, which most runs do not need

    places = {
        finding.observation.chain[0].place if finding.observation.chain else finding.place for finding in findings
    }
    return block_graphs(tree, functions | {(place.path, place.function) for place in places}, book)


def _budgets(
    states: Sequence[PatchState],
    followed: Followed,
    sights: Callable[[], Sights],
    options: ReviewOptions,
    cpu: CpuChoice,
) -> SeriesBudgets:
    """Of the series as a whole. Without a tree nothing can be counted, and the review says what it is based on."""
    if not options.switch_budgets or not followed.inspected or not states[-1].after.is_complete:
        return SeriesBudgets()
    return sights().budgets(states, followed.functions, cpu)


def _cost(seen: Observation, book: Rulebook, cpu: CpuChoice) -> Cost:
    from reviewbot.cost.estimate import estimate  # a clean commit costs nothing

    return estimate(seen, book, cpu)


def _with_kernel_of(base: SourceTree | None, choice: CpuChoice) -> CpuChoice:
    if base is None or choice.environment.kernel is not None:
        return choice
    return replace(choice, environment=replace(choice.environment, kernel=kernel_version(base)))


def _results(
    series: Series, states: Sequence[PatchState], followed: Followed, not_kernel: Mapping[int, str | None]
) -> tuple[PatchResult, ...]:
    results = [
        to_result(
            state,
            inspected=state.patch.index in followed.inspected,
            gaps=followed.gaps.get(state.patch.index, ()),
            not_kernel=not_kernel.get(state.patch.index),
        )
        for state in states
    ]
    return tuple(sorted([*results, *missing_patches(series)], key=lambda result: result.index))


def _gaps(states: Sequence[PatchState], followed: Followed) -> Iterator[Gap]:
    """By patch: the parts of it that could not be read, and what the rules could not review."""
    for state in states:
        index = state.patch.index
        for problem in state.patch.problems:
            yield Gap(path=problem.path or "", line=0, function="", reason=problem.reason, patch=index)
        yield from followed.gaps.get(index, ())


def _excerpts(verdicts: Sequence[Verdict], states: Sequence[PatchState]) -> Iterator[tuple[str, SourceExcerpt]]:
    """The lines around each finding as it was last seen, with what the series did to them up to there."""
    by_index = {state.patch.index: state for state in states}
    for verdict in verdicts:
        finding, tree = verdict.finding, verdict.life.tree
        text = tree.read(finding.place.path)
        if text is None:
            continue
        is_gone = finding.status is Status.FIXED and finding.fixed_by is not None
        if is_gone and finding.fixed_by:
            other = by_index[finding.fixed_by].after
        elif tree.is_complete:
            other = states[0].before
        else:  # hunks of different patches are no text to compare
            other = by_index[finding.patch].before if finding.patch else tree
        excerpt = make_excerpt(
            finding.place.path, text, finding.place.line, other.read(finding.place.path) or b"", is_gone=is_gone
        )
        yield finding.fingerprint, excerpt
