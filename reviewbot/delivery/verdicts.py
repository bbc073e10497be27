"""A Review as what will be said: one check for every patch of a series, and the mails that are worth sending."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from reviewbot.delivery.checks import check_draft
from reviewbot.delivery.hygiene import Identity
from reviewbot.delivery.ledger import Ledger
from reviewbot.delivery.lineage import already_said, note_said, series_key, tokens_of
from reviewbot.delivery.outbox import Draft, Outbox
from reviewbot.delivery.patchwork_records import CheckState, PatchRecord, SeriesRecord
from reviewbot.delivery.reply import Reply, to_reply
from reviewbot.delivery.settings import ListSettings, Mails, MailSection, PatchworkSection, Recipients
from reviewbot.delivery.smtp import mail_draft
from reviewbot.findings.finding import Finding, Status
from reviewbot.findings.review import Review
from reviewbot.mail.message import Message
from reviewbot.report import mail as mail_report
from reviewbot.report import patchwork as check_report
from reviewbot.report.phrases import open_findings
from reviewbot.report.view import View
from reviewbot.series.patch import Series
from reviewbot.values import dataclass

_DESCRIPTION_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """How we speak: our identity, the mail settings, how reports look, and the version of the rules."""

    mail: MailSection
    own: Identity
    view: View
    rules_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A mail that is ready, with the fingerprints of what it says; `slot` is the Message-ID it answers, or 'series'."""

    reply: Reply
    slot: str
    fingerprints: tuple[str, ...]


def check_drafts(
    review: Review, record: SeriesRecord, server: str, section: PatchworkSection
) -> tuple[tuple[Draft, ...], tuple[PatchRecord, ...]]:
    """(a check for every patch that the review speaks of, the server's patches it does not speak of)."""
    words = {each.patch: each for each in check_report.checks(review)}
    by_message_id = {result.message_id: words[result.index] for result in review.patches if result.index in words}
    drafts, silent = [], []
    for patch in record.patches:
        check = by_message_id.get(patch.message_id)
        if check is None:
            silent.append(patch)
            continue
        drafts.append(draft_for(patch, record, server, section, CheckState(check.state), check.description))
    return tuple(drafts), tuple(silent)


def draft_for(
    patch: PatchRecord,
    record: SeriesRecord,
    server: str,
    section: PatchworkSection,
    state: CheckState,
    description: str,
) -> Draft:
    """One check as a draft."""
    target = section.target_url.replace("{series}", str(record.id)).replace("{patch}", str(patch.id))
    return check_draft(
        server=server,
        patch_id=patch.id,
        context=section.context,
        state=state,
        description=description[:_DESCRIPTION_LONGEST],
        target_url=target,
        series=str(record.id),
        subject=patch.name,
    )


def remarks(
    review: Review, series: Series, voice: Voice, where: ListSettings, ledger: Ledger | None, now: float
) -> tuple[Remark, ...]:
    """The mails about a review: only what reaches the list's thresholds and is new to the reader; perhaps none.

    Findings in one patch are a reply to that patch. Where several patches have some, `where.mails` decides between
    one mail to
    the cover and one to each patch.
    """
    parents = _parents(series)
    worthy = _worthy(review, where)
    reader = reader_of(series, where)
    if ledger is not None and reader and worthy:
        known = already_said(ledger, tokens_of(series), reader, (each.fingerprint for each in worthy))
        worthy = tuple(each for each in worthy if each.fingerprint not in known)
    if not worthy:
        return ()
    narrowed = replace(review, findings=worthy)
    replies = [each for each in mail_report.replies(narrowed, voice.view) if each.patch in parents]
    if len(replies) > 1 and where.mails is Mails.ONE_PER_SERIES:
        replies = [mail_report.summary(narrowed, voice.view)]
    made = (_remark(each, worthy, parents, series, voice, where, now) for each in replies)
    return tuple(each for each in made if each is not None)


def put_remarks(
    outbox: Outbox, ledger: Ledger, found: Iterable[Remark], *, where: ListSettings, place: str, series: Series
) -> int:
    """Writes the mails into the outbox together with what they say; the number that is new."""
    key, new = series_key(series), 0
    with ledger.transaction():
        for remark in found:
            draft = mail_draft(remark.reply, place=place, series=key, slot=remark.slot)
            number = outbox.put(draft, once=True, dry_run=where.dry_run)
            if number is not None:
                note_said(ledger, number, key, reader_of(series, where), remark.fingerprints)
                new += 1
    return new


def reader_of(series: Series, where: ListSettings) -> str:
    """The person whose memory counts when something is not to be said twice: the author, or who reads in their
    place."""
    if where.recipients is Recipients.ONLY_CC:
        return next(iter(where.cc), "")
    if series.cover is not None:
        return series.cover.author.email
    return next((each.author.email for each in series.patches), "")


def _worthy(review: Review, where: ListSettings) -> tuple[Finding, ...]:
    """What the series brings and leaves, at or above the list's thresholds."""
    return tuple(
        finding
        for finding in open_findings(review.findings)
        if finding.status is Status.INTRODUCED
        and finding.severity.rank >= where.mail_at.rank
        and finding.confidence.rank >= where.mail_confidence.rank
    )


def _remark(
    words: mail_report.Reply,
    worthy: tuple[Finding, ...],
    parents: Mapping[int | None, Message],
    series: Series,
    voice: Voice,
    where: ListSettings,
    now: float,
) -> Remark | None:
    parent = parents.get(words.patch)
    if parent is None:
        return None
    reply = to_reply(
        parent,
        words.body,
        series=series_key(series),
        rules_version=voice.rules_version,
        mail=voice.mail,
        where=where,
        own=voice.own,
        now=datetime.fromtimestamp(now, UTC),
    )
    if reply is None:
        return None
    said = tuple(each.fingerprint for each in worthy if words.patch in (None, each.patch))
    per_series = where.mails is Mails.ONE_PER_SERIES
    return Remark(reply=reply, slot="series" if per_series else parent.message_id, fingerprints=said)


def _parents(series: Series) -> dict[int | None, Message]:
    """Patch index -> its mail; None -> the cover, or the first patch."""
    parents: dict[int | None, Message] = {
        each.index: each.message for each in series.patches if each.message is not None
    }
    first = series.cover or next(iter(parents.values()), None)
    if first is not None:
        parents[None] = first
    return parents
