"""The values of this stage: an Observation is what a rule saw; a Finding is what is said about it."""

from __future__ import annotations

from enum import Enum

from reviewbot.findings.edit import Edit
from reviewbot.values import dataclass


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for a note, 2 for an error."""
        return ("note", "warning", "error").index(self.value)


class Confidence(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """0 for low, 2 for high."""
        return ("low", "medium", "high").index(self.value)


class Status(Enum):
    INTRODUCED = "introduced"
    EXISTING = "existing"
    FIXED = "fixed"


class Per(Enum):
    """What a cost is counted for."""

    EXECUTION = "execution"
    ITERATION = "iteration"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """A point in the post-image: line and column are 1-based, the column counts code points, tabs as one."""

    path: str
    line: int
    column: int = 1
    function: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One step from the block to the place: `what` is a short phrase ('access opened by user_access_begin', 'calls',
    'expands')."""

    place: Place
    what: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One self-contained access or copy that an observation is about."""

    primitive: str
    direction: str  # "read" | "write" | "read_write"
    place: Place
    size_bytes: int | None = None
    iterations: str = ""  # symbolic, "" for once


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one rule saw. It knows no severity, wording, cost or status.

    `variant` picks the wording within the rule's catalogue entry (`traced_call` has variants such as `static`,
    `extern`, `indirect`); `facts` fill its placeholders. `key` are the words that identify the finding independent of
    line numbers and of the names of locals (rule, function, callee, …) and feed the fingerprint; `written` is what it
    speaks of as it stands in the source, which tells alike ones apart from one patch to the next. `suspect_lines` are
    (path, line) that a change must touch for the finding to count as changed by the series, beside the primary place.
    """

    rule: str
    variant: str
    place: Place
    chain: tuple[Link, ...] = ()
    callee: str | None = None
    accesses: tuple[Access, ...] = ()
    direction: str | None = None
    size_bytes: int | None = None
    pairs: int | None = None
    per: Per = Per.EXECUTION
    arch: tuple[str, ...] = ()
    condition: str | None = None
    confidence: Confidence = Confidence.HIGH
    facts: tuple[tuple[str, str], ...] = ()
    key: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    suspect_lines: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """An interval in CPU cycles; low <= typ <= high."""

    low: float
    typ: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a finding costs on one CPU model. `basis` is the arithmetic as text; `facts` are ids of cycle facts; `ns` is
    given where the model has a clock. `note` says what the figure does not cover, or that it is below the noise."""

    cpu: str
    cycles: Cycles
    per: Per
    confidence: Confidence
    basis: str
    facts: tuple[str, ...]
    ns: Cycles | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An Observation with everything that is said about it. `patch` is the 1-based index of the patch that introduced
    (or fixed) it, `fixed_by` of the one that mends it later in the series."""

    observation: Observation
    severity: Severity
    confidence: Confidence
    status: Status
    patch: int | None
    fixed_by: int | None
    message: str
    suggestion: str
    cost: Cost
    fingerprint: str
    edit: Edit | None = None

    @property
    def rule(self) -> str:
        return self.observation.rule

    @property
    def place(self) -> Place:
        return self.observation.place


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something that could not be reviewed, and why, in one sentence. `patch` where it belongs to one."""

    path: str
    line: int
    function: str
    reason: str
    patch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """A finding that is not reported, with the reason (a waiver, the baseline, a threshold, lines the series does not
    touch)."""

    finding: Finding
    reason: str
