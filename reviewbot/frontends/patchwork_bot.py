"""`reviewbot patchwork`: review one series of a patchwork server, or follow its projects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reviewbot.errors import DeliveryError, FetchError, ReviewbotError, UsageError
from reviewbot.frontends.options import config_option, review_options, to_wish
from reviewbot.grammar import plural
from reviewbot.mail.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from reviewbot.delivery.outbox import Draft, Outbox
    from reviewbot.delivery.patchwork import Patchwork, Target
    from reviewbot.findings.review import Review
    from reviewbot.frontends.bot_setup import BotSettings
    from reviewbot.frontends.patchwork_watch import Fetched
    from reviewbot.mail.message import Message


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def patchwork() -> None:
    """Review series of a patchwork server and post checks there.

    The server, its token and the projects are named in the settings: [patchwork] and [bot.lists.NAME].
    """


@patchwork.command()
@click.argument("what", metavar="ID|URL")
@click.option("--patch", "is_patch", is_flag=True, help="The ID is that of a patch, not of a series.")
@click.option("--server", metavar="URL", help="The server of an ID.  [default: patchwork.url of the settings]")
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The kernel tree that the series is for.",
)
@click.option("--base", metavar="REV", help="The commit that the series is applied to.")
@click.option("--post", is_flag=True, help="Post a check to every patch of the series.")
@review_options
def review(
    what: str, is_patch: bool, server: str | None, tree: Path | None, base: str | None, post: bool, **values: Any
) -> int:
    """Fetch a series with its cover letter, review it, and print the report.

    WHAT is the id of a series, or the address of a series, patch or cover letter on the server.
    """
    from reviewbot.delivery.clock import SystemClock
    from reviewbot.delivery.patchwork import to_target
    from reviewbot.frontends import settings
    from reviewbot.frontends.bot_review import BotReviewer
    from reviewbot.frontends.bot_setup import bot_settings, patchwork_server
    from reviewbot.frontends.patchwork_watch import fetch_series
    from reviewbot.frontends.progress import command_progress
    from reviewbot.frontends.reviewing import conclude, prepare
    from reviewbot.series.from_mail import find_series

    wish, clock = to_wish(values), SystemClock()
    bot = bot_settings(wish.config)
    layers = settings.file_layers(wish.config)
    ready = prepare(wish, layers, command_progress(quiet=wish.quiet))
    root, target = to_target(what, is_patch=is_patch)
    url = _server(root, server, bot, post=post)
    remote = patchwork_server(bot, clock, url, with_token=post)
    fetched = fetch_series(
        remote,
        _resolve(remote, target, url),
        partial(read_mails, limits=ready.limits),
        partial(find_series, limits=ready.limits),
    )
    reviewer = BotReviewer(ready=ready, layers=layers, bot=bot.bot, clock=clock)

    def make() -> Review:
        if fetched.series is None:
            raise FetchError(f"none of the mails of series {fetched.record.id} holds a patch that git would take")
        return reviewer.review(fetched.series, tree or ready.section.tree, (base,) if base else ())

    if not post:
        return conclude(make, wish, ready, layers)
    poster = _Poster(bot, remote, fetched)
    poster.say_pending()
    try:
        made = make()
    except ReviewbotError:
        poster.say_failed()
        raise
    ready.options.tell.stop()
    poster.say(made)
    status = conclude(lambda: made, wish, ready, layers)
    poster.tell_what_is_left()
    return status


@patchwork.command()
@click.option("--once", is_flag=True, help="One round, then end.")
@config_option
def watch(once: bool, config: Path | None) -> int:
    """Follow the projects of the settings: review each completed series once and post checks.

    A list is silent (mute) and tried dry until its settings say otherwise. SIGTERM ends it cleanly.
    """
    from reviewbot.delivery.checks import CHANNEL, CheckSender
    from reviewbot.delivery.clock import SystemClock
    from reviewbot.frontends import settings, watching
    from reviewbot.frontends.bot_review import bot_reviewer, voice
    from reviewbot.frontends.bot_setup import bot_settings, desk, mail_channel, open_ledger, patchwork_server
    from reviewbot.frontends.patchwork_watch import PatchworkWatcher
    from reviewbot.series.from_mail import find_series

    clock = SystemClock()
    bot = bot_settings(config)
    section = bot.patchwork
    lists = {name: each for name, each in bot.bot.lists.items() if each.project and not each.mute}
    _check_watch(bot, bool(lists), any(each.check and not each.dry_run for each in lists.values()))
    layers = settings.file_layers(config)
    reviewer = bot_reviewer(layers, bot.bot, clock)
    ledger = open_ledger(bot.bot)
    server = patchwork_server(bot, clock, section.url, with_token=True)
    senders = [(CHANNEL, CheckSender({section.url: server}, section.user))]
    wants_mail = any(each.mail and not each.dry_run for each in lists.values())
    counter = desk(bot, clock, ledger, [*senders, *mail_channel(bot, clock, ledger, wanted=wants_mail)])
    watcher = PatchworkWatcher(
        counter,
        server,
        section,
        lists,
        voice(reviewer.ready, bot.mail),
        read=partial(read_mails, limits=reviewer.ready.limits),
        find=partial(find_series, limits=reviewer.ready.limits),
        review=reviewer,
    )
    watching.on_signals(clock)
    return watching.watch(counter, f"patchwork-{_host(section.url)}", watcher.poll, once=once)


def read_mails(raw: bytes, origin: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Message, ...]:
    """The mails of an mbox that a server sent."""
    from reviewbot.mail.mailbox import read_mail_bytes

    return read_mail_bytes(raw, origin, limits=limits).messages


class _Poster:
    """Posts the checks of one series for `patchwork review --post`."""

    def __init__(self, bot: BotSettings, remote: Patchwork, fetched: Fetched) -> None:
        from reviewbot.delivery.checks import CHANNEL, CheckSender
        from reviewbot.delivery.clock import SystemClock
        from reviewbot.delivery.outbox import Outbox
        from reviewbot.frontends.bot_setup import open_ledger

        if not bot.patchwork.user:
            raise UsageError("patchwork.user is not set: without it our own checks cannot be told from others'")
        self._section = bot.patchwork
        self._fetched = fetched
        self._record = fetched.record
        self._put: set[int] = set()
        self._outbox: Outbox = Outbox(
            open_ledger(bot.bot), SystemClock(), {CHANNEL: CheckSender({bot.patchwork.url: remote}, bot.patchwork.user)}
        )

    def say_pending(self) -> None:
        """'pending' where we never said anything."""
        from reviewbot.frontends.patchwork_watch import pending_drafts

        drafts = pending_drafts(self._record, self._section)
        fresh = [each for each in drafts if self._outbox.newest(each.channel, each.place, each.key) is None]
        self._post(fresh)

    def say(self, review: Review) -> None:
        """The verdict of every patch."""
        from reviewbot.frontends.patchwork_watch import verdict_drafts

        self._post(verdict_drafts(review, self._record, self._section))

    def say_failed(self) -> None:
        """No patch is left 'pending' after a review that broke."""
        from reviewbot.frontends.patchwork_watch import failed_drafts, verdict_drafts

        is_unreadable = self._fetched.series is None
        make = (
            verdict_drafts(None, self._record, self._section)
            if is_unreadable
            else failed_drafts(self._record, self._section)
        )
        self._post(make)

    def tell_what_is_left(self) -> None:
        """Raises DeliveryError where a verdict did not get through."""
        from reviewbot.delivery.outbox import OPEN, State

        items = [each for each in self._outbox.items((*OPEN, State.FAILED), 1000) if each.id in self._put]
        if items:
            raise DeliveryError(
                f"{plural(len(items), 'check')} did not get through ({items[0].note}); "
                "the next 'patchwork review --post' or 'patchwork watch' tries again, see 'reviewbot ledger'"
            )

    def _post(self, drafts: Sequence[Draft]) -> None:
        self._put.update(number for draft in drafts if (number := self._outbox.put(draft)) is not None)
        self._outbox.deliver()


def _server(root: str | None, named: str | None, bot: BotSettings, *, post: bool) -> str:
    configured = bot.patchwork.url
    url = root or named or configured
    if not url:
        raise UsageError("an id needs a server: set patchwork.url, or give --server URL or the whole address")
    if not post:
        return url
    if not configured or url.rstrip("/") != configured.rstrip("/"):
        raise UsageError(
            f"--post goes to the server of patchwork.url only ({configured or 'not set'}); the token is for that one"
        )
    return configured


def _resolve(remote: Patchwork, target: Target, url: str) -> int:
    from reviewbot.http import StatusError

    try:
        return remote.resolve(target)
    except StatusError as error:
        if error.status == 404:
            raise FetchError(f"{_host(url)} has no such patch") from error
        raise


def _check_watch(bot: BotSettings, any_list: bool, posts: bool) -> None:
    if not bot.patchwork.url:
        raise UsageError("patchwork.url is not set: there is no server to watch")
    if not any_list:
        raise UsageError("no list is watched: set 'project' and 'mute = false' in a [bot.lists.NAME]")
    if posts and not bot.patchwork.user:
        raise UsageError("patchwork.user is not set: without it our own checks cannot be told from others'")


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    return urlsplit(url).netloc.rpartition("@")[2].replace(":", "-") or "server"
