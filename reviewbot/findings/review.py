"""The Review: everything that a report, in any format, is made of."""

from __future__ import annotations

from enum import Enum

from reviewbot.findings.finding import Cost, Finding, Gap, HeldBack
from reviewbot.graph.block_graph import BlockGraph
from reviewbot.graph.switch_counts import CountedPlace
from reviewbot.series.patch import Series
from reviewbot.values import dataclass


class Outcome(Enum):
    """What became of one patch."""

    REVIEWED = "reviewed"
    PARTIAL = "partial"
    NOT_APPLIED = "not_applied"
    NOTHING_TO_REVIEW = "nothing_to_review"
    NOT_KERNEL = "not_kernel"
    MISSING = "missing"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchResult:
    index: int
    subject: str
    message_id: str
    commit: str | None
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What the series was applied to. `rev` is a full commit id or "" (no tree); `how` is one sentence."""

    rev: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Switch pairs per call: `pairs` outside loops as (low, typ, high) over the branches; `per_iteration` the symbolic
    loop part ("" for none, "3·n" …). `reads` and `writes` are the same of each direction, where the architecture tells
    them apart; what opens both ways at once is in neither. `typical` says what makes up the typical way."""

    pairs: tuple[int, int, int]
    per_iteration: str = ""
    reads: tuple[int, int, int] | None = None
    writes: tuple[int, int, int] | None = None
    typical: str = ""
    places: tuple[CountedPlace, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchBudget:
    """Pairs per call of one function on one architecture, before and after the series (None: the function is not
    there)."""

    path: str
    function: str
    arch: str
    before: Count | None
    after: Count | None
    saved: Cost | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceExcerpt:
    """Source lines for a report: (line number, '+' | '-' | ' ', text)."""

    path: str
    lines: tuple[tuple[int, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The result of one run. `series` is None for a scan of a tree. Order of everything is deterministic.
    `below`: the paths that a scan was limited to (none: everything).
    `excerpts` maps a finding's fingerprint to the lines around it. `graphs`, where they were asked for, are what runs
    in the blocks of functions that the series changes or that have findings, as they are in the end."""

    series: Series | None
    subject: str
    base: Base
    patches: tuple[PatchResult, ...]
    findings: tuple[Finding, ...]
    held_back: tuple[HeldBack, ...]
    gaps: tuple[Gap, ...]
    switches: tuple[SwitchBudget, ...]
    excerpts: tuple[tuple[str, SourceExcerpt], ...]
    notes: tuple[str, ...]
    cpu: tuple[str, ...]
    graphs: tuple[BlockGraph, ...] = ()
    below: tuple[str, ...] = ()
