"""What became of each patch, with the reason in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from reviewbot.findings.finding import Gap
from reviewbot.findings.review import Outcome, PatchResult
from reviewbot.series.patch import Patch, Series
from reviewbot.source.c_files import may_be_c
from reviewbot.source.states import PatchState

_SHOWN = 3


def to_result(state: PatchState, *, inspected: bool, gaps: Sequence[Gap], not_kernel: str | None) -> PatchResult:
    """The result of one patch. `inspected`: something in it was worth looking at; `gaps` are those of this patch."""
    patch = state.patch
    unread = _join([problem.reason for problem in patch.problems])
    if not_kernel:
        return _result(patch, Outcome.NOT_KERNEL, not_kernel)
    if unread and not patch.files:
        return _result(patch, Outcome.UNREADABLE, unread)
    if state.failures:
        return _result(patch, Outcome.NOT_APPLIED, state.why_not_applied)
    missed = [*state.doubts, *dict.fromkeys(gap.reason for gap in gaps), *([unread] if unread else [])]
    if not inspected:
        return _result(
            patch, Outcome.PARTIAL if missed else Outcome.NOTHING_TO_REVIEW, _join(missed) or _why_nothing(patch)
        )
    if not state.after.is_complete:
        missed.insert(0, "only the hunks were reviewed, without the tree around them")
    return _result(patch, Outcome.PARTIAL if missed else Outcome.REVIEWED, _join(missed))


def missing_patches(series: Series) -> tuple[PatchResult, ...]:
    """A result for each member of the series that was not found."""
    return tuple(
        PatchResult(
            index=index,
            subject="",
            message_id="",
            commit=None,
            outcome=Outcome.MISSING,
            reason=f"patch {index}/{series.total} was not found",
        )
        for index in series.missing
    )


def _result(patch: Patch, outcome: Outcome, reason: str) -> PatchResult:
    return PatchResult(
        index=patch.index,
        subject=patch.subject,
        message_id=patch.message_id,
        commit=patch.commit,
        outcome=outcome,
        reason=reason,
    )


def _why_nothing(patch: Patch) -> str:
    if not patch.files:
        return "it changes no files"
    if not any(may_be_c(change.path) for change in patch.files):
        return "it changes no C source"
    return "it changes no code that accesses user memory"


def _join(reasons: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(reasons))
    more = f"; and {len(distinct) - _SHOWN} more" if len(distinct) > _SHOWN else ""
    return "; ".join(distinct[:_SHOWN]) + more
