"""Follows the series-completed events of patchwork projects: reviews each series once and gives every patch its
verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from reviewbot.delivery.jobs import Job, Jobs
from reviewbot.delivery.lineage import fold_subject, newer_version, note_series, tokens_of
from reviewbot.delivery.outbox import Draft
from reviewbot.delivery.patchwork import Patchwork
from reviewbot.delivery.patchwork_records import CheckState, EventRecord, SeriesRecord
from reviewbot.delivery.settings import ListSettings, PatchworkSection
from reviewbot.delivery.verdicts import Voice, check_drafts, draft_for, put_remarks, remarks
from reviewbot.errors import FetchError, InputError, ReviewbotError
from reviewbot.findings.review import Outcome, Review
from reviewbot.frontends.job_loop import JobLoop
from reviewbot.frontends.watching import Desk, deliver
from reviewbot.http import StatusError
from reviewbot.mail.message import Message
from reviewbot.report.phrases import OUTCOMES
from reviewbot.series.patch import Series
from reviewbot.values import dataclass

_BATCH = 100
_OVERLAP = timedelta(minutes=10)
_PENDING = "the review is under way"
_GONE = frozenset({"superseded"})

Reviewer = Callable[[Series, ListSettings], Review]
Finder = Callable[[Sequence[Message]], tuple[Series, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A series as the server has it: its record, and what its mails say (None: no patch could be read from them)."""

    record: SeriesRecord
    series: Series | None


def fetch_series(
    server: Patchwork, series_id: int, read: Callable[[bytes, str], tuple[Message, ...]], find: Finder
) -> Fetched:
    """The series with its cover. The server's mbox of a series has no cover letter, so that is fetched beside it."""
    record = server.series(series_id)
    raw = [server.mbox(record.mbox)] if record.mbox else []
    if record.cover_mbox:
        raw.insert(0, server.mbox(record.cover_mbox))
    messages = tuple(message for data in raw for message in read(data, f"series {series_id}"))
    wanted = {patch.message_id for patch in record.patches}
    return Fetched(record=record, series=_best(find, messages, wanted))


def _best(find: Finder, messages: tuple[Message, ...], wanted: set[str]) -> Series | None:
    """The series that holds most of the server's patches; None where nothing in the mails is a patch."""
    try:
        found = [(len(wanted & {patch.message_id for patch in each.patches}), each) for each in find(messages)]
    except InputError:
        return None
    held, best = max(found, key=lambda pair: pair[0], default=(0, None))
    return best if held else None


def pending_drafts(record: SeriesRecord, section: PatchworkSection) -> tuple[Draft, ...]:
    """'pending' for every patch."""
    return tuple(draft_for(each, record, section.url, section, CheckState.PENDING, _PENDING) for each in record.patches)


def verdict_drafts(review: Review | None, record: SeriesRecord, section: PatchworkSection) -> tuple[Draft, ...]:
    """A verdict for every patch of the server, also for those that the review could not make out in the mails."""
    drafts, silent = check_drafts(review, record, section.url, section) if review else ((), record.patches)
    words = f"{OUTCOMES[Outcome.UNREADABLE]}: the mail holds no patch that git would take"
    unread = (draft_for(each, record, section.url, section, CheckState.WARNING, words) for each in silent)
    return (*drafts, *unread)


def failed_drafts(
    record: SeriesRecord, section: PatchworkSection, reason: str = "reviewbot failed on it; its keepers were told"
) -> tuple[Draft, ...]:
    """'could not be reviewed' for every patch."""
    words = f"could not be reviewed: {reason}"
    return tuple(draft_for(each, record, section.url, section, CheckState.WARNING, words) for each in record.patches)


class PatchworkWatcher:
    """One server. `lists` are the lists with a patchwork project, by name; muted ones are not even asked for."""

    def __init__(
        self,
        desk: Desk,
        server: Patchwork,
        section: PatchworkSection,
        lists: Mapping[str, ListSettings],
        voice: Voice,
        *,
        read: Callable[[bytes, str], tuple[Message, ...]],
        find: Finder,
        review: Reviewer,
    ) -> None:
        self._desk = desk
        self._server = server
        self._section = section
        self._lists = {name: each for name, each in lists.items() if each.project and not each.mute}
        self._voice = voice
        self._read = read
        self._find = find
        self._review = review
        self._jobs = Jobs(desk.ledger, f"patchwork {section.url}")
        self._loop = JobLoop(
            desk=desk, jobs=self._jobs, lists=self._lists, handle=self._handle_if_there, give_up=self._give_up
        )
        self._checked: set[str] = set()

    def poll(self) -> None:
        """One round: news from every project, then the reviews that are due, then the outbox."""
        self._jobs.recover()
        trouble: FetchError | None = None
        reads = [lambda name=name, where=where: self._read_events(name, where) for name, where in self._lists.items()]
        for step in (*reads, self._loop.work):
            try:
                step()
            except FetchError as error:  # the other projects, and what is already known, go on
                trouble = trouble or error
        deliver(self._desk)
        if trouble is not None:
            raise trouble

    def _read_events(self, name: str, where: ListSettings) -> None:
        if name not in self._checked:
            self._server.project(where.project)  # an unknown project would look like one without news
            self._checked.add(name)
        source = f"patchwork {self._section.url} {where.project}"
        since = self._since(source, where)
        batch: list[EventRecord] = []
        for event in self._server.completed(where.project, since):
            batch.append(event)
            if len(batch) >= _BATCH:
                self._take_in(source, name, where, batch)
                batch = []
        self._take_in(source, name, where, batch)

    def _since(self, source: str, where: ListSettings) -> datetime | None:
        """Where to go on. A little overlap, as the server's filter includes its border and events may appear late."""
        place = self._desk.ledger.place(source)
        if place is not None:
            return datetime.fromisoformat(json.loads(place)["date"]) - _OVERLAP
        newest = self._server.newest_event(where.project)
        return newest.date - timedelta(days=self._desk.bot.look_back_days) if newest else None

    def _take_in(self, source: str, name: str, where: ListSettings, batch: list[EventRecord]) -> None:
        """Events become jobs, and the place moves on, in one transaction."""
        if not batch:
            return
        ledger, now = self._desk.ledger, self._desk.clock.now()
        with ledger.transaction():
            for event in batch:
                if ledger.note_seen(source, str(event.id), now):
                    due_at = now + where.delay_minutes * 60
                    self._jobs.add(
                        str(event.series_id), {"series": event.series_id, "list": name}, now=now, due_at=due_at
                    )
            last = batch[-1]
            ledger.keep_place(source, json.dumps({"date": last.date.isoformat(), "event": last.id}))

    def _handle_if_there(self, job: Job, where: ListSettings) -> None:
        try:
            self._handle(job, where)
        except StatusError as error:
            if error.status not in (404, 410):
                raise
            self._loop.drop(job, "the server no longer has this series")

    def _handle(self, job: Job, where: ListSettings) -> None:
        fetched = fetch_series(self._server, job.payload["series"], self._read, self._find)
        name = job.payload["list"]
        if reason := self._why_not(fetched, name):
            self._close_pending(fetched.record, reason, where)
            self._loop.drop(job, reason)
            return
        self._say_pending(fetched.record, where)
        deliver(self._desk)
        if fetched.series is None:
            self._finish(job, fetched, None, where)
            return
        review = self._review(fetched.series, where)
        self._finish(job, fetched, review, where)

    def _why_not(self, fetched: Fetched, name: str) -> str | None:
        """Why this version is not worth a review: a newer one is known here or on the server, or it was set aside."""
        record, series, now = fetched.record, fetched.series, self._desk.clock.now()
        if series is not None:
            note_series(self._desk.ledger, series, name, now)
            newer = newer_version(self._desk.ledger, tokens_of(series), series.version, name, now)
            if newer:
                return f"version {newer.version} is out"
        later = _later(record, self._server)
        if later:
            return f"version {later} is out"
        states = [(each.state, each.archived) for each in self._server.standings(record.id)]
        if states and all(state in _GONE or archived for state, archived in states):
            return "all its patches are superseded or archived"
        return None

    def _say_pending(self, record: SeriesRecord, where: ListSettings) -> None:
        """'pending' goes out first, but only where we never said anything."""
        if not where.check:
            return
        outbox = self._desk.outbox
        with self._desk.ledger.transaction():
            for draft in pending_drafts(record, self._section):
                if outbox.newest(draft.channel, draft.place, draft.key, with_dry_runs=where.dry_run) is None:
                    outbox.put(draft, dry_run=where.dry_run)

    def _close_pending(self, record: SeriesRecord, reason: str, where: ListSettings) -> None:
        """A 'pending' from an earlier attempt must not stand for ever on a version that is given up."""
        for patch in record.patches:
            draft = draft_for(
                patch, record, self._section.url, self._section, CheckState.WARNING, f"not reviewed: {reason}"
            )
            newest = self._desk.outbox.newest(draft.channel, draft.place, draft.key)
            if newest is not None and newest.draft.payload["state"] == CheckState.PENDING.value:
                self._desk.outbox.put(draft, dry_run=where.dry_run)

    def _finish(self, job: Job, fetched: Fetched, review: Review | None, where: ListSettings) -> None:
        """Every word and the end of the job in one transaction: a kill leaves all of it or nothing."""
        desk, name = self._desk, job.payload["list"]
        with desk.ledger.transaction():
            if where.check:
                for draft in verdict_drafts(review, fetched.record, self._section):
                    desk.outbox.put(draft, dry_run=where.dry_run)
            if where.mail and review is not None and fetched.series is not None:
                found = remarks(review, fetched.series, self._voice, where, desk.ledger, desk.clock.now())
                put_remarks(desk.outbox, desk.ledger, found, where=where, place=name, series=fetched.series)
            self._jobs.finish(job, "done")
        desk.pulse.counts["reviewed"] += 1
        findings = len(review.findings) if review else 0
        desk.log.info("reviewed", series=fetched.record.id, list=name, subject=fetched.record.name, findings=findings)
        deliver(desk)

    def _give_up(self, job: Job, where: ListSettings, error: ReviewbotError) -> None:
        """The review broke for the last time. That is said, so that no check stays pending for ever."""
        record = self._server.series(job.payload["series"])
        # What went wrong inside may name local paths, so only errors about the input are quoted.
        drafts = failed_drafts(record, self._section, *([str(error)] if isinstance(error, InputError) else []))
        with self._desk.ledger.transaction():
            for draft in drafts if where.check else ():
                self._desk.outbox.put(draft, dry_run=where.dry_run)
            self._jobs.finish(job, "failed", str(error))


def _later(record: SeriesRecord, server: Patchwork) -> int | None:
    """The number of a later version of the series on the server, found by submitter and subject; None for a nameless
    series."""
    subject = fold_subject(record.name)
    if not subject or not record.submitter_id:
        return None
    for other in server.series_since(record.project, record.submitter_id, record.date):
        if other.id != record.id and other.version > record.version and fold_subject(other.name) == subject:
            return other.version
    return None
