"""What a watcher tells the people who run it: a Prometheus text file, a health line, and systemd's notifications."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import tempfile
from collections import Counter
from dataclasses import field
from pathlib import Path

from reviewbot import __version__
from reviewbot.delivery.ledger import Ledger
from reviewbot.errors import DeliveryError
from reviewbot.grammar import plural
from reviewbot.values import dataclass


@dataclass(slots=True, kw_only=True)
class Pulse:
    """What this process did so far. Times are seconds since 1970, 0 for never. `trouble` is the newest error, "" when
    over."""

    started_at: float
    last_poll_at: float = 0.0
    last_good_poll_at: float = 0.0
    polls: int = 0
    trouble: str = ""
    counts: Counter[str] = field(
        default_factory=Counter
    )  # reviewed, dropped, review_failed, sent_check, sent_mail, error


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What is still to be done, from the ledger."""

    waiting_jobs: int
    pending: int
    uncertain: int
    failed: int


def backlog(ledger: Ledger) -> Backlog:
    """Counts of all sources."""
    jobs = ledger.row("SELECT count(*) AS n FROM job WHERE state IN ('waiting', 'working')")
    rows = ledger.rows("SELECT state, count(*) AS n FROM outbox GROUP BY state")
    states = {str(row["state"]): int(row["n"]) for row in rows}
    return Backlog(
        waiting_jobs=int(jobs["n"]) if jobs else 0,
        pending=states.get("pending", 0) + states.get("sending", 0),
        uncertain=states.get("uncertain", 0),
        failed=states.get("failed", 0),
    )


def health_line(pulse: Pulse, left: Backlog) -> str:
    """`ok: …` or `trouble: …`, one line."""
    figures = (
        f"{pulse.counts['reviewed']} reviewed, {plural(pulse.counts['sent_check'], 'check')} and "
        f"{plural(pulse.counts['sent_mail'], 'mail')} sent, "
        f"{left.waiting_jobs} waiting, {left.pending} to send, {left.uncertain} unclear, {left.failed} failed"
    )
    return f"trouble: {pulse.trouble}; {figures}" if pulse.trouble else f"ok: {figures}"


def metrics_text(pulse: Pulse, left: Backlog) -> str:
    """The Prometheus text format (version 0.0.4)."""
    gauges = {
        "reviewbot_up": (1, "The watcher runs."),
        "reviewbot_healthy": (0 if pulse.trouble else 1, "The last poll went well."),
        "reviewbot_start_time_seconds": (pulse.started_at, "When the watcher started."),
        "reviewbot_last_poll_time_seconds": (pulse.last_poll_at, "When it last asked for news."),
        "reviewbot_last_good_poll_time_seconds": (pulse.last_good_poll_at, "When it last got an answer."),
        "reviewbot_jobs_waiting": (left.waiting_jobs, "Series that wait for their review."),
        "reviewbot_outbox_pending": (left.pending, "Checks and mails that wait to be sent."),
        "reviewbot_outbox_uncertain": (
            left.uncertain,
            "Checks and mails of which it is not known whether they arrived.",
        ),
        "reviewbot_outbox_failed": (left.failed, "Checks and mails that were refused for good."),
        "reviewbot_resident_memory_max_bytes": (_peak_bytes(), "The largest resident size so far."),
    }
    lines = [
        "# HELP reviewbot_info The version.",
        "# TYPE reviewbot_info gauge",
        f'reviewbot_info{{version="{__version__}"}} 1',
    ]
    for name, (value, text) in gauges.items():
        lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge", f"{name} {value:.17g}"]
    lines += ["# HELP reviewbot_events_total What was done since the start.", "# TYPE reviewbot_events_total counter"]
    names = (
        "polls",
        "reviewed",
        "dropped",
        "review_failed",
        "sent_check",
        "sent_mail",
        "withdrawn",
        "refused",
        "error",
    )
    counts = pulse.counts | Counter({"polls": pulse.polls})
    lines += [f'reviewbot_events_total{{what="{name}"}} {counts[name]}' for name in names]
    return "\n".join(lines) + "\n"


def write_metrics(file: Path, text: str) -> None:
    """Replaces the file in one step, so that a reader never sees half of it. Raises DeliveryError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as stream:
                stream.write(text)
            Path(name).chmod(0o644)
            Path(name).replace(file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DeliveryError(f"{file}: the metrics cannot be written: {error.strerror}") from error


def notify_systemd(text: str) -> None:
    """Tells systemd, where it runs us (Type=notify): `READY=1`, `STATUS=…`, `WATCHDOG=1`, `STOPPING=1`."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    target = "\0" + address[1:] if address.startswith("@") else address
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel,
    ):
        channel.sendto(text.encode(), target)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
