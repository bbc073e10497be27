"""The sentences that all formats share: verdict, cost, place, what was not reviewed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from reviewbot.findings.finding import Cost, Cycles, Finding, Gap, HeldBack, Link, Severity, Status
from reviewbot.findings.review import Count, Outcome, PatchResult, Review
from reviewbot.findings.triage import NOT_CHANGED
from reviewbot.grammar import plural

OUTCOMES = {
    Outcome.REVIEWED: "reviewed",
    Outcome.PARTIAL: "reviewed in part",
    Outcome.NOT_APPLIED: "did not apply",
    Outcome.NOTHING_TO_REVIEW: "no user access touched",
    Outcome.NOT_KERNEL: "not a kernel patch",
    Outcome.MISSING: "missing",
    Outcome.UNREADABLE: "could not be read",
}
MANY = 4  # more patches than this are counted, not listed, in a sentence
COMPLETE = frozenset({Outcome.REVIEWED, Outcome.NOTHING_TO_REVIEW})
LOOKED_AT = COMPLETE | {Outcome.PARTIAL}


def is_complete(review: Review) -> bool:
    """Whether everything that was handed in was reviewed in full."""
    return not review.gaps and all(patch.outcome in COMPLETE for patch in review.patches)


def is_open(finding: Finding) -> bool:
    """Whether it still stands after the last patch."""
    return finding.status is not Status.FIXED and finding.fixed_by is None


def open_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Findings that still stand after the last patch."""
    return [finding for finding in findings if is_open(finding)]


def in_reading_order(findings: Iterable[Finding]) -> list[Finding]:
    """What stands first, then what a later patch mends, then what the series fixes; else as it was."""
    return sorted(findings, key=lambda each: (each.status is Status.FIXED, each.fixed_by is not None))


def number_of(patch: int | None, review: Review) -> str:
    """`3/8` for the patch with index 3."""
    total = review.series.total if review.series else len(review.patches)
    return f"{patch}/{max(total, len(review.patches))}"


def place(finding: Finding) -> str:
    """`fs/readdir.c:12:4`."""
    return f"{finding.place.path}:{finding.place.line}:{finding.place.column}"


def step(link: Link) -> str:
    """What happens at one step of a chain: `calls flush_it`; the name is not said twice."""
    if link.name and link.name in link.what:
        return link.what
    return f"{link.what} {link.name}".strip() or "here"


def step_place(link: Link, finding: Finding) -> str:
    """`line 12` in the finding's own file, else `fs/readdir.c:12`."""
    if link.place.path == finding.place.path:
        return f"line {link.place.line}"
    return f"{link.place.path}:{link.place.line}"


def history(finding: Finding, review: Review) -> str:
    """Which patch brought it, and which one mends it; where there is only one, it needs no number."""
    patch = finding.patch if len(review.patches) > 1 else None
    if finding.status is Status.FIXED:
        return f"fixed by patch {number_of(patch, review)}" if patch else "fixed"
    if finding.status is Status.EXISTING:
        words = "was there before" if review.patches else "in the tree"
    else:
        words = f"new in patch {number_of(patch, review)}" if patch else "new"
    return f"{words}, fixed by {number_of(finding.fixed_by, review)}" if finding.fixed_by else words


def conditions(finding: Finding) -> str:
    """Where the finding holds: architectures and #if condition, or ""."""
    parts = []
    if finding.observation.arch:
        parts.append("on " + ", ".join(finding.observation.arch))
    if finding.observation.condition:
        parts.append(f"with {finding.observation.condition}")
    return " ".join(parts)


def figure(value: float) -> str:
    """A number as people write it: no false digits, thousands apart."""
    if value < 10 and value != round(value):
        return f"{value:.1f}"
    return f"{value:,.0f}"


def interval(cycles: Cycles, unit: str = "") -> str:
    """`260 cycles (208 to 300)`; in another `unit`, `68 ns (55 to 79)`."""
    typical = figure(cycles.typ)
    words = f"{typical} {unit}" if unit else plural(1 if typical == "1" else 2, "cycle", typical)
    if cycles.low == cycles.high:
        return words
    return f"{words} ({figure(cycles.low)} to {figure(cycles.high)})"


def cost(value: Cost) -> str:
    """`260 cycles (208 to 300) per execution on power9, 68 ns; medium confidence`."""
    words = f"{interval(value.cycles)} per {value.per.value} on {value.cpu}"
    if value.ns is not None:
        words += f", {interval(value.ns, 'ns')}"
    return f"{words}; {value.confidence.value} confidence"


def called(function: str) -> str:
    """`write_frame()`; a name that has its parentheses, such as that of a system call, stays as it is."""
    return function if function.endswith(")") else f"{function}()"


def pairs(count: Count | None) -> str:
    """`3`, `2 to 5 (typically 3)`, `1 + 3·n`, `3 (1 read, 2 write)`, or `-` where the function does not exist."""
    if count is None:
        return "-"
    low, typical, high = count.pairs
    aside = ": ".join(part for part in ("" if low == high else f"typically {typical}", _directions(count)) if part)
    fixed = (str(low) if low == high else f"{low} to {high}") + (f" ({aside})" if aside else "")
    if not count.per_iteration:
        return fixed
    return count.per_iteration if high == 0 else f"{fixed} + {count.per_iteration}"


def _directions(count: Count) -> str:
    """`1 read, 2 write` of the typical way, where the architecture tells them apart; `read` where all are."""
    if count.reads is None or count.writes is None:
        return ""
    read, write = count.reads[1], count.writes[1]
    parts = ((read, "read"), (write, "write"), (count.pairs[1] - read - write, "both ways"))
    there = [(number, word) for number, word in parts if number]
    return there[0][1] if len(there) == 1 else ", ".join(f"{number} {word}" for number, word in there)


def gap_place(gap: Gap, review: Review) -> str:
    """`patch 2/8, fs/readdir.c:12 in filldir()`, with what is known of it."""
    where = f"{gap.path}:{gap.line}" if gap.path and gap.line else gap.path
    inside = f"{gap.function}()" if gap.function else ""
    patch = f"patch {number_of(gap.patch, review)}" if gap.patch and len(review.patches) > 1 else ""
    return ", ".join(part for part in (patch, " in ".join(part for part in (where, inside) if part)) if part)


def held_back(entries: Iterable[HeldBack]) -> list[str]:
    """`3 held back: lines the series does not touch`, most frequent first."""
    counts = Counter(entry.reason for entry in entries)
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return [f"{count} held back: {reason}" for reason, count in ordered]


def not_reviewed(review: Review) -> list[str]:
    """One phrase for each kind of thing that was not reviewed in full."""
    phrases = []
    for outcome in Outcome:
        indexes = [number_of(patch.index, review) for patch in review.patches if patch.outcome is outcome]
        if indexes and outcome not in COMPLETE:
            phrases.append(f"{_which(indexes, len(review.patches))} {OUTCOMES[outcome]}")
    if review.gaps:
        phrases.append(plural(len(review.gaps), "gap"))
    return phrases


def _which(indexes: list[str], total: int) -> str:
    if len(indexes) == total:
        return "the patch" if total == 1 else f"all {total} patches"
    if len(indexes) > MANY:
        return f"{len(indexes)} of {total} patches"
    return f"{'patch' if len(indexes) == 1 else 'patches'} {', '.join(indexes)}"


def patch_findings(review: Review, patch: PatchResult) -> list[Finding]:
    """The findings that belong to one patch."""
    return [finding for finding in review.findings if finding.patch == patch.index]


def verdict(review: Review) -> str:
    """The last line of a report. It never sounds clean when something was not reviewed."""
    missed = not_reviewed(review)
    words = _found(review)
    if missed:
        return f"{words} Not reviewed in full: {'; '.join(missed)}."
    return words


def _found(review: Review) -> str:
    still_open = open_findings(review.findings)
    later = sum(1 for each in review.findings if each.fixed_by is not None and each.status is not Status.FIXED)
    fixed = sum(1 for each in review.findings if each.status is Status.FIXED)
    if still_open:
        words = f"{plural(len(still_open), 'finding')} ({_by_severity(still_open)})"
    elif review.held_back:
        words = _all_held_back(review)
    elif review.patches and all(patch.outcome is Outcome.NOTHING_TO_REVIEW for patch in review.patches):
        words = "Nothing to review: no user access is touched"
    elif review.patches and not any(patch.outcome in LOOKED_AT for patch in review.patches):
        words = "Nothing was reviewed"
    elif not_reviewed(review):
        words = "No finding in what was reviewed"
    else:
        words = "Reviewed in full, no finding"
    extra = [f"{later} more fixed later in the series"] if later else []
    extra += [f"the series fixes {fixed}"] if fixed else []
    return "; ".join([words, *extra]) + "."


def _all_held_back(review: Review) -> str:
    """Why there is nothing to see although something was found."""
    count = len(review.held_back)
    if all(entry.reason == NOT_CHANGED for entry in review.held_back):
        return f"No finding in what the series changes; {plural(count, 'older one')} held back (--all shows them)"
    return f"No finding to report, {count} held back"


def _by_severity(findings: Iterable[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(plural(counts[severity], severity.value) for severity in Severity if counts[severity])
