"""Mails on their way out: SMTP, with a clear answer to "was it taken?" after every step."""

from __future__ import annotations

import contextlib
import smtplib
import ssl
from collections.abc import Callable, Iterator

from reviewbot.delivery.ledger import Ledger
from reviewbot.delivery.outbox import Draft, Evidence, Item, PostponedError, RefusedError, UncertainError
from reviewbot.delivery.reply import Reply, to_seven_bit
from reviewbot.delivery.settings import MailSection, Security
from reviewbot.errors import ConfigError
from reviewbot.http import Secret

CHANNEL = "mail"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

Lookup = Callable[[str], bool | None]


def mail_draft(reply: Reply, *, place: str, series: str, slot: str) -> Draft:
    """A mail as a draft. `slot` is the Message-ID it answers, or 'series'; a slot is filled once and for all."""
    payload = {"message_id": reply.message_id, "recipients": list(reply.recipients), "raw": reply.raw.decode("utf-8")}
    return Draft(
        channel=CHANNEL,
        place=place,
        key=f"{series} {slot}",
        series=series,
        subject=reply.subject,
        reader=reply.reader,
        payload=payload,
    )


class MailSender:
    """Sends mails through one SMTP server.

    After an unclear attempt the own copy that comes back from the list is looked for, by its Message-ID: in the mails
    that the
    watcher has read (`ledger`), then with `lookup` (an archive; None for "cannot tell"). `why_not` says when a mail was
    overtaken by a newer version.
    """

    settle_s = 4 * 3600.0  # lists moderate and greylist; a mail said twice is worse than one said late

    def __init__(
        self,
        mail: MailSection,
        password: Secret | None,
        ledger: Ledger,
        *,
        lookup: Lookup = lambda message_id: None,
        reads_own_mail: bool = False,
        why_not: Callable[[Item], str | None] = lambda item: None,
    ) -> None:
        if mail.smtp_user and mail.smtp_security is Security.NONE and mail.smtp_host not in _LOOPBACK:
            raise ConfigError(
                "mail.smtp_user needs mail.smtp_security 'tls' or 'starttls': the password would go out in the clear."
            )
        self._mail = mail
        self._password = password
        self._ledger = ledger
        self._lookup = lookup
        self._reads_own_mail = reads_own_mail
        self._why_not = why_not

    def find(self, item: Item) -> Evidence:
        """Whether the mail has come back from the list, or is in the archive."""
        message_id = item.draft.payload["message_id"]
        if self._ledger.row("SELECT 1 FROM mail WHERE message_id = ? AND is_own = 1", message_id):
            return Evidence.SENT
        archived = self._lookup(message_id)
        if archived is not None:
            return Evidence.SENT if archived else Evidence.NOT_SENT
        return Evidence.NOT_SENT if self._reads_own_mail else Evidence.UNKNOWN

    def overtaken(self, item: Item) -> str | None:
        """Why the mail is not worth sending any more."""
        return self._why_not(item)

    def send(self, item: Item, begin: Callable[[], None]) -> str:
        """Sends the mail; its Message-ID. Only while the text itself is under way can the outcome be unclear."""
        value = item.draft.payload
        raw = value["raw"].encode("utf-8")
        with self._connection() as server:
            takes_8bit = server.has_extn("8bitmime")
            lines = (raw if takes_8bit else to_seven_bit(raw)).replace(b"\n", b"\r\n")
            self._address(server, value["recipients"], ("BODY=8BITMIME",) if takes_8bit else ())
            begin()
            try:
                code, _ = server.data(lines)
            except smtplib.SMTPDataError as error:
                raise _refusal(error.smtp_code, "the mail") from error
            except (smtplib.SMTPException, OSError) as error:
                raise UncertainError(f"{self._mail.smtp_host} went away while it took the mail") from error
            if code != 250:
                raise _refusal(code, "the mail")
        return str(value["message_id"])

    def _address(self, server: smtplib.SMTP, recipients: list[str], options: tuple[str, ...]) -> None:
        try:
            code, _ = server.mail(self._mail.envelope_from or self._mail.address, options)
            if code != 250:
                raise _refusal(code, "the sender's address")
            codes = [server.rcpt(recipient)[0] for recipient in recipients]
        except (smtplib.SMTPException, OSError) as error:
            raise PostponedError(f"{self._mail.smtp_host} went away before it took the mail") from error
        if not any(code in (250, 251) for code in codes):
            raise _refusal(min(codes), "all recipients")

    @contextlib.contextmanager
    def _connection(self) -> Iterator[smtplib.SMTP]:
        try:
            server = self._connect()
        except smtplib.SMTPAuthenticationError as error:
            raise PostponedError(f"{self._mail.smtp_host} does not accept our user and password") from error
        except (smtplib.SMTPException, OSError) as error:
            raise PostponedError(f"{self._mail.smtp_host} cannot be reached ({type(error).__name__})") from error
        try:
            yield server
        finally:
            with contextlib.suppress(smtplib.SMTPException, OSError):
                server.quit()
            server.close()

    def _connect(self) -> smtplib.SMTP:
        mail = self._mail
        if mail.smtp_security is Security.TLS:
            context = ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                mail.smtp_host, mail.smtp_port, timeout=mail.smtp_timeout_s, context=context
            )
        else:
            server = smtplib.SMTP(mail.smtp_host, mail.smtp_port, timeout=mail.smtp_timeout_s)
        try:
            server.ehlo()
            if mail.smtp_security is Security.STARTTLS:
                server.starttls(context=ssl.create_default_context())
                server.ehlo()
            if mail.smtp_user:
                server.login(mail.smtp_user, self._password.reveal() if self._password else "")
        except BaseException:
            server.close()
            raise
        return server


def _refusal(code: int, what: str) -> RefusedError | PostponedError:
    if 500 <= code < 600:
        return RefusedError(f"the mail server refused {what} for good ({code})")
    return PostponedError(f"the mail server does not take {what} now ({code})")
