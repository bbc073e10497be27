"""A series -> the pairs of one operation before and after it: from budgets on a tree, else from its hunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reviewbot.cost.environment import CpuChoice
from reviewbot.cost.hunk_counts import count_hunks
from reviewbot.cost.weighing import Prediction
from reviewbot.findings.review import Count
from reviewbot.findings.scope import find_scope
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.primitives import Direction
from reviewbot.series.patch import Series
from reviewbot.source.states import PatchState


def from_states(states: Sequence[PatchState], book: Rulebook, cpu: CpuChoice) -> Prediction:
    """One operation is taken to call every entry point once whose budget the series changes."""
    from reviewbot.cost.series_budgets import budgets_of

    failed = [state.patch.index for state in states if state.why_not_applied]
    if failed:
        return Prediction(how=f"patch {failed[0]} does not apply to the tree: {_of(states, failed[0])}")
    touched = {function for state in states for function in find_scope(state, book).functions}
    budgets = budgets_of(states, touched, book, cpu)
    changed = [each for each in budgets.entries if each.before is not None and each.after is not None]
    arch = next((each.arch for each in changed), "")
    changed = [each for each in changed if each.arch == arch]
    if not changed:
        return Prediction(how="the series changes the switches of no entry point that is there before and after it")
    names = ", ".join(f"{each.function.removesuffix('()')}" for each in changed)
    before: Counter[Direction] = Counter()
    after: Counter[Direction] = Counter()
    for each in changed:
        before.update(_by_direction(each.before))
        after.update(_by_direction(each.after))
    return Prediction(
        how=f"{before.total()} before and {after.total()} after, counted on the tree with one call each of {names}",
        before=before,
        after=after,
    )


def from_hunks(series: Series, book: Rulebook) -> Prediction:
    """Only where the hunks leave no doubt: they change no access, or all in one place."""
    counts = count_hunks(series, book)
    removed, added = counts.removed.total(), counts.added.total()
    if not counts.hunks:
        nothing: Counter[Direction] = Counter()
        return Prediction(how="the hunks of the series change no access and no block", before=nothing, after=nothing)
    told = f"its hunks take away {removed} accesses or blocks and add {added}"
    if not counts.is_evident:
        doubt = "which of them one operation comes by, only a tree tells (--tree, or --pairs)"
        return Prediction(how=f"{told} in {counts.hunks} places; {doubt}")
    return Prediction(how=f"{told}, all in one place", before=counts.removed, after=counts.added)


def _of(states: Sequence[PatchState], index: int) -> str:
    return next(state.why_not_applied for state in states if state.patch.index == index)


def _by_direction(count: Count | None) -> dict[Direction, int]:
    """The typical way; where the architecture tells no directions apart, all of it is both ways."""
    if count is None:
        return {}
    read = count.reads[1] if count.reads else 0
    write = count.writes[1] if count.writes else 0
    return {Direction.READ: read, Direction.WRITE: write, Direction.READ_WRITE: count.pairs[1] - read - write}
