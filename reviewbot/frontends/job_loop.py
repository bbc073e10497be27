"""The reviews that are due, one after the other: what every watcher does with its jobs, wherever they came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reviewbot.delivery.clock import StopAsked
from reviewbot.delivery.jobs import Job, Jobs
from reviewbot.delivery.settings import ListSettings
from reviewbot.errors import FetchError, ReviewbotError
from reviewbot.frontends.isolation import ReviewFailedError
from reviewbot.frontends.watching import Desk
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLoop:
    """`lists` are those that are watched, by name. `handle` reviews the series of a job and finishes it; `give_up`
    finishes one whose review broke for the last time."""

    desk: Desk
    jobs: Jobs
    lists: Mapping[str, ListSettings]
    handle: Callable[[Job, ListSettings], None]
    give_up: Callable[[Job, ListSettings, ReviewbotError], None]

    def work(self) -> None:
        """Until nothing is due, or the process is to stop. Raises FetchError and StopAsked, with the job put back."""
        while not self.desk.clock.is_stopping:
            job = self.jobs.take(self.desk.clock.now())
            if job is None:
                return
            self._one(job)

    def drop(self, job: Job, reason: str) -> None:
        """It is not to be reviewed."""
        self.jobs.finish(job, "dropped", reason)
        self.desk.pulse.counts["dropped"] += 1
        self.desk.log.info("dropped", series=job.key, reason=reason)

    def _one(self, job: Job) -> None:
        where = self.lists.get(job.payload["list"])
        if where is None:
            self.jobs.finish(job, "dropped", "the list is muted or no longer in the settings")
            return
        now, bot = self.desk.clock.now, self.desk.bot
        try:
            if job.attempts > 2 * bot.attempts:
                raise ReviewFailedError(f"the process ended {job.attempts - 1} times while it worked on this series")
            self.handle(job, where)
        except StopAsked:
            self.jobs.give_back(job, due_at=now(), counts=False)
            raise
        except FetchError as error:
            self.jobs.give_back(job, due_at=now() + bot.poll_s, note=str(error), counts=False)
            raise
        except ReviewbotError as error:
            self._failed(job, where, error)

    def _failed(self, job: Job, where: ListSettings, error: ReviewbotError) -> None:
        desk = self.desk
        desk.pulse.counts["review_failed"] += 1
        desk.log.error("review", series=job.key, attempt=job.attempts, reason=str(error))
        if job.attempts < desk.bot.attempts:
            due_at = desk.clock.now() + desk.bot.poll_s * 2**job.attempts
            self.jobs.give_back(job, due_at=due_at, note=str(error))
        else:
            self.give_up(job, where, error)
