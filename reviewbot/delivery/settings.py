"""The sections of the settings file that delivery owns: [http], [archive], [patchwork], [mail] and [bot]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from pathlib import Path

from reviewbot.findings.finding import Confidence, Severity
from reviewbot.values import dataclass

_ADDRESS = re.compile(r"^[^@\s<>,;:\"]+@[^@\s<>,;:\"]+$")
_CONTEXT = re.compile(r"^[A-Za-z0-9_-]{1,255}$")


class Recipients(Enum):
    """Who gets a mail: the author alone, the author and the list, everybody on the patch mail, or only the addresses
    in `cc`."""

    AUTHOR = "author"
    AUTHOR_AND_LIST = "author_and_list"
    EVERYONE = "everyone"
    ONLY_CC = "only_cc"


class Mails(Enum):
    """How many mails one version of a series may get at most."""

    ONE_PER_SERIES = "one_per_series"
    ONE_PER_PATCH = "one_per_patch"


class Security(Enum):
    """How a mail connection is protected."""

    TLS = "tls"
    STARTTLS = "starttls"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSection:
    """[http]. `contact` is a URL or mail address that goes into the User-Agent; many servers turn unknown robots
    away."""

    contact: str = ""
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 30.0
    total_timeout_s: float = 180.0

    def __post_init__(self) -> None:
        _must(min(self.connect_timeout_s, self.read_timeout_s, self.total_timeout_s) > 0, "time-outs must be above 0")
        _must(self.contact.isprintable(), "contact must be one printable line")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSection:
    """[archive]. `url` is a public-inbox server with the inbox to look in; `cache_days` how long a thread is
    kept. `confirms_mail`: our lists are in it, so a mail of unclear fate is looked for there."""

    url: str = "https://lore.kernel.org/all/"
    cache_days: float = 1.0
    confirms_mail: bool = False

    def __post_init__(self) -> None:
        _must(_is_web(self.url), "url must begin with http:// or https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchworkSection:
    """[patchwork]. `user` is the account the token belongs to; own checks are recognised by it. `context` names our
    check and never changes. `target_url` may hold {series} and {patch} (their ids). The token comes from `token_env` or
    `token_file`."""

    url: str = ""
    user: str = ""
    context: str = "reviewbot-uaccess"
    target_url: str = ""
    token_env: str = "REVIEWBOT_PATCHWORK_TOKEN"
    token_file: Path | None = None

    def __post_init__(self) -> None:
        _must(not self.url or _is_web(self.url), "url must begin with http:// or https://")
        _must(_CONTEXT.match(self.context) is not None, "context may hold letters, digits, '-' and '_' only")
        _must(len(self.target_url) <= 200, "target_url must not be longer than 200 characters")


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSection:
    """[mail]. `address` is the robot's own; `envelope_from` takes the bounces; `opt_out` is where people turn it off.

    Input is `maildir` or IMAP; output is SMTP. `reads_own_mail`: what we send to a list comes back to the input, so a
    mail
    that does not come back was not sent. Passwords come from the environment or from files with owner-only rights.
    """

    name: str = "reviewbot"
    address: str = ""
    envelope_from: str = ""
    opt_out: str = ""
    own_addresses: tuple[str, ...] = ()
    reads_own_mail: bool = False
    maildir: Path | None = None
    imap_host: str = ""
    imap_port: int = 993
    imap_security: Security = Security.TLS
    imap_user: str = ""
    imap_folder: str = "INBOX"
    imap_password_env: str = "REVIEWBOT_IMAP_PASSWORD"
    imap_password_file: Path | None = None
    smtp_host: str = ""
    smtp_port: int = 587
    smtp_security: Security = Security.STARTTLS
    smtp_user: str = ""
    smtp_password_env: str = "REVIEWBOT_SMTP_PASSWORD"
    smtp_password_file: Path | None = None
    smtp_timeout_s: float = 60.0

    def __post_init__(self) -> None:
        for key in ("address", "envelope_from", "opt_out"):
            value = getattr(self, key)
            _must(not value or _ADDRESS.match(value) is not None, f"{key} is not a mail address")
        _must(
            all(_ADDRESS.match(each) for each in self.own_addresses),
            "own_addresses holds something that is no mail address",
        )
        _must(self.name.isprintable(), "name must be one printable line")
        _must(0 < self.smtp_port < 65536 and 0 < self.imap_port < 65536, "ports are between 1 and 65535")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSettings:
    """[bot.lists.NAME]: what may be said where. Silent until `mute` and `dry_run` are both turned off.

    `project` is patchwork's short name, `address` the list's; `tree` and `bases` (revisions, tried in order) what its
    patches
    are applied to. `mail_at`, `mail_confidence`: the least that is worth a mail. `delay_minutes`: people see the
    patch first.
    `cc` are further addresses, `quiet_for` authors who asked not to be written to.
    """

    mute: bool = True
    dry_run: bool = True
    check: bool = False
    mail: bool = False
    project: str = ""
    address: str = ""
    tree: Path | None = None
    bases: tuple[str, ...] = ()
    recipients: Recipients = Recipients.AUTHOR_AND_LIST
    cc: tuple[str, ...] = ()
    mails: Mails = Mails.ONE_PER_SERIES
    mail_at: Severity = Severity.WARNING
    mail_confidence: Confidence = Confidence.HIGH
    delay_minutes: float = 0.0
    quiet_for: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _must(not self.address or _ADDRESS.match(self.address) is not None, "address is not a mail address")
        for key in ("cc", "quiet_for"):
            _must(
                all(_ADDRESS.match(each) for each in getattr(self, key)),
                f"{key} holds something that is no mail address",
            )
        _must(0 <= self.delay_minutes <= 14 * 1440, "delay_minutes must be between 0 and two weeks")


@dataclass(frozen=True, slots=True, kw_only=True)
class BotSection:
    """[bot]. How the watchers run; `lists` are what they watch. The ledger is in `state_dir`, Prometheus text in
    `metrics_file`. A review gets `review_timeout_s` and `review_memory_mb`, and a series `attempts` reviews before it
    is given up. `complete_within_minutes`: how long a series from mail may lack parts. `look_back_days`: what a watcher
    without a past takes up when it is started for the first time."""

    state_dir: Path | None = None
    metrics_file: Path | None = None
    poll_s: float = 120.0
    review_timeout_s: float = 900.0
    review_memory_mb: int = 2048
    attempts: int = 3
    complete_within_minutes: float = 30.0
    forget_after_days: float = 180.0
    look_back_days: float = 3.0
    lists: Mapping[str, ListSettings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _must(1 <= self.poll_s <= 3600, "poll_s must be between 1 and 3600")
        _must(self.review_timeout_s > 0, "review_timeout_s must be above 0")
        _must(self.review_memory_mb >= 128, "review_memory_mb must be at least 128")
        _must(1 <= self.attempts <= 10, "attempts must be between 1 and 10")
        _must(self.complete_within_minutes <= 14 * 1440, "complete_within_minutes must not be longer than two weeks")
        _must(self.forget_after_days >= 1 and self.look_back_days >= 0, "days must not be negative")


def _must(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)


def _is_web(url: str) -> bool:
    return url.startswith(("https://", "http://"))
