"""What the bot's commands are built from: settings, ledger, HTTP client, servers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast

from reviewbot import __version__
from reviewbot.config import cache_dir, state_dir
from reviewbot.delivery.clock import SystemClock
from reviewbot.delivery.credentials import read_secret
from reviewbot.delivery.hygiene import Identity, identity_of
from reviewbot.delivery.ledger import Ledger
from reviewbot.delivery.lineage import overtaken_by
from reviewbot.delivery.log import Log
from reviewbot.delivery.metrics import Pulse
from reviewbot.delivery.outbox import Item, Outbox, Sender
from reviewbot.delivery.patchwork import Patchwork
from reviewbot.delivery.settings import ArchiveSection, BotSection, HttpSection, MailSection, PatchworkSection
from reviewbot.errors import UsageError
from reviewbot.frontends.settings import file_layers, section
from reviewbot.frontends.watching import Desk
from reviewbot.http import Client, HttpLimits, Secret
from reviewbot.mail.archive import Archive
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BotSettings:
    """The sections that the bot's commands read. Nothing in a reviewed tree can change them."""

    http: HttpSection
    archive: ArchiveSection
    patchwork: PatchworkSection
    mail: MailSection
    bot: BotSection


def bot_settings(config: Path | None) -> BotSettings:
    """The settings in force; `config` is the file of --config. Raises ConfigError."""
    layers = file_layers(config)
    return BotSettings(
        http=cast(HttpSection, section("http", layers)[0]),
        archive=cast(ArchiveSection, section("archive", layers)[0]),
        patchwork=cast(PatchworkSection, section("patchwork", layers)[0]),
        mail=cast(MailSection, section("mail", layers)[0]),
        bot=cast(BotSection, section("bot", layers)[0]),
    )


def open_ledger(bot: BotSection) -> Ledger:
    """The ledger in the state directory. Raises DeliveryError."""
    return Ledger(bot.state_dir or state_dir())


def http_client(http: HttpSection, clock: SystemClock, *, token: Secret | None = None, origin: str = "") -> Client:
    """A client that says who runs it and whose pauses end when the process is asked to stop."""
    limits = HttpLimits(
        connect_timeout_s=http.connect_timeout_s,
        read_timeout_s=http.read_timeout_s,
        total_timeout_s=http.total_timeout_s,
    )
    return Client(
        version=__version__, contact=http.contact, token=token, token_origin=origin, limits=limits, sleep=clock.sleep
    )


def patchwork_server(settings: BotSettings, clock: SystemClock, url: str, *, with_token: bool) -> Patchwork:
    """A patchwork server; the token goes only to the configured one, and only where something is to be posted."""
    section_ = settings.patchwork
    token = read_secret(section_.token_env, section_.token_file) if with_token else None
    return Patchwork(url=url, client=http_client(settings.http, clock, token=token, origin=section_.url))


def archive(settings: BotSettings, clock: SystemClock, inbox: str | None = None, *, cached: bool = True) -> Archive:
    """The configured archive, or another inbox that the user named; `cached`: threads of earlier runs will do."""
    return Archive(
        url=inbox or settings.archive.url,
        client=http_client(settings.http, clock),
        cache=cache_dir() / "archive" if cached else None,
        cache_s=settings.archive.cache_days * 86400,
    )


def identity(mail: MailSection) -> Identity:
    """Who we are in mails."""
    return identity_of(mail.address, (*mail.own_addresses, *filter(None, (mail.envelope_from,))))


def desk(settings: BotSettings, clock: SystemClock, ledger: Ledger, senders: Iterable[tuple[str, Sender]]) -> Desk:
    """Everything that a watcher works with."""
    return Desk(
        ledger=ledger,
        outbox=Outbox(ledger, clock, dict(senders)),
        clock=clock,
        log=Log(clock),
        pulse=Pulse(started_at=clock.now()),
        bot=settings.bot,
    )


def mail_channel(
    settings: BotSettings, clock: SystemClock, ledger: Ledger, *, wanted: bool, reads_own_mail: bool = False
) -> list[tuple[str, Sender]]:
    """The way out for mails, where one is wanted. Raises UsageError where the settings do not say how."""
    from reviewbot.delivery import smtp

    if not wanted:
        return []
    mail = settings.mail
    for key in ("address", "smtp_host", "opt_out"):
        if not getattr(mail, key):
            raise UsageError(f"mail.{key} is not set, and mails are to be sent")

    def why_not(item: Item) -> str | None:
        newer = overtaken_by(ledger, item.draft.series, item.draft.place)
        return f"version {newer.version} is out" if newer else None

    sender = smtp.MailSender(
        mail,
        read_secret(mail.smtp_password_env, mail.smtp_password_file),
        ledger,
        lookup=archive(settings, clock).has if settings.archive.confirms_mail else lambda message_id: None,
        reads_own_mail=reads_own_mail,
        why_not=why_not,
    )
    return [(smtp.CHANNEL, sender)]
