"""`reviewbot mail`: answer one series from stdin, or follow a folder of list mail."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reviewbot.errors import UsageError
from reviewbot.frontends.options import config_option, review_options, to_wish

if TYPE_CHECKING:
    from reviewbot.delivery.settings import ListSettings
    from reviewbot.delivery.verdicts import Remark
    from reviewbot.frontends.bot_setup import BotSettings
    from reviewbot.frontends.mail_sources import Source
    from reviewbot.series.patch import Series


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def mail() -> None:
    """Answer patch mails: by hand from stdin, or as a robot that follows a folder.

    Addresses, servers and lists are named in the settings: [mail] and [bot.lists.NAME].
    """


@mail.command()
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The kernel tree that the series is for.",
)
@click.option("--base", metavar="REV", help="The commit that the series is applied to.")
@review_options
def review(tree: Path | None, base: str | None, **values: Any) -> int:
    """Read one mail or thread on stdin; write the reply, a complete mail, to stdout.

    Nothing is written where there is nothing to say. Nothing is sent, and the ledger is not asked.
    """
    from reviewbot.delivery.clock import SystemClock
    from reviewbot.delivery.verdicts import remarks
    from reviewbot.frontends import settings
    from reviewbot.frontends.bot_review import BotReviewer, voice
    from reviewbot.frontends.bot_setup import bot_settings
    from reviewbot.frontends.exits import exit_code
    from reviewbot.frontends.guard import say
    from reviewbot.frontends.progress import command_progress
    from reviewbot.frontends.reviewing import prepare
    from reviewbot.mail.mailbox import read_mailbox
    from reviewbot.report import phrases
    from reviewbot.series.from_mail import choose_series, find_series

    wish, clock = to_wish(values), SystemClock()
    bot = bot_settings(wish.config)
    layers = settings.file_layers(wish.config)
    ready = prepare(wish, layers, command_progress(quiet=wish.quiet))
    given = read_mailbox("-", limits=ready.limits)
    for sentence in given.problems:
        say(sentence)
    series = choose_series(find_series(given.messages, limits=ready.limits))
    speech = voice(ready, bot.mail)
    where = _list_of(series, bot)
    if reason := _why_silent(series, bot):
        say(f"not answered: {reason}")
        return 0
    reviewer = BotReviewer(ready=ready, layers=layers, bot=bot.bot, clock=clock)
    made = reviewer.review(series, tree or where.tree or ready.section.tree, (base,) if base else where.bases)
    ready.options.tell.stop()
    found = remarks(made, series, speech, where, None, clock.now())
    _write(found)
    if not found or not wish.quiet:
        say(phrases.verdict(made))
    return exit_code(made, ready.section.fail_on)


@mail.command()
@click.option("--once", is_flag=True, help="One round, then end.")
@click.option(
    "--maildir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Read this maildir, whatever the settings say.",
)
@config_option
def watch(once: bool, maildir: Path | None, config: Path | None) -> int:
    """Follow a maildir or an IMAP folder and answer series that deserve it.

    A list is silent (mute) and tried dry until its settings say otherwise. SIGTERM ends it cleanly.
    """
    from reviewbot.delivery.clock import SystemClock
    from reviewbot.frontends import settings, watching
    from reviewbot.frontends.bot_review import bot_reviewer, voice
    from reviewbot.frontends.bot_setup import bot_settings, desk, mail_channel, open_ledger
    from reviewbot.frontends.mail_watch import MailWatcher
    from reviewbot.series.from_mail import find_series

    clock = SystemClock()
    bot = bot_settings(config)
    lists = {name: each for name, each in bot.bot.lists.items() if each.address and not each.mute}
    if not lists:
        raise UsageError("no list is watched: set 'address' and 'mute = false' in a [bot.lists.NAME]")
    source = _source(bot, maildir)
    layers = settings.file_layers(config)
    reviewer = bot_reviewer(layers, bot.bot, clock)
    ledger = open_ledger(bot.bot)
    sends = any(each.mail and not each.dry_run for each in lists.values())
    counter = desk(
        bot, clock, ledger, mail_channel(bot, clock, ledger, wanted=sends, reads_own_mail=bot.mail.reads_own_mail)
    )
    watcher = MailWatcher(
        counter,
        source,
        lists,
        voice(reviewer.ready, bot.mail),
        find=partial(find_series, limits=reviewer.ready.limits),
        review=reviewer,
    )
    watching.on_signals(clock)
    return watching.watch(counter, _file_name(source.name), watcher.poll, once=once)


def _source(bot: BotSettings, maildir: Path | None) -> Source:
    from reviewbot.delivery.credentials import read_secret
    from reviewbot.frontends.mail_sources import ImapFolder, Maildir

    section = bot.mail
    if maildir or section.maildir:
        return Maildir(maildir or section.maildir or Path())
    if not section.imap_host:
        raise UsageError("there is no mail to watch: set mail.maildir or mail.imap_host, or give --maildir DIR")
    return ImapFolder(section, read_secret(section.imap_password_env, section.imap_password_file))


def _list_of(series: Series, bot: BotSettings) -> ListSettings:
    """The settings of the list that the series went to; for any other, those of a reviewer who answers to all."""
    from reviewbot.delivery.settings import ListSettings, Recipients

    heads = [series.cover, *(patch.message for patch in series.patches)]
    addresses = {each.email for message in heads if message is not None for each in (*message.to, *message.cc)}
    known = (each for each in bot.bot.lists.values() if each.address.lower() in addresses)
    return next(known, ListSettings(recipients=Recipients.EVERYONE))


def _why_silent(series: Series, bot: BotSettings) -> str | None:
    from reviewbot.delivery.hygiene import why_not_answer
    from reviewbot.frontends.bot_setup import identity

    own = identity(bot.mail)
    mails = [patch.message for patch in series.patches if patch.message is not None]
    return next((reason for each in mails if (reason := why_not_answer(each, own))), None)


def _write(found: tuple[Remark, ...]) -> None:
    """One mail as it is; several as an mbox."""
    stream = sys.stdout.buffer
    for remark in found:
        if len(found) > 1:
            stream.write(b"From mboxrd@z Thu Jan  1 00:00:00 1970\n")
        stream.write(remark.reply.raw + (b"\n" if len(found) > 1 else b""))
    stream.flush()


def _file_name(text: str) -> str:
    import hashlib

    return f"mail-{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"
