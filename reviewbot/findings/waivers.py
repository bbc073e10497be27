"""Findings that are known and accepted: waivers with a reason, and the baseline of an old tree, hold them back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from reviewbot.config import Layer, resolve_tables
from reviewbot.errors import ConfigError
from reviewbot.findings.finding import Finding, HeldBack
from reviewbot.findings.review import Review
from reviewbot.grammar import plural
from reviewbot.values import dataclass

BASELINE_VERSION = 2
MAX_BASELINE_BYTES = 200_000_000
MAX_UNUSED = 10  # entries of a baseline that match nothing and are named
IN_BASELINE = "in the baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """[[waivers]] of a settings file. What is not given matches everything; `path` may hold `*` and `?`. After the day
    `until` the waiver counts no more."""

    reason: str
    rule: str | None = None
    path: str | None = None
    function: str | None = None
    callee: str | None = None
    fingerprint: str | None = None
    until: date | None = None

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ValueError("reason must say why the finding is accepted")
        if not any((self.rule, self.path, self.function, self.callee, self.fingerprint)):
            raise ValueError("a waiver must name a rule, path, function, callee or fingerprint")

    def is_in_force(self, today: date) -> bool:
        """Whether it counts on that day."""
        return self.until is None or today <= self.until

    def matches(self, finding: Finding) -> bool:
        """Whether everything that the waiver names is true of the finding."""
        wanted = (
            (self.rule, finding.rule),
            (self.function, finding.place.function),
            (self.callee, finding.observation.callee),
            (self.fingerprint, finding.fingerprint),
        )
        if any(value is not None and value != actual for value, actual in wanted):
            return False
        return self.path is None or fnmatchcase(finding.place.path, self.path)

    def __str__(self) -> str:
        names = ("rule", "path", "function", "callee", "fingerprint")
        return ", ".join(f"{name} {getattr(self, name)}" for name in names if getattr(self, name))


def read_waivers(layers: Sequence[Layer]) -> tuple[Waiver, ...]:
    """The waivers of all layers in order. Raises ConfigError that names file and entry."""
    return resolve_tables("waivers", Waiver, layers)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Known:
    """One entry of a baseline: a finding that was there when it was written."""

    path: str
    function: str
    rule: str
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.rule} in {self.path}" + (f", {self.function}()" if self.function else "")


Baseline = Mapping[str, Known]


def why_accepted(finding: Finding, waivers: Iterable[Waiver], baseline: Baseline, today: date) -> str:
    """The reason why this finding is not to be reported, or ""."""
    waiver = next((each for each in waivers if each.is_in_force(today) and each.matches(finding)), None)
    if waiver is not None:
        return f"waived: {waiver.reason}"
    return IN_BASELINE if finding.fingerprint in baseline else ""


def hold_back(review: Review, waivers: Sequence[Waiver], baseline: Baseline, today: date) -> Review:
    """The review without the findings that are accepted; each is kept, with the reason, in `held_back`.

    A waiver that has expired is said in `notes`; in a scan so is what matches nothing in the part that was scanned.
    """
    reasons = [why_accepted(finding, waivers, baseline, today) for finding in review.findings]
    judged = list(zip(review.findings, reasons, strict=True))
    held = tuple(HeldBack(finding=finding, reason=reason) for finding, reason in judged if reason)
    notes = [f"Waiver expired on {each.until}: {each}." for each in waivers if not each.is_in_force(today)]
    if review.series is None:
        everything = [*review.findings, *(entry.finding for entry in review.held_back)]
        notes += _unused(everything, [each for each in waivers if each.is_in_force(today)], baseline, review)
    kept = tuple(finding for finding, reason in judged if not reason)
    return replace(review, findings=kept, held_back=(*review.held_back, *held), notes=(*review.notes, *notes))


def _unused(
    findings: Sequence[Finding], waivers: Sequence[Waiver], baseline: Baseline, review: Review
) -> Iterator[str]:
    """What matches none of the findings. Of a scan of a part, a waiver may match elsewhere; a baseline entry says
    where."""
    if not review.below:
        for waiver in waivers:
            if not any(waiver.matches(finding) for finding in findings):
                yield f"Waiver matches nothing: {waiver}."
    seen = {finding.fingerprint for finding in findings}
    unused = sorted(each for each in baseline.values() if each.fingerprint not in seen and _is_judged(each, review))
    for each in unused[:MAX_UNUSED]:
        yield f"Baseline entry matches nothing: {each}."
    if len(unused) > MAX_UNUSED:
        rest = len(unused) - MAX_UNUSED
        yield f"Baseline: {plural(rest, 'more entry')} {'matches' if rest == 1 else 'match'} nothing."


def _is_judged(known: Known, review: Review) -> bool:
    """Whether the review would have found it again: it scanned that file, and in full."""
    if review.series is not None or any(gap.path == known.path for gap in review.gaps):
        return False
    return not review.below or any(known.path == each or known.path.startswith(f"{each}/") for each in review.below)


def new_baseline(review: Review, old: Baseline) -> str:
    """The baseline file for what a review reports or holds back as known. Entries of the old one about which it can
    tell nothing stay: those outside of what a scan has read, and all of them where there was no scan."""
    known = [entry.finding for entry in review.held_back if entry.reason == IN_BASELINE]
    return to_baseline([*review.findings, *known], (each for each in old.values() if not _is_judged(each, review)))


def to_baseline(findings: Iterable[Finding], others: Iterable[Known] = ()) -> str:
    """The baseline file for these findings, one line each, sorted, so that its own history can be read."""
    rows = sorted({*others, *map(_to_known, findings)})
    entries = [
        {"fingerprint": each.fingerprint, "rule": each.rule, "path": each.path, "function": each.function}
        for each in rows
    ]
    lines = ",\n".join(f"  {json.dumps(entry)}" for entry in entries)
    body = f"[\n{lines}\n]" if lines else "[]"
    return f'{{"baseline_version": {BASELINE_VERSION}, "findings": {body}}}\n'


def _to_known(finding: Finding) -> Known:
    place = finding.place
    return Known(path=place.path, function=place.function, rule=finding.rule, fingerprint=finding.fingerprint)


def read_baseline(path: Path) -> Baseline:
    """The entries of a baseline file by their fingerprints. Raises ConfigError that names it."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BASELINE_BYTES + 1)
        loaded = json.loads(raw)
        if loaded["baseline_version"] != BASELINE_VERSION:
            raise ConfigError(
                f"{path}: its baseline_version is not {BASELINE_VERSION}, and fingerprints have changed since; "
                "write it again with --write-baseline."
            )
        return {str(entry["fingerprint"]): _read_known(entry) for entry in loaded["findings"]}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(f"{path}: not a baseline; --write-baseline makes one.") from error


def _read_known(entry: Mapping[str, object]) -> Known:
    names = ("path", "function", "rule", "fingerprint")
    return Known(**{name: str(entry[name]) for name in names})
