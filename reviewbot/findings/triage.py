"""What is said of each life in a History: severity, wording, status and fingerprint; and whether it is said at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reviewbot.findings.finding import Confidence, Cost, Finding, HeldBack, Observation, Severity, Status
from reviewbot.findings.fingerprint import fingerprints
from reviewbot.findings.history import Life
from reviewbot.grammar import plural
from reviewbot.rulebook.catalogue import CatalogueEntry
from reviewbot.values import dataclass

NOT_CHANGED = "not changed by the series"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A finding with the life it was made from; `held_back` is the reason why it is not reported, or ""."""

    finding: Finding
    life: Life
    held_back: str

    def to_held_back(self) -> HeldBack:
        return HeldBack(finding=self.finding, reason=self.held_back)


def judge(
    lives: Sequence[Life],
    catalogue: Mapping[str, CatalogueEntry],
    cost_of: Callable[[Observation], Cost],
    *,
    show_all: bool = False,
    is_whole_tree: bool = False,
) -> tuple[Verdict, ...]:
    """A verdict on every life, in the order of patches, places and rules.

    Reported is what the series introduces or fixes and what is worth its cycles; with `show_all` everything is. With
    `is_whole_tree` there is no series, and what is in the tree is what is asked about. What
    one patch introduces and a later one fixes is reported as a note: the end is sound, and only bisection meets it.
    """
    # of several alike, what was there before keeps its fingerprint, or a new one would hide in the baseline
    ordered = sorted(
        lives,
        key=lambda life: (
            life.fixed_by is not None,
            life.introduced_by is not None,
            life.observation.place,
            life.observation.rule,
        ),
    )
    prints = fingerprints([life.observation for life in ordered])
    verdicts = [
        _judge(
            life,
            print_,
            catalogue[life.observation.rule],
            cost_of(life.observation),
            show_all=show_all,
            is_whole_tree=is_whole_tree,
        )
        for life, print_ in zip(ordered, prints, strict=True)
    ]
    return tuple(sorted(verdicts, key=_order))


def status_of(life: Life) -> Status:
    """`fixed` is only what was there before the series."""
    if life.introduced_by is not None:
        return Status.INTRODUCED
    return Status.EXISTING if life.fixed_by is None else Status.FIXED


def _judge(
    life: Life, fingerprint: str, entry: CatalogueEntry, cost: Cost, *, show_all: bool, is_whole_tree: bool
) -> Verdict:
    observation = life.observation
    message, suggestion = entry.variant(observation.variant).fill(_values(observation))
    finding = Finding(
        observation=observation,
        severity=_severity(life, entry),
        confidence=_confidence(life),
        status=status_of(life),
        patch=life.introduced_by or life.fixed_by,
        fixed_by=life.fixed_by,
        message=message,
        suggestion=suggestion,
        cost=cost,
        fingerprint=fingerprint,
    )
    return Verdict(
        finding=finding,
        life=life,
        held_back="" if show_all else _why_held_back(finding, entry, is_whole_tree=is_whole_tree),
    )


def _confidence(life: Life) -> Confidence:
    """Hunks alone do not tell what stands between them."""
    most = Confidence.HIGH if life.tree.is_complete else Confidence.MEDIUM
    return min(life.observation.confidence, most, key=lambda confidence: confidence.rank)


def _severity(life: Life, entry: CatalogueEntry) -> Severity:
    if life.introduced_by is not None and life.fixed_by is not None:
        return Severity.NOTE
    weight = entry.variant(life.observation.variant).severity_for(life.observation.arch)
    return Severity(weight.value)


def _why_held_back(finding: Finding, entry: CatalogueEntry, *, is_whole_tree: bool) -> str:
    variant = finding.observation.variant
    if finding.status is Status.EXISTING and not is_whole_tree:
        return NOT_CHANGED
    if entry.variant(variant).is_hint:
        return "a hint, shown on demand"
    threshold = min(entry.threshold(variant, arch) for arch in finding.observation.arch or (None,))
    if finding.cost.cycles.typ < threshold:
        return f"below the threshold of {plural(threshold, 'cycle', f'{threshold:g}')}"
    return ""


def _values(observation: Observation) -> dict[str, str]:
    place = observation.place
    values = {
        "callee": observation.callee or "",
        "function": place.function,
        "path": place.path,
        "line": str(place.line),
        "bytes": "" if observation.size_bytes is None else str(observation.size_bytes),
        "pairs": "" if observation.pairs is None else str(observation.pairs),
        "direction": (observation.direction or "").replace("_", "/"),
        "arch": ", ".join(observation.arch),
        "condition": observation.condition or "",
    }
    return values | dict(observation.facts)


def _order(verdict: Verdict) -> tuple[int, str, int, int, str, str]:
    finding = verdict.finding
    place = finding.place
    return finding.patch or 0, place.path, place.line, place.column, finding.rule, finding.fingerprint
