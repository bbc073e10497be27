"""Where a watcher's mails come from: a maildir that procmail, lei or mbsync fill, or an IMAP folder. Neither is
changed."""

from __future__ import annotations

import contextlib
import imaplib
import json
import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from reviewbot.delivery.ledger import Ledger
from reviewbot.delivery.mail_store import LARGEST_MAIL_BYTES
from reviewbot.delivery.settings import MailSection, Security
from reviewbot.errors import FetchError, UsageError
from reviewbot.http import Secret
from reviewbot.values import dataclass

_LARGEST_PIECE_BYTES = LARGEST_MAIL_BYTES + 4096
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMail:
    """A mail that was not read before; `raw` is None where it is too large. `item` is its name within the source."""

    item: str
    origin: str
    raw: bytes | None


class Source(Protocol):
    """One place that mails come in at."""

    name: str

    def new_mails(self, ledger: Ledger, now: float, look_back_s: float) -> Iterator[NewMail]:
        """Mails that are not yet done; on the very first look, none older than `look_back_s`."""

    def done(self, ledger: Ledger, mail: NewMail, now: float) -> None:
        """Remembers that a mail was taken in; call it within the transaction that does so."""


class Maildir:
    """A maildir. Files stay where they are: which were read is remembered by their names, without the flags."""

    def __init__(self, path: Path) -> None:
        if not (path / "new").is_dir() or not (path / "cur").is_dir():
            raise UsageError(f"{path} is not a maildir (it has no new/ and cur/)")
        self._path = path
        self.name = f"maildir {path.resolve()}"
        self._known: set[str] | None = None

    def new_mails(self, ledger: Ledger, now: float, look_back_s: float) -> Iterator[NewMail]:
        known = self._read_known(ledger)
        files = {file.name.partition(":2,")[0]: file for folder in ("cur", "new") for file in self._files(folder)}
        self._drop_gone(ledger, known - files.keys())
        if ledger.place(self.name) is None:
            with ledger.transaction():
                for item, file in files.items():
                    if _modified_at(file) < now - look_back_s:
                        ledger.note_seen(self.name, item, now)
                        known.add(item)
                ledger.keep_place(self.name, "begun")
        for item in sorted(files.keys() - known):
            mail = self._read(item, files[item])
            if mail is not None:
                yield mail

    def done(self, ledger: Ledger, mail: NewMail, now: float) -> None:
        ledger.note_seen(self.name, mail.item, now)
        self._read_known(ledger).add(mail.item)

    def _files(self, folder: str) -> Iterator[Path]:
        return (file for file in (self._path / folder).iterdir() if not file.name.startswith("."))

    def _read(self, item: str, file: Path) -> NewMail | None:
        origin = f"{self._path.name}/{item}"
        try:
            if file.is_symlink() or not file.is_file():
                return None
            with file.open("rb") as stream:
                raw = stream.read(LARGEST_MAIL_BYTES + 1)
        except FileNotFoundError:  # a mail program moved it meanwhile; the next round finds it
            return None
        except OSError as error:
            raise FetchError(f"{file}: the mail cannot be read: {error.strerror}") from error
        return NewMail(item=item, origin=origin, raw=raw if len(raw) <= LARGEST_MAIL_BYTES else None)

    def _read_known(self, ledger: Ledger) -> set[str]:
        if self._known is None:
            self._known = {str(row["item"]) for row in ledger.rows("SELECT item FROM seen WHERE source = ?", self.name)}
        return self._known

    def _drop_gone(self, ledger: Ledger, gone: set[str]) -> None:
        if gone:
            with ledger.transaction():
                for item in gone:
                    ledger.change("DELETE FROM seen WHERE source = ? AND item = ?", self.name, item)
            self._read_known(ledger).difference_update(gone)


class _Server(imaplib.IMAP4):
    """Takes no piece larger than a mail may be, whatever the server announces."""

    def read(self, size: int) -> bytes:
        if size > _LARGEST_PIECE_BYTES:
            raise self.abort("the server announces more than a mail may have")
        return super().read(size)


class _TlsServer(imaplib.IMAP4_SSL, _Server):
    """The same over TLS."""


class ImapFolder:
    """An IMAP folder, opened read-only; the place is kept by UIDVALIDITY and UID."""

    def __init__(self, mail: MailSection, password: Secret | None) -> None:
        if mail.imap_security is Security.NONE and mail.imap_host not in _LOOPBACK:
            raise UsageError("mail.imap_security 'none' would send the password in the clear; use 'tls' or 'starttls'")
        self._mail = mail
        self._password = password
        self.name = f"imap {mail.imap_user}@{mail.imap_host} {mail.imap_folder}"
        self._validity = 0

    def new_mails(self, ledger: Ledger, now: float, look_back_s: float) -> Iterator[NewMail]:
        try:
            with self._opened() as server:
                for uid in self._new_uids(server, ledger, now - look_back_s):
                    yield self._read(server, uid)
        except (imaplib.IMAP4.error, OSError, ValueError) as error:  # ValueError: a number that is none
            # The library's text may hold the command, and so the password.
            raise FetchError(
                f"{self._mail.imap_host}: the IMAP folder cannot be read ({type(error).__name__})"
            ) from error

    def done(self, ledger: Ledger, mail: NewMail, now: float) -> None:
        ledger.keep_place(self.name, json.dumps({"validity": self._validity, "uid": int(mail.item)}))

    def _new_uids(self, server: imaplib.IMAP4, ledger: Ledger, since: float) -> list[int]:
        _, data = server.response("UIDVALIDITY")
        self._validity = int(data[0]) if data and data[0] else 0
        place = json.loads(ledger.place(self.name) or "{}")
        if place.get("validity") == self._validity:
            after = int(place["uid"])
            criteria = f"UID {after + 1}:*"
        else:
            # A new folder, or one that was numbered anew: mails known by their Message-ID are passed over later.
            after = 0
            date = datetime.fromtimestamp(max(0.0, since), UTC)
            criteria = f"SINCE {date.day}-{_MONTHS[date.month - 1]}-{date.year}"
        _, found = server.uid("SEARCH", criteria)
        uids = (int(each) for each in (found[0] or b"").split())
        return sorted(uid for uid in uids if uid > after)  # 'n:*' always names the last mail, also an old one

    def _read(self, server: imaplib.IMAP4, uid: int) -> NewMail:
        origin = f"{self._mail.imap_folder} UID {uid}"
        _, sizes = server.uid("FETCH", str(uid), "(RFC822.SIZE)")
        size = re.search(rb"RFC822\.SIZE (\d+)", sizes[0] if sizes and isinstance(sizes[0], bytes) else b"")
        if size is None or int(size[1]) > LARGEST_MAIL_BYTES:
            return NewMail(item=str(uid), origin=origin, raw=None)
        _, parts = server.uid("FETCH", str(uid), "(BODY.PEEK[])")
        raw = next((part[1] for part in parts if isinstance(part, tuple)), None)
        return NewMail(item=str(uid), origin=origin, raw=raw)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[imaplib.IMAP4]:
        mail = self._mail
        if mail.imap_security is Security.TLS:
            server: imaplib.IMAP4 = _TlsServer(
                mail.imap_host, mail.imap_port, ssl_context=ssl.create_default_context(), timeout=60
            )
        else:
            server = _Server(mail.imap_host, mail.imap_port, timeout=60)
        try:
            if mail.imap_security is Security.STARTTLS:
                server.starttls(ssl.create_default_context())
            server.login(mail.imap_user, self._password.reveal() if self._password else "")
            folder = mail.imap_folder.replace("\\", "\\\\").replace('"', '\\"')
            status, _ = server.select(f'"{folder}"', readonly=True)
            if status != "OK":
                raise FetchError(f"{mail.imap_host} has no folder {mail.imap_folder}")
            yield server
        finally:
            with contextlib.suppress(imaplib.IMAP4.error, OSError):
                server.logout()


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _modified_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
