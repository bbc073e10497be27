"""Follows a folder of list mail: puts series together, waits until they are complete, reviews them and answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from reviewbot.delivery.hygiene import why_not_answer
from reviewbot.delivery.jobs import Job, Jobs
from reviewbot.delivery.lineage import newer_version, note_series, note_tokens, series_key, subject_tokens, tokens_of
from reviewbot.delivery.mail_store import Arrival, keep_mail, series_mails, thread_of
from reviewbot.delivery.settings import ListSettings
from reviewbot.delivery.verdicts import Voice, put_remarks, remarks
from reviewbot.errors import FetchError, InputError, ReviewbotError
from reviewbot.findings.review import Review
from reviewbot.frontends.job_loop import JobLoop
from reviewbot.frontends.mail_sources import NewMail, Source
from reviewbot.frontends.patchwork_watch import Finder, Reviewer
from reviewbot.frontends.watching import Desk, deliver
from reviewbot.mail.decode import decode_message
from reviewbot.mail.message import Message
from reviewbot.series.patch import Series
from reviewbot.series.subject import Subject, parse_subject

_BATCH = 50  # mails in one transaction
_BATCH_BYTES = 16 << 20
_SIBLING_S = 20 * 60.0  # mails of one series that are not threaded come within this time


class MailWatcher:
    """One source of mail. `lists` are the lists that are not muted, by name; mail of other lists is passed over."""

    def __init__(
        self,
        desk: Desk,
        source: Source,
        lists: Mapping[str, ListSettings],
        voice: Voice,
        *,
        find: Finder,
        review: Reviewer,
    ) -> None:
        self._desk = desk
        self._source = source
        self._lists = {name: each for name, each in lists.items() if each.address and not each.mute}
        self._voice = voice
        self._find = find
        self._review = review
        self._jobs = Jobs(desk.ledger, source.name)
        self._loop = JobLoop(desk=desk, jobs=self._jobs, lists=self._lists, handle=self._handle, give_up=self._give_up)

    def poll(self) -> None:
        """One round: new mails, then the reviews that are due, then the outbox."""
        self._jobs.recover()
        trouble: FetchError | None = None
        for step in (self._read, self._loop.work):
            try:
                step()
            except FetchError as error:
                trouble = trouble or error
        deliver(self._desk)
        if trouble is not None:
            raise trouble

    def _read(self) -> None:
        now = self._desk.clock.now
        look_back_s = self._desk.bot.look_back_days * 86400
        batch: list[NewMail] = []
        for mail in self._source.new_mails(self._desk.ledger, now(), look_back_s):
            batch.append(mail)
            if len(batch) >= _BATCH or sum(len(each.raw or b"") for each in batch) > _BATCH_BYTES:
                self._take_in_all(batch)
                batch = []
            if self._desk.clock.is_stopping:
                break
        self._take_in_all(batch)

    def _take_in_all(self, batch: Sequence[NewMail]) -> None:
        now = self._desk.clock.now()
        with self._desk.ledger.transaction():
            for mail in batch:
                self._take_in(mail, now)
                self._source.done(self._desk.ledger, mail, now)

    def _take_in(self, mail: NewMail, now: float) -> None:
        """Stores one mail and plans the review of its series, all in the caller's transaction."""
        if mail.raw is None:
            self._desk.log.warning("mail", origin=mail.origin, reason="too large, passed over")
            return
        message = _with_id(decode_message(mail.raw, mail.origin), mail.raw)
        name = self._list_of(message)
        is_own = self._voice.own.is_own_message_id(message.message_id)
        reason = why_not_answer(message, self._voice.own)
        subject = parse_subject(message.subject)
        if name is None:
            if is_own:  # proof that it arrived, whatever list it came by
                keep_mail(
                    self._desk.ledger, Arrival(message=message, raw=b"", at=now, place=""), is_own=True, with_text=False
                )
            return
        wanted = reason is None and subject.is_patch and not subject.is_reply and not subject.is_pull
        arrival = Arrival(message=message, raw=mail.raw, at=now, place=name)
        is_new = keep_mail(self._desk.ledger, arrival, is_own=is_own, with_text=reason is None)
        if is_new and wanted:
            self._plan(arrival, subject)
        elif reason is not None:
            self._desk.log.info("passed over", origin=mail.origin, subject=message.subject, reason=reason)

    def _list_of(self, message: Message) -> str | None:
        """The name of the list that the mail came by: its List-Id or an address in To or Cc."""
        list_id = (message.header("List-Id") or "").lower()
        addresses = {each.email for each in (*message.to, *message.cc)}
        for name, where in self._lists.items():
            local, _, domain = where.address.lower().partition("@")
            if where.address.lower() in addresses or f"<{local}.{domain}>" in list_id:
                return name
        return None

    def _plan(self, arrival: Arrival, subject: Subject) -> None:
        """A job for a new series, or one more mail for a series that waits for its parts."""
        message, now = arrival.message, arrival.at
        tokens = subject_tokens(message.author.email, message.subject)
        note_tokens(self._desk.ledger, tokens, f"mail {message.message_id}", subject.version, arrival.place, now)
        group = self._waiting_group(arrival, subject)
        parts: dict[str, str] = dict(group.payload["parts"]) if group else {}
        parts[str(subject.index)] = message.message_id
        payload = {
            "list": arrival.place,
            "sender": message.sender.email,
            "version": subject.version,
            "total": subject.total,
            "thread": group.payload["thread"] if group else thread_of(message),
            "parts": parts,
        }
        is_complete = all(str(index) in parts for index in range(1, subject.total + 1))
        wait_s = 0.0 if is_complete else self._desk.bot.complete_within_minutes * 60
        due_at = now + max(wait_s, self._lists[arrival.place].delay_minutes * 60)
        if group is not None:
            self._jobs.update(group.key, payload, due_at=due_at)
        else:
            self._jobs.add(message.message_id, payload, now=now, due_at=due_at)

    def _waiting_group(self, arrival: Arrival, subject: Subject) -> Job | None:
        """The waiting job of the series that this mail is a part of: same sender (patches may have other authors),
        version
        and total, no such number yet, and the same thread or nearly the same time."""
        sender, thread = arrival.message.sender.email, thread_of(arrival.message)
        for job in self._jobs.waiting() if subject.total > 1 else ():
            value = job.payload
            same = (value["list"], value["sender"], value["version"], value["total"]) == (
                arrival.place, sender, subject.version, subject.total,
            )  # fmt: skip
            near = value["thread"] == thread or arrival.at - job.created_at < _SIBLING_S
            if same and near and str(subject.index) not in value["parts"]:
                return job
        return None

    def _handle(self, job: Job, where: ListSettings) -> None:
        name, parts = job.payload["list"], tuple(job.payload["parts"].values())
        series = self._series_of(parts, name)
        if series is None:
            self._loop.drop(job, "no patch in it")
            return
        note_series(self._desk.ledger, series, name, job.created_at)
        newer = newer_version(self._desk.ledger, tokens_of(series), series.version, name, job.created_at)
        if newer is not None:
            self._loop.drop(job, f"version {newer.version} is out")
            return
        self._finish(job, series, self._review(series, where), where)

    def _series_of(self, parts: tuple[str, ...], name: str) -> Series | None:
        try:
            return _choose(self._find(series_mails(self._desk.ledger, parts, name)), parts)
        except InputError:  # none of the mails is a patch
            return None

    def _finish(self, job: Job, series: Series, review: Review, where: ListSettings) -> None:
        """Every word and the end of the job in one transaction: a kill leaves all of it or nothing."""
        desk, name = self._desk, job.payload["list"]
        with desk.ledger.transaction():
            new = 0
            if where.mail:
                found = remarks(review, series, self._voice, where, desk.ledger, desk.clock.now())
                new = put_remarks(desk.outbox, desk.ledger, found, where=where, place=name, series=series)
            self._jobs.finish(job, "done")
        desk.pulse.counts["reviewed"] += 1
        outcomes = ", ".join(f"{each.index} {each.outcome.value}" for each in review.patches)
        desk.log.info(
            "reviewed",
            series=series_key(series),
            list=name,
            subject=series.subject,
            findings=len(review.findings),
            mails=new,
            dry_run=where.dry_run,
            outcomes=outcomes,
        )
        deliver(desk)

    def _give_up(self, job: Job, where: ListSettings, error: ReviewbotError) -> None:
        """A mail that tells of our own troubles helps nobody."""
        self._jobs.finish(job, "failed", str(error))


def _choose(found: Sequence[Series], parts: tuple[str, ...]) -> Series | None:
    """The series that holds most of the mails in question."""
    wanted = set(parts)

    def held(series: Series) -> int:
        return len(wanted & {patch.message_id for patch in series.patches})

    best = max(found, key=held, default=None)
    return best if best is not None and held(best) else None


def _with_id(message: Message, raw: bytes) -> Message:
    """A mail without a Message-ID gets one from its content: without a name it could not be remembered."""
    if message.message_id:
        return message
    return replace(message, message_id=f"{hashlib.sha256(raw).hexdigest()[:32]}@no-message-id.invalid")
