"""`reviewbot ledger`: what was said, to whom, when, and what is pending."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reviewbot.errors import UsageError
from reviewbot.frontends.options import config_option

if TYPE_CHECKING:
    from reviewbot.delivery.ledger import Ledger
    from reviewbot.delivery.outbox import Item

_STATES = ("pending", "sending", "sent", "uncertain", "failed", "withdrawn", "dry_run")


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--state", type=click.Choice(_STATES), multiple=True, help="Only what is in this state; may be repeated.")
@click.option(
    "-n", "--number", "limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@config_option
@click.pass_context
def ledger(context: click.Context, state: tuple[str, ...], limit: int, as_json: bool, config: Path | None) -> int:
    """Show what was said, to whom and when, and what is still to be said, newest first.

    States: pending, sending, sent; uncertain (it may have arrived), failed (refused for good), withdrawn (overtaken
    before it was sent), dry_run (what would have been said).
    """
    context.obj = config
    if context.invoked_subcommand is not None:
        return 0
    from reviewbot.delivery.outbox import State

    book, outbox = _open(config)
    items = outbox.items(tuple(State(each) for each in state) or tuple(State), limit)
    for item in items:
        click.echo(json.dumps(_to_json(item)) if as_json else _line(item))
    if not as_json and not state:
        _echo_waiting(book)
    return 0


@ledger.command()
@click.argument("number", type=int, metavar="ID")
@click.pass_context
def show(context: click.Context, number: int) -> int:
    """Show one item in full; a mail as it is sent."""
    from reviewbot.report.escape import lines

    _, outbox = _open(context.obj)
    item = outbox.item(number)
    if item is None:
        raise UsageError(f"the ledger has no item {number}")
    click.echo(_line(item))
    payload = dict(item.draft.payload)
    raw = payload.pop("raw", "")
    click.echo(json.dumps(payload, indent=2, sort_keys=True))
    for line in lines(raw):
        click.echo(line)
    return 0


@ledger.command()
@click.argument("number", type=int, metavar="ID")
@click.option("--sent", "decision", flag_value="sent", help="It arrived.")
@click.option("--again", "decision", flag_value="pending", help="It did not arrive; send it again.")
@click.option("--drop", "decision", flag_value="withdrawn", help="It is not to be sent any more.")
@click.pass_context
def settle(context: click.Context, number: int, decision: str | None) -> int:
    """Decide about an item that is uncertain, failed or pending."""
    from reviewbot.delivery.outbox import State

    if decision is None:
        raise UsageError("say what became of it: --sent, --again or --drop")
    _, outbox = _open(context.obj)
    if not outbox.settle(number, State(decision), "decided by hand"):
        raise UsageError(f"item {number} is not there, or is neither uncertain, failed nor pending")
    return 0


@ledger.command()
@click.pass_context
def health(context: click.Context) -> int:
    """One line for a monitor; exit code 4 where something waits for people."""
    from reviewbot.delivery.metrics import backlog

    book, _ = _open(context.obj)
    left = backlog(book)
    is_well = not left.uncertain and not left.failed
    words = f"{left.waiting_jobs} waiting, {left.pending} to send, {left.uncertain} unclear, {left.failed} failed"
    click.echo(f"{'ok' if is_well else 'trouble'}: {words}")
    return 0 if is_well else 4


def _open(config: Path | None) -> tuple[Ledger, Any]:
    from reviewbot.delivery.clock import SystemClock
    from reviewbot.delivery.outbox import Outbox
    from reviewbot.frontends.bot_setup import bot_settings, open_ledger

    book = open_ledger(bot_settings(config).bot)
    return book, Outbox(book, SystemClock())


def _line(item: Item) -> str:
    from reviewbot.report.escape import visible

    value = item.draft.payload
    what = (
        f"{value['state']}: {value['description']}"
        if item.draft.channel == "check"
        else f"to {', '.join(value['recipients'])}"
    )
    where = f"patch {value['patch_id']}" if item.draft.channel == "check" else item.draft.place
    note = f"  ({item.note})" if item.note else ""
    time = _time(item.sent_at or item.created_at)
    line = f"{item.id:>5}  {time}  {item.state.value:<9}  {item.draft.channel:<5}  {where}"
    return visible(f"{line}  {item.draft.subject}  {what}{note}", keep="")


def _to_json(item: Item) -> dict[str, Any]:
    draft = item.draft
    return {
        "id": item.id,
        "state": item.state.value,
        "channel": draft.channel,
        "place": draft.place,
        "series": draft.series,
        "subject": draft.subject,
        "reader": draft.reader,
        "created_at": _time(item.created_at),
        "sent_at": _time(item.sent_at) if item.sent_at else None,
        "due_at": _time(item.due_at),
        "attempts": item.attempts,
        "remote": item.remote,
        "note": item.note,
        "payload": {name: value for name, value in draft.payload.items() if name != "raw"},
    }


def _echo_waiting(book: Ledger) -> None:
    from reviewbot.delivery.jobs import waiting_jobs
    from reviewbot.report.escape import visible

    for job in waiting_jobs(book):
        note = f"  ({job.note})" if job.note else ""
        click.echo(visible(f"  job  due {_time(job.due_at)}  {job.source}  {job.key}{note}", keep=""))


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
