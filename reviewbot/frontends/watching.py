"""The life of a watcher: poll, work, sleep; stop cleanly on SIGTERM; tell how it goes."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reviewbot.delivery.clock import Clock, StopAsked, SystemClock
from reviewbot.delivery.ledger import Ledger
from reviewbot.delivery.log import Log
from reviewbot.delivery.metrics import Pulse, backlog, health_line, metrics_text, notify_systemd, write_metrics
from reviewbot.delivery.outbox import Item, Outbox, State
from reviewbot.delivery.settings import BotSection
from reviewbot.errors import ConfigError, DeliveryError, FetchError, UsageError
from reviewbot.http import UnreachableError
from reviewbot.values import dataclass

_DAY_S = 86400.0
_HEALTH_EVERY_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What every watcher works with."""

    ledger: Ledger
    outbox: Outbox
    clock: Clock
    log: Log
    pulse: Pulse
    bot: BotSection


def watch(desk: Desk, name: str, poll: Callable[[], None], *, once: bool) -> int:
    """Runs `poll` until the process is asked to stop, or once. The exit code: 0, or with `once` 3 or 4 when a poll
    failed.

    `name` is what only one process may watch at a time. Lost networks, walls and full disks are survived and told.
    """
    with desk.ledger.only_one(f"watch-{name}", wait=False) as alone:
        if not alone:
            raise UsageError(
                f"another reviewbot already watches {name} with this state directory ({desk.ledger.directory})"
            )
        desk.log.info("start", watch=name)
        notify_systemd("READY=1")
        try:
            return _loop(desk, poll, once=once)
        except StopAsked:
            return 0
        finally:
            notify_systemd("STOPPING=1")
            desk.log.info("stop", watch=name, health=health_line(desk.pulse, backlog(desk.ledger)))


def on_signals(clock: SystemClock) -> None:
    """SIGTERM, SIGINT and SIGHUP end the current pause and let the current step come to its end."""

    def stop(number: int, frame: Any) -> None:
        clock.stop()

    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, stop)


def deliver(desk: Desk) -> None:
    """Sends what is due and counts it."""

    def tell(item: Item, state: State, note: str) -> None:
        words = {State.SENT: f"sent_{item.draft.channel}", State.WITHDRAWN: "withdrawn", State.FAILED: "refused"}
        desk.pulse.counts[words.get(state, "postponed")] += 1
        say = desk.log.info if state in (State.SENT, State.WITHDRAWN) else desk.log.warning
        say(
            "deliver",
            item=item.id,
            channel=item.draft.channel,
            state=state.value,
            subject=item.draft.subject,
            note=note,
        )

    desk.outbox.deliver(tell=tell)


def _loop(desk: Desk, poll: Callable[[], None], *, once: bool) -> int:
    told_at, forgot_at, was = 0.0, 0.0, ""
    while True:
        code, wait_s = _one_poll(desk, poll)
        now = desk.clock.now()
        if now - forgot_at > _DAY_S:
            desk.ledger.forget(now - desk.bot.forget_after_days * _DAY_S)
            forgot_at = now
        health = health_line(desk.pulse, backlog(desk.ledger))
        if desk.pulse.trouble != was or now - told_at > _HEALTH_EVERY_S:
            desk.log.info("health", line=health)
            told_at, was = now, desk.pulse.trouble
        _publish(desk, health)
        if once:
            return code
        if desk.clock.is_stopping:
            return 0
        desk.clock.sleep(wait_s)


def _one_poll(desk: Desk, poll: Callable[[], None]) -> tuple[int, float]:
    """(exit code, how long to wait now)."""
    pulse = desk.pulse
    pulse.polls += 1
    pulse.last_poll_at = desk.clock.now()
    try:
        if late := desk.ledger.wait_no_longer(desk.clock.now()):
            desk.log.warning("clock", reason="it has gone back", due_now=late)
        poll()
    except ConfigError:
        raise
    except FetchError as error:
        wait_s = error.retry_after_s if isinstance(error, UnreachableError) else 0.0
        return _trouble(desk, error, 3, wait_s)
    except DeliveryError as error:
        return _trouble(desk, error, 4, 0.0)
    pulse.last_good_poll_at = desk.clock.now()
    pulse.trouble = ""
    return 0, desk.bot.poll_s


def _trouble(desk: Desk, error: FetchError | DeliveryError, code: int, wait_s: float) -> tuple[int, float]:
    desk.pulse.counts["error"] += 1
    desk.pulse.trouble = str(error)
    desk.log.error("poll", kind=type(error).__name__, reason=str(error))
    return code, max(desk.bot.poll_s, wait_s)


def _publish(desk: Desk, health: str) -> None:
    notify_systemd(f"STATUS={health}\nWATCHDOG=1")
    file: Path | None = desk.bot.metrics_file
    if file is None:
        return
    try:
        write_metrics(file, metrics_text(desk.pulse, backlog(desk.ledger)))
    except DeliveryError as error:
        desk.log.warning("metrics", reason=str(error))
