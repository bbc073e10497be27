"""What is in the store, for people: mails by kind, series by outcome, findings by rule and year, what went wrong."""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.backfill.store import Store
from reviewbot.report.escape import visible


def summarise(store: Store) -> str:
    """The whole summary, ending with a line end."""
    return "\n".join(_lines(store)) + "\n"


def _lines(store: Store) -> Iterator[str]:
    yield from _table("Mails", store.counts("mail", "kind"))
    yield from _table("Series", store.counts("series", "outcome"))
    yield from _table("Patches", store.counts("patch", "outcome"))
    findings = store.counts("finding", "rule", "status", "year")
    yield from _table("Findings", sorted(findings, key=lambda row: (row[0], row[1], row[2])))
    aside = store.set_aside()
    if aside:
        yield "Set aside:"
        yield from (f"  {visible(key)}: {visible(reason)}" for key, reason in aside)
    lost = store.without_outcome()
    yield f"Patch mails without an outcome: {lost}"


def _table(title: str, rows: list[tuple[object, ...]]) -> Iterator[str]:
    yield f"{title}: {sum(int(str(row[-1])) for row in rows):,}"
    for *values, count in rows:
        yield f"  {int(str(count)):>9,}  {' '.join(str(value).lower() for value in values)}"
