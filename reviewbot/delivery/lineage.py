"""Which series are versions of one work, and what has been said about an earlier one to whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reviewbot.delivery.ledger import Ledger
from reviewbot.series.patch import Series
from reviewbot.series.subject import parse_subject
from reviewbot.values import dataclass

_SLACK_S = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Newer:
    """A later version of a series."""

    series: str
    version: int


def series_key(series: Series) -> str:
    """What names one version of a series for us: the Message-ID of its cover, or of its first patch."""
    return series.message_id or next((patch.message_id for patch in series.patches), "")


def tokens_of(series: Series) -> tuple[str, ...]:
    """What two versions of a work have in common: the change-id, or author and subject of the cover or of any patch."""
    author = _author(series)
    tokens = [token for subject in (series.subject, *(patch.subject for patch in series.patches))
              for token in subject_tokens(author, subject)]  # fmt: skip
    if series.change_id:
        tokens.insert(0, f"change {series.change_id}")
    return tuple(dict.fromkeys(tokens))


def subject_tokens(author: str, subject: str) -> tuple[str, ...]:
    """The token of one mail of a series; none for an empty subject, which must not match anything."""
    folded = fold_subject(subject)
    return (f"subject {author} {folded}",) if folded else ()


def fold_subject(subject: str) -> str:
    """A subject without tags, case and blanks, so that versions compare equal; "" for an empty one, which matches
    nothing."""
    return " ".join(parse_subject(subject).title.lower().split())


def note_series(ledger: Ledger, series: Series, place: str, at: float) -> None:
    """Remembers a version of a series, seen on a list or in a project at the time `at`."""
    note_tokens(ledger, tokens_of(series), series_key(series), series.version, place, at)


def note_tokens(ledger: Ledger, tokens: Sequence[str], key: str, version: int, place: str, at: float) -> None:
    """The same from the tokens alone: a mail of a series tells that a version exists before the series is complete."""
    with ledger.transaction():
        for token in tokens:
            ledger.change("INSERT OR IGNORE INTO lineage VALUES (?, ?, ?, ?, ?)", token, key, version, place, at)


def newer_version(ledger: Ledger, tokens: Sequence[str], version: int, place: str, since: float) -> Newer | None:
    """The newest later version of the work with these tokens, seen at the same place and not long before `since` (an
    older
    work may have had the same subject)."""
    rows = ledger.rows(
        f"SELECT series, version FROM lineage WHERE token IN ({_marks(tokens)}) AND place = ? AND version > ?"
        " AND at > ? ORDER BY version DESC LIMIT 1",
        *tokens, place, version, since - _SLACK_S,
    )  # fmt: skip
    return Newer(series=rows[0]["series"], version=rows[0]["version"]) if rows else None


def overtaken_by(ledger: Ledger, series: str, place: str) -> Newer | None:
    """The newest later version of a series that was noted under its key."""
    rows = ledger.rows("SELECT token, version, at FROM lineage WHERE series = ? AND place = ?", series, place)
    if not rows:
        return None
    return newer_version(ledger, [row["token"] for row in rows], rows[0]["version"], place, rows[0]["at"])


def already_said(ledger: Ledger, tokens: Sequence[str], reader: str, fingerprints: Iterable[str]) -> frozenset[str]:
    """Those fingerprints that this reader has been, or is about to be, told about any version of the work."""
    wanted = list(fingerprints)
    rows = ledger.rows(
        "SELECT DISTINCT said.fingerprint FROM said JOIN outbox ON outbox.id = said.outbox"
        " JOIN lineage ON lineage.series = said.series"
        " WHERE outbox.state IN ('pending', 'sending', 'uncertain', 'sent')"
        f" AND said.reader = ? AND lineage.token IN ({_marks(tokens)}) AND said.fingerprint IN ({_marks(wanted)})",
        reader.lower(), *tokens, *wanted,
    )  # fmt: skip
    return frozenset(str(row["fingerprint"]) for row in rows)


def note_said(ledger: Ledger, outbox: int, series: str, reader: str, fingerprints: Iterable[str]) -> None:
    """Remembers, with the outbox item that says it, what a reader is told."""
    for fingerprint in fingerprints:
        ledger.change("INSERT OR IGNORE INTO said VALUES (?, ?, ?, ?)", outbox, reader.lower(), fingerprint, series)


def _author(series: Series) -> str:
    if series.cover is not None:
        return series.cover.author.email
    return next((patch.author.email for patch in series.patches if patch.author.email), "")


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
