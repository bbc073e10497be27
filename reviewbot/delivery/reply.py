"""A remark as a mail: one text/plain part, a full References chain, a Message-ID that is the same for the same
words."""

from __future__ import annotations

import hashlib
import quopri
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.header import Header
from email.utils import format_datetime, formataddr

from reviewbot import __version__
from reviewbot.delivery.hygiene import Identity, plain
from reviewbot.delivery.settings import ListSettings, MailSection, Recipients
from reviewbot.mail.message import Address, Message
from reviewbot.values import dataclass

_RE = re.compile(r"^(?:\s*(?:re|aw|sv|antw)\s*:\s*)+", re.IGNORECASE)
# What patchwork takes for the start of a patch.
_DIFF_LINE = re.compile(r"^(?:diff |Index: |--- |\+\+\+ |@@ |rename (?:from|to) |(?:old|new) mode |GIT binary patch)")
_LONGEST_LINE = 990
_LONGEST_CHAIN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A finished mail. `raw` has `\\n` line ends; `recipients` is the envelope, `reader` the person it is written
    to."""

    message_id: str
    subject: str
    reader: str
    recipients: tuple[str, ...]
    raw: bytes


def to_reply(
    parent: Message,
    body: str,
    *,
    series: str,
    rules_version: str,
    mail: MailSection,
    where: ListSettings,
    own: Identity,
    now: datetime,
) -> Reply | None:
    """The mail that answers `parent` with `body`, or None when nobody may or wants to be written to.

    `series` is the Message-ID of the series, `rules_version` names the rules that were used; both go into the
    Message-ID.
    """
    to, cc = _recipients(parent, mail, where, own)
    if not to and not cc:
        return None
    text = _safe_body(body)
    digest = hashlib.sha256(
        "\0".join((series, parent.message_id, rules_version, text)).encode("utf-8", "replace")
    ).hexdigest()
    message_id = f"{digest[:32]}@{own.message_id_domain}"
    subject = _subject(parent)
    encoding, payload = _encode(text)
    robot = mail.address or "reviewbot@localhost"
    headers = [
        ("From", _mailbox(Address(name=mail.name, email=robot))),
        ("To", _fold(_mailbox(each) for each in (to or cc))),
        *([("Cc", _fold(_mailbox(each) for each in cc))] if to and cc else []),
        ("Subject", Header(subject, "us-ascii" if subject.isascii() else "utf-8", header_name="Subject").encode()),
        ("Date", format_datetime(now.astimezone(UTC))),
        ("Message-ID", f"<{message_id}>"),
        ("In-Reply-To", f"<{parent.message_id}>"),
        ("References", _fold((f"<{each}>" for each in _chain(parent)), separator="")),
        ("Auto-Submitted", "auto-generated"),
        ("Precedence", "bulk"),
        ("X-Patchwork-Hint", "ignore"),
        ("X-Reviewbot", f"{__version__}; rules {_clean(rules_version)}"),
        ("Robot-ID", f"<{robot}>"),
        ("Robot-Unsubscribe", f"Contact <mailto:{mail.opt_out or robot}> to get no more of these mails"),
        ("MIME-Version", "1.0"),
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Transfer-Encoding", encoding),
    ]
    head = "".join(f"{name}: {value}\n" for name, value in headers)
    everybody = tuple(each.email for each in (*to, *cc))
    return Reply(
        message_id=message_id,
        subject=subject,
        reader=(to or cc)[0].email,
        recipients=everybody,
        raw=head.encode("ascii", "replace") + b"\n" + payload,
    )


def _recipients(
    parent: Message, mail: MailSection, where: ListSettings, own: Identity
) -> tuple[tuple[Address, ...], tuple[Address, ...]]:
    """(To, Cc): each address once whatever its case, none of ours, no relay's, nobody who asked for silence."""
    quiet = {plain(each) for each in where.quiet_for}
    if plain(parent.author.email) in quiet:
        return (), ()
    author = () if where.recipients is Recipients.ONLY_CC else (parent.author, *_who_sent(parent, where))
    others: list[Address] = []
    if where.recipients in (Recipients.AUTHOR_AND_LIST, Recipients.EVERYONE) and where.address:
        others.append(Address(name="", email=where.address.lower()))
    if where.recipients is Recipients.EVERYONE:
        others += [*parent.to, *parent.cc]
    others += [Address(name="", email=each.lower()) for each in where.cc]
    seen: set[str] = set()

    def fresh(addresses: Iterable[Address]) -> tuple[Address, ...]:
        kept = []
        for each in addresses:
            email = each.email.lower()
            usable = email.isascii() and email.isprintable() and email.count("@") == 1 and " " not in email
            skip = own.is_own_address(email) or plain(email) in quiet or email.startswith("devnull+")
            if usable and not skip and email not in seen:
                seen.add(email)
                kept.append(Address(name=each.name, email=email))
        return tuple(kept)

    return fresh(author), fresh(others)


def _who_sent(parent: Message, where: ListSettings) -> tuple[Address, ...]:
    """Who sent another's patch; nobody where From is the list's or a relay's address."""
    sender = parent.sender
    is_relay = sender.email.startswith("devnull+") or sender.email == where.address.lower() or " via " in sender.name
    return () if is_relay or sender.email == parent.author.email else (sender,)


def _chain(parent: Message) -> tuple[str, ...]:
    """References of an answer to `parent` (RFC 5322, 3.6.4): its chain, else its In-Reply-To, then the parent
    itself."""
    before = parent.references or ((parent.in_reply_to,) if parent.in_reply_to else ())
    chain = tuple(dict.fromkeys(cleaned for each in (*before, parent.message_id) if (cleaned := _clean(each))))
    return chain if len(chain) <= _LONGEST_CHAIN else (chain[0], *chain[-_LONGEST_CHAIN + 1 :])


def _subject(parent: Message) -> str:
    """Always begins "Re: ", so that patchwork takes the mail for a comment."""
    return "Re: " + _RE.sub("", " ".join(_printable(parent.subject).split())).strip()


def _safe_body(body: str) -> str:
    """The body with every line that could pass for an unquoted diff moved in by a blank."""
    lines = [f" {line}" if _DIFF_LINE.match(line) else _trimmed(line) for line in body.replace("\r", "").split("\n")]
    return "\n".join(_printable(line, keep="\t") for line in lines).strip("\n") + "\n"


def _trimmed(line: str) -> str:
    return line if line == "-- " else line.rstrip()  # the blank makes it the mark of a signature


def to_seven_bit(raw: bytes) -> bytes:
    """The same mail for a server that takes ASCII only."""
    head, _, body = raw.partition(b"\n\n")
    if not head.endswith(_EIGHT_BIT):
        return raw
    return head.removesuffix(_EIGHT_BIT) + _QUOTED + b"\n\n" + quopri.encodestring(body, quotetabs=False)


_EIGHT_BIT, _QUOTED = b"Content-Transfer-Encoding: 8bit", b"Content-Transfer-Encoding: quoted-printable"


def _encode(text: str) -> tuple[str, bytes]:
    raw = text.encode("utf-8", "replace")
    if max(map(len, raw.split(b"\n"))) > _LONGEST_LINE:
        return "quoted-printable", quopri.encodestring(raw, quotetabs=False)
    return ("7bit" if text.isascii() else "8bit"), raw


def _mailbox(address: Address) -> str:
    name = " ".join(_printable(address.name).split())
    return formataddr((name, address.email))


def _fold(parts: Iterable[str], *, separator: str = ",") -> str:
    """One part a line; long ids are not cut, as the mail library would do."""
    return f"{separator}\n ".join(parts)


def _clean(text: str) -> str:
    return "".join(char for char in text if char.isascii() and char.isprintable() and char not in "<> ")


def _printable(text: str, keep: str = "") -> str:
    return "".join(
        char if char.isprintable() or char in keep else "\ufffd" if "\ud800" <= char <= "\udfff" else "?"
        for char in text
    )
