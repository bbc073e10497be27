"""Findings that are known and accepted: waivers with a reason, and the baseline of an old tree, hold them back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from reviewbot.config import Layer, resolve_tables
from reviewbot.errors import ConfigError
from reviewbot.findings.finding import Finding, HeldBack
from reviewbot.findings.review import Review

BASELINE_VERSION = 1
MAX_BASELINE_BYTES = 200_000_000


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


def hold_back(review: Review, waivers: Sequence[Waiver], baseline: frozenset[str], today: date) -> Review:
    """The review without the findings that are accepted; each is kept, with the reason, in `held_back`.

    A waiver that has expired is said in `notes`; in a scan of a whole tree so is one that matches nothing.
    """
    in_force = [waiver for waiver in waivers if waiver.until is None or today <= waiver.until]
    used: set[Waiver] = set()
    kept: list[Finding] = []
    held: list[HeldBack] = []
    for finding in review.findings:
        waiver = next((waiver for waiver in in_force if waiver.matches(finding)), None)
        if waiver is not None:
            used.add(waiver)
            held.append(HeldBack(finding=finding, reason=f"waived: {waiver.reason}"))
        elif finding.fingerprint in baseline:
            held.append(HeldBack(finding=finding, reason="in the baseline"))
        else:
            kept.append(finding)
    notes = [f"Waiver expired on {each.until}: {each}." for each in waivers if each not in in_force]
    if review.series is None:
        notes += [f"Waiver matches nothing: {each}." for each in in_force if each not in used]
    return replace(review, findings=tuple(kept), held_back=(*review.held_back, *held), notes=(*review.notes, *notes))


def to_baseline(findings: Iterable[Finding]) -> str:
    """The baseline file for these findings, one line each, sorted, so that its own history can be read."""
    rows = sorted({(each.place.path, each.place.function, each.rule, each.fingerprint) for each in findings})
    entries = [
        {"fingerprint": fingerprint, "rule": rule, "path": path, "function": function}
        for path, function, rule, fingerprint in rows
    ]
    lines = ",\n".join(f"  {json.dumps(entry)}" for entry in entries)
    body = f"[\n{lines}\n]" if lines else "[]"
    return f'{{"baseline_version": {BASELINE_VERSION}, "findings": {body}}}\n'


def read_baseline(path: Path) -> frozenset[str]:
    """The fingerprints of a baseline file. Raises ConfigError that names it."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BASELINE_BYTES + 1)
        loaded = json.loads(raw)
        if loaded["baseline_version"] != BASELINE_VERSION:
            raise ConfigError(f"{path}: baseline_version is not {BASELINE_VERSION}; write the baseline again.")
        return frozenset(str(entry["fingerprint"]) for entry in loaded["findings"])
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(f"{path}: not a baseline; --write-baseline makes one.") from error
