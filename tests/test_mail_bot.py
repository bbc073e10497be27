"""The mail bot: one polite answer to the right mail, and silence wherever a robot should be silent."""

from __future__ import annotations

import email
import email.policy
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from email.message import EmailMessage
from pathlib import Path

import pytest
from bots import LIST, ROBOT, FakeReviewer, log_text, mail, make_desk, make_voice, series_mails
from servers import ImapServer, MailServer, Post, imap_server, mail_server
from test_ledger import Clock

from reviewbot.delivery.clock import StopAsked
from reviewbot.delivery.hygiene import identity_of, why_not_answer
from reviewbot.delivery.outbox import Item, State
from reviewbot.delivery.reply import Reply, to_reply, to_seven_bit
from reviewbot.delivery.settings import BotSection, ListSettings, Mails, Recipients, Security
from reviewbot.delivery.smtp import MailSender
from reviewbot.errors import ConfigError, FetchError, UsageError
from reviewbot.findings.finding import Severity
from reviewbot.frontends.isolation import ReviewFailedError
from reviewbot.frontends.mail_sources import ImapFolder, Maildir
from reviewbot.frontends.mail_watch import MailWatcher
from reviewbot.frontends.watching import Desk
from reviewbot.http import Secret
from reviewbot.mail.decode import decode_message
from reviewbot.series.from_mail import find_series

LOUD = ListSettings(mute=False, dry_run=False, mail=True, address=LIST, recipients=Recipients.EVERYONE)
OWN = identity_of(ROBOT)


class Box:
    """A maildir that the tests deliver into."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for folder in ("new", "cur", "tmp"):
            (path / folder).mkdir(parents=True)
        self.count = 0

    def deliver(self, *raws: bytes) -> None:
        for raw in raws:
            self.count += 1
            file = self.path / "tmp" / f"{self.count:06}.x"
            file.write_bytes(raw)
            file.rename(self.path / "new" / file.name)


@dataclass
class Bot:
    """A mail watcher with what it works with; `sent` are the mails that went out."""

    watcher: MailWatcher
    desk: Desk
    box: Box
    reviewer: FakeReviewer
    clock: Clock
    sent: list[EmailMessage]

    def poll(self, after_s: float = 4000.0) -> None:
        self.clock.time += after_s
        self.watcher.poll()


class Remembering:
    """A sender that only remembers."""

    settle_s = 60.0

    def __init__(self, sent: list[EmailMessage], why_not: Callable[[Item], str | None]) -> None:
        self._sent = sent
        self.overtaken = why_not

    def find(self, item: Item) -> object:
        raise AssertionError("nothing is unclear here")

    def send(self, item: Item, begin: Callable[[], None]) -> str:
        begin()
        self._sent.append(parse(item.draft.payload["raw"].encode()))
        return "x"


def parse(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def make_bot(directory: Path, reviewer: FakeReviewer | None = None, box: Box | None = None, **settings: object) -> Bot:
    from reviewbot.delivery.lineage import overtaken_by

    where = replace(LOUD, **settings)  # type: ignore[arg-type]
    desk = make_desk(directory / "state", {}, BotSection(look_back_days=1e6, attempts=2))
    sent: list[EmailMessage] = []

    def why_not(item: Item) -> str | None:
        newer = overtaken_by(desk.ledger, item.draft.series, item.draft.place)
        return f"version {newer.version} is out" if newer else None

    desk.outbox._senders["mail"] = Remembering(sent, why_not)  # type: ignore[assignment]
    box = box or Box(directory / "box")
    reviewer = reviewer or FakeReviewer(guilty={2: ("f1",)})
    watcher = MailWatcher(desk, Maildir(box.path), {"demo": where}, make_voice(), find=find_series, review=reviewer)
    assert isinstance(desk.clock, Clock)
    return Bot(watcher=watcher, desk=desk, box=box, reviewer=reviewer, clock=desk.clock, sent=sent)


def raws(mails: list[tuple[str, str, bytes]]) -> list[bytes]:
    return [raw for _, _, raw in mails]


def deliver_and_poll(bot: Bot, *, rounds: int = 3, **kinds: object) -> None:
    bot.box.deliver(*raws(series_mails(**kinds)))  # type: ignore[arg-type]
    for _ in range(rounds):
        bot.poll()


# The hygiene table, row by row


def reply_to(
    raw: bytes, body: str = "Hi,\n\n> +\tflush_it(current);\n\nThis can be traced.\n", **settings: object
) -> Reply:
    from datetime import UTC, datetime

    made = to_reply(
        decode_message(raw, "x"), body, series="v1-0@example.org", rules_version="r1", mail=make_voice().mail,
        where=replace(LOUD, **settings), own=OWN, now=datetime(2026, 1, 6, tzinfo=UTC),  # type: ignore[arg-type]
    )  # fmt: skip
    assert made is not None
    return made


def test_row_in_reply_to_is_the_patch_with_the_finding(tmp_path: Path) -> None:
    bot = make_bot(tmp_path)
    deliver_and_poll(bot)
    (sent,) = bot.sent
    assert sent["In-Reply-To"] == "<v1-2@example.org>"
    assert sent["Subject"] == "Re: [PATCH 2/2] powerpc/frame: Step 2"


def test_row_a_summary_goes_to_the_cover(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(guilty={1: ("f1",), 2: ("f2",)}))
    deliver_and_poll(bot)
    (sent,) = bot.sent
    assert sent["In-Reply-To"] == "<v1-0@example.org>"


def test_row_references_hold_the_full_chain_folded() -> None:
    chain = [f"{'long' * 20}.{at}@example.org" for at in range(30)]
    raw = mail("[PATCH] x", "p@example.org", answers=chain[-1], references=" ".join(f"<{each}>" for each in chain))
    reply = reply_to(raw)
    assert re.findall(r"<([^>]+)>", parse(reply.raw)["References"]) == [*chain, "p@example.org"]
    assert max(map(len, reply.raw.split(b"\n"))) < 998


def test_row_references_begin_from_in_reply_to_where_there_is_no_chain() -> None:
    raw = mail("[PATCH] x", "p@example.org", answers="root@example.org").replace(
        b"References: <root@example.org>\n", b""
    )
    assert parse(reply_to(raw).raw)["References"].split() == ["<root@example.org>", "<p@example.org>"]


def test_row_message_id_is_the_same_for_the_same_words_only() -> None:
    raw = mail("[PATCH] x", "p@example.org")
    assert reply_to(raw).message_id == reply_to(raw).message_id
    assert reply_to(raw).message_id != reply_to(raw, "other words\n").message_id
    assert reply_to(raw).message_id.endswith("@reviewbot.example.net")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Auto-Submitted", "auto-generated"),
        ("Precedence", "bulk"),
        ("X-Patchwork-Hint", "ignore"),
        ("Robot-ID", f"<{ROBOT}>"),
        ("Robot-Unsubscribe", "Contact <mailto:stop@example.net> to get no more of these mails"),
        ("From", f"reviewbot <{ROBOT}>"),
        ("MIME-Version", "1.0"),
    ],
)
def test_row_headers_that_mark_a_robot(name: str, value: str) -> None:
    assert parse(reply_to(mail("[PATCH] x", "p@example.org")).raw).get_all(name) == [value]


def automatic(**headers: str) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return mail("[PATCH] x", "p@example.org", headers=lines)


AUTOMATIC = {
    "auto-submitted": automatic(Auto_Submitted="auto-replied"),
    "auto-submitted with a comment": automatic(Auto_Submitted="Auto-Generated; owner-email=x"),
    "null return path": automatic(Return_Path="<>"),
    "bulk with a robot header": automatic(Precedence="bulk", X_Robot="yes"),
    "junk with a loop header": automatic(Precedence="junk", X_Loop="list"),
    "tip-bot": automatic(Robot_ID="<tip-bot2@linutronix.example>"),
    "patchwork hint": automatic(X_Patchwork_Hint="ignore"),
    "own address": mail("[PATCH] x", "p@example.org", author=f"Somebody <{ROBOT}>"),
    "own address in another case and with a tag": mail("[PATCH] x", "p@example.org", author="x <Robot+tag@Example.NET>"),  # noqa: E501
    "own message-id in references": mail("[PATCH] x", "p@example.org", answers="root@x.org", references="<root@x.org> <abc@reviewbot.example.net>"),  # noqa: E501
    "own message-id in in-reply-to": mail("[PATCH] x", "p@example.org", answers="abc@reviewbot.example.net", references="<q@x.org>"),  # noqa: E501
    "own message-id": mail("[PATCH] x", "abc@reviewbot.example.net"),
    "a bounce": mail("[PATCH] x", "p@example.org", author="MAILER-DAEMON <mailer-daemon@example.org>"),
    "lkp": mail("[PATCH] x", "p@example.org", author="kernel test robot <lkp@example.com>"),
    "syzbot": mail("[PATCH] x", "p@example.org", author="syzbot <syzbot+abcdef@syzkaller.example.com>"),
    "patchwork-bot": mail("[PATCH] x", "p@example.org", author="x <patchwork-bot+netdev@example.org>"),
}  # fmt: skip


@pytest.mark.parametrize("name", AUTOMATIC)
def test_row_automatic_mail_is_ignored(name: str, tmp_path: Path) -> None:
    assert why_not_answer(decode_message(AUTOMATIC[name], "x"), OWN) is not None
    bot = make_bot(tmp_path, FakeReviewer(guilty={1: ("f1",)}))
    bot.box.deliver(AUTOMATIC[name])
    bot.poll()
    bot.poll()
    assert bot.sent == [] and bot.reviewer.seen == []


@pytest.mark.parametrize(
    "raw",
    [
        automatic(Auto_Submitted="no"),
        automatic(Return_Path="<jane@example.org>"),
        automatic(Precedence="list"),
        automatic(Precedence="bulk"),  # list servers add it
        automatic(X_Loop="list"),
        mail("[PATCH] x", "p@example.org", author="A Bott <abott@example.org>"),
        mail("[PATCH] x", "p@example.net", author="Jane <jane@example.net>"),  # our own domain is not only ours
    ],
    ids=["auto-submitted no", "return path", "list", "bulk", "loop", "a name like a robot's", "same domain"],
)
def test_mail_of_people_is_answered(raw: bytes) -> None:
    assert why_not_answer(decode_message(raw, "x"), OWN) is None


def test_row_patchwork_never_takes_it_for_a_patch() -> None:
    body = "--- a/x.c\n+++ b/x.c\n@@ -1,2 +1,2 @@\n-old\n+new\ndiff --git a/x b/x\nIndex: x\n> --- a/x.c\n"
    sent = parse(reply_to(mail("Re: RE: [PATCH] x", "p@example.org"), body).raw)
    assert sent["Subject"] == "Re: [PATCH] x"
    assert not re.search(r"^(?:--- |\+\+\+ |@@ |diff |Index: )", sent.get_content(), re.MULTILINE)


@pytest.mark.parametrize(
    ("author", "headers", "body", "expected"),
    [
        ('"Jane Roe via Demo" <demo@lists.example.org>', ["Reply-To: Jane Roe <jane@example.org>", "List-Post: <mailto:demo@lists.example.org>"], "", "jane@example.org"),  # noqa: E501
        ("Jane via B4 Relay <devnull+jane.example.org@kernel.org>", ["X-Original-From: Jane Roe <jane@example.org>"], "", "jane@example.org"),  # noqa: E501
        ('"A. Author (TI)" <a-author@example.com>', [], "", "a-author@example.com"),
    ],
)  # fmt: skip
def test_row_the_real_author_behind_relays(author: str, headers: list[str], body: str, expected: str) -> None:
    reply = reply_to(mail("[PATCH] x", "p@example.org", author=author, headers=headers))
    assert reply.recipients.count(expected) == 1 and reply.reader == expected
    assert not any(each.startswith("devnull+") for each in reply.recipients)


def test_row_recipients_are_unique_and_own_address_is_removed() -> None:
    to = f'"Roe, Jane" <JANE@example.org>, Demo <Demo@Lists.example.org>, {ROBOT}, "Maintainer (TI)" <bob@example.com>'
    reply = reply_to(mail("[PATCH] x", "p@example.org", to=to))
    assert sorted(reply.recipients) == ["bob@example.com", "demo@lists.example.org", "jane@example.org"]
    sent = parse(reply.raw)
    assert sent["To"].addresses[0].addr_spec == "jane@example.org"
    assert {each.addr_spec for each in sent["Cc"].addresses} == {"demo@lists.example.org", "bob@example.com"}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Recipients.AUTHOR, ["jane@example.org"]),
        (Recipients.AUTHOR_AND_LIST, ["jane@example.org", LIST]),
        (Recipients.EVERYONE, ["jane@example.org", LIST, "bob@example.com"]),
        (Recipients.ONLY_CC, ["boss@example.net"]),
    ],
)
def test_the_recipients_policy(policy: Recipients, expected: list[str]) -> None:
    cc = ("boss@example.net",) if policy is Recipients.ONLY_CC else ()
    assert list(reply_to(mail("[PATCH] x", "p@example.org"), recipients=policy, cc=cc).recipients) == expected


def test_who_asked_for_silence_gets_no_mail(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, quiet_for=("Jane@example.org",))
    deliver_and_poll(bot)
    assert bot.sent == []


def test_row_body_is_one_plain_part_in_utf8_and_78_columns(tmp_path: Path) -> None:
    bot = make_bot(tmp_path)
    deliver_and_poll(bot)
    (sent,) = bot.sent
    assert sent.get_content_type() == "text/plain" and not sent.is_multipart()
    assert sent.get_content_charset() == "utf-8" and sent["Content-Transfer-Encoding"] in ("7bit", "8bit")
    text = sent.get_content()
    assert all(len(line) <= 78 for line in text.splitlines() if not line.startswith("> "))
    assert "> +\tflush_it(current);" in text and "naïve" in text and "stop@example.net" in text


def test_a_server_without_8bit_gets_the_same_words_in_ascii() -> None:
    raw = reply_to(mail("[PATCH] x", "p@example.org"), "naïve = 1\n\n-- \nreviewbot\n").raw
    assert to_seven_bit(raw).isascii()
    assert parse(to_seven_bit(raw)).get_content() == parse(raw).get_content() == "naïve = 1\n\n-- \nreviewbot\n"


def test_text_from_a_mail_cannot_break_a_header() -> None:
    subject = "=?utf-8?q?[PATCH]_x=0D=0ABcc:_evil@example.org?="
    reply = reply_to(mail(subject, "p@example.org", author="=?utf-8?q?J=0AX-Evil:_1_=E2=80=AE?= <jane@example.org>"))
    sent = parse(reply.raw)
    assert "X-Evil" not in sent and "Bcc" not in sent and "\u202e" not in str(sent["To"])
    assert "evil@example.org" not in reply.recipients


def test_row_at_most_one_mail_per_series_and_never_a_second(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(guilty={1: ("f1",), 2: ("f2",)}))
    deliver_and_poll(bot, count=3)
    bot.box.deliver(*raws(series_mails(3)))  # every mail again, as a second list would bring it
    bot.poll()
    bot.poll()
    assert len(bot.sent) == 1


def test_row_one_mail_per_patch_where_the_list_wants_that(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(guilty={1: ("f1", "f2"), 2: ("f3",)}), mails=Mails.ONE_PER_PATCH)
    deliver_and_poll(bot, count=3)
    assert sorted(sent["In-Reply-To"] for sent in bot.sent) == ["<v1-1@example.org>", "<v1-2@example.org>"]


def test_row_an_outdated_version_is_not_reviewed(tmp_path: Path) -> None:
    bot = make_bot(tmp_path)
    bot.box.deliver(*raws(series_mails(2, 1)), *raws(series_mails(2, 2)))
    bot.poll()
    bot.poll()
    assert [series.version for series in bot.reviewer.seen] == [2] and "version 2 is out" in log_text(bot.desk)


def test_row_a_newer_version_is_looked_for_right_before_sending(tmp_path: Path) -> None:
    bot = make_bot(tmp_path)
    sender = bot.desk.outbox._senders.pop("mail")  # the mail server is away
    deliver_and_poll(bot)
    bot.box.deliver(raws(series_mails(2, 2))[0])  # the cover of v2 is out, its patches are not yet
    bot.watcher._read()
    bot.desk.outbox._senders["mail"] = sender
    bot.poll(0)
    assert bot.sent == []
    assert [item.note for item in bot.desk.outbox.items((State.WITHDRAWN,))] == ["version 2 is out"]


def test_row_a_new_list_is_mute_and_dry(tmp_path: Path) -> None:
    mute = make_bot(tmp_path / "a", mute=True)
    deliver_and_poll(mute)
    assert mute.reviewer.seen == [] and mute.sent == []
    dry = make_bot(tmp_path / "b", dry_run=True)
    deliver_and_poll(dry)
    assert len(dry.reviewer.seen) == 1 and dry.sent == []
    assert [item.state for item in dry.desk.outbox.items()] == [State.DRY_RUN]


def test_row_a_delay_lets_people_see_the_patch_first(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, delay_minutes=120)
    bot.box.deliver(*raws(series_mails()))
    bot.poll()
    bot.poll()
    assert bot.sent == []
    bot.poll()
    assert len(bot.sent) == 1


# Putting series together


def test_an_unthreaded_series_is_one_series(tmp_path: Path) -> None:
    bot = make_bot(tmp_path)
    deliver_and_poll(bot, with_cover=False)
    assert [len(series.patches) for series in bot.reviewer.seen] == [2]


def test_a_series_with_patches_of_several_authors_is_one_series(tmp_path: Path) -> None:
    bot = make_bot(tmp_path)
    mails = raws(series_mails(3))
    mails[2] = mails[2].replace(b"\n\n", b"\n\nFrom: Paul Poe <paul@example.org>\n\n", 1)
    bot.box.deliver(*mails)
    bot.poll()
    assert [len(series.patches) for series in bot.reviewer.seen] == [3]
    assert [each.addr_spec for each in bot.sent[0]["To"].addresses] == ["paul@example.org", "jane@example.org"]


def test_parts_that_come_late_and_in_any_order(tmp_path: Path) -> None:
    bot = make_bot(tmp_path)
    mails = raws(series_mails(3))
    for raw in (mails[3], mails[1], mails[0], mails[2]):
        bot.box.deliver(raw)
        bot.poll(60)
    assert [len(series.patches) for series in bot.reviewer.seen] == [3]


def test_an_incomplete_series_is_reviewed_after_a_while_with_what_is_missing(tmp_path: Path) -> None:
    bot = make_bot(tmp_path)
    bot.box.deliver(*raws(series_mails(3))[:3])
    bot.poll(60)
    assert bot.reviewer.seen == []
    bot.poll(3600)
    assert [series.missing for series in bot.reviewer.seen] == [(3,)]


def test_a_reply_with_a_diff_is_no_patch(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(guilty={1: ("f1",)}))
    bot.box.deliver(mail("Re: [PATCH] powerpc/frame: Step 1", "r@example.org", answers="v1-1@example.org"))
    bot.poll()
    bot.poll()
    assert bot.reviewer.seen == []


def test_mail_of_another_list_is_passed_over(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(guilty={1: ("f1",)}))
    bot.box.deliver(mail("[PATCH] x", "p@example.org", to="other@lists.example.org"))
    bot.poll()
    bot.poll()
    assert bot.reviewer.seen == []


def test_a_list_is_known_by_its_list_id_too(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(guilty={1: ("f1",)}))
    bot.box.deliver(
        mail("[PATCH] x", "p@example.org", to="jane@example.org", headers=["List-Id: Demo <demo.lists.example.org>"])
    )
    bot.poll()
    bot.poll()
    assert len(bot.sent) == 1


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x00\xff\xfe", b"Subject: [PATCH] no id\n\nx", b"[PATCH]\n" * 50],
    ids=["empty", "binary", "no id", "no head"],
)
def test_rubbish_in_the_folder_stops_nothing(tmp_path: Path, raw: bytes) -> None:
    bot = make_bot(tmp_path)
    bot.box.deliver(raw, *raws(series_mails()))
    bot.poll()
    bot.poll()
    assert len(bot.sent) == 1


def test_a_maildir_is_left_as_it_is_and_flags_make_no_new_mail(tmp_path: Path) -> None:
    bot = make_bot(tmp_path)
    deliver_and_poll(bot)
    for file in (bot.box.path / "new").iterdir():
        file.rename(bot.box.path / "cur" / f"{file.name}:2,S")
    again = make_bot(tmp_path, box=bot.box)
    again.poll()
    again.poll()
    assert len(list((bot.box.path / "cur").iterdir())) == 3 and again.reviewer.seen == []


def test_old_mail_in_a_new_watchers_folder_is_left_alone(tmp_path: Path) -> None:
    import os
    import time

    bot = make_bot(tmp_path)
    bot.clock.time = time.time()
    bot.box.deliver(*raws(series_mails()))
    for file in (bot.box.path / "new").iterdir():
        os.utime(file, (time.time() - 40 * 86400,) * 2)
    object.__setattr__(bot.desk.bot, "look_back_days", 3.0)
    bot.poll()
    bot.poll()
    assert bot.reviewer.seen == []


def test_a_folder_that_is_no_maildir_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a maildir"):
        Maildir(tmp_path)


# IMAP


def imap_bot(directory: Path, server: ImapServer) -> Bot:
    bot = make_bot(directory)
    section = replace(
        make_voice().mail, imap_host="127.0.0.1", imap_port=server.port, imap_user="u", imap_security=Security.NONE
    )
    bot.watcher._source = ImapFolder(section, Secret("p4ssw0rd"))
    bot.watcher._jobs.source = bot.watcher._source.name
    return bot


def test_an_imap_folder_is_read_once_and_never_changed(tmp_path: Path) -> None:
    with imap_server() as server:
        server.mails += raws(series_mails())
        bot = imap_bot(tmp_path, server)
        bot.poll()
        bot.poll()
        assert len(bot.sent) == 1 and len(bot.reviewer.seen) == 1
        fetched = sum("BODY.PEEK" in each for each in server.commands)
        server.mails += raws(series_mails(2, 2))
        bot.poll()
        assert sum("BODY.PEEK" in each for each in server.commands) == fetched + 3
        assert len(bot.reviewer.seen) == 2
        assert not [each for each in server.commands if each.upper().split()[0] in ("SELECT", "STORE", "EXPUNGE")]


def test_an_imap_folder_that_was_numbered_anew_brings_no_mail_twice(tmp_path: Path) -> None:
    with imap_server() as server:
        server.mails += raws(series_mails())
        bot = imap_bot(tmp_path, server)
        bot.poll()
        server.validity += 1
        bot.poll()
        assert len(bot.reviewer.seen) == 1 and len(bot.sent) == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param("EXAMINE", b"* OK [UIDVALIDITY x] ok", id="a validity that is no number"),
        pytest.param("UID SEARCH", b"* SEARCH 1 x", id="an id that is no number"),
        pytest.param("UID SEARCH", b"* SEARCH " + b"9" * 5000, id="an id of 5000 digits"),
        pytest.param(
            "UID FETCH 1 (RFC822", b"* 1 FETCH (RFC822.SIZE " + b"9" * 5000 + b")", id="a size of 5000 digits"
        ),
        pytest.param("UID FETCH 1 (BODY", b"* 1 FETCH (BODY[] {99999999999}\r\nx)", id="more bytes than any memory"),
        pytest.param(
            "UID FETCH 1 (BODY", b"* 1 FETCH (BODY[] {" + b"9" * 5000 + b"}\r\nx)", id="a count of 5000 digits"
        ),
    ],
)
def test_an_imap_server_that_lies_is_told_as_one_that_cannot_be_read(asked: str, said: bytes, tmp_path: Path) -> None:
    """No number of it ends the watcher or fills the memory."""
    with imap_server() as server:
        honest = server.answer
        server.answer = lambda line: [said] if line.upper().startswith(asked) else honest(line)  # type: ignore[method-assign]
        server.mails = [b"From: J <j@example.org>\r\nSubject: x\r\nMessage-ID: <1@example.org>\r\n\r\nx\r\n"]
        bot = imap_bot(tmp_path, server)
        with pytest.raises(FetchError, match="cannot be read"):
            bot.poll()


def test_an_imap_server_that_is_away_is_told_without_the_password(tmp_path: Path) -> None:
    bot = imap_bot(tmp_path, ImapServer(port=1))
    with pytest.raises(FetchError, match="cannot be read") as caught:
        bot.poll()
    assert "p4ssw0rd" not in str(caught.value)


# What is said, and what is not said again


def test_what_v2_was_told_is_not_repeated_for_v3_but_news_is(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(guilty={2: ("f1",)}))
    deliver_and_poll(bot, version=2)
    deliver_and_poll(bot, version=3)
    assert len(bot.sent) == 1 and len(bot.reviewer.seen) == 2
    bot.reviewer.guilty = {2: ("f1", "f2")}
    deliver_and_poll(bot, version=4)
    assert len(bot.sent) == 2 and "f2" in bot.sent[1].get_content() and "f1]" not in bot.sent[1].get_content()


def test_what_was_said_about_v2_is_said_to_a_new_reader(tmp_path: Path) -> None:
    bot = make_bot(tmp_path)
    deliver_and_poll(bot, version=2)
    deliver_and_poll(bot, version=3, author="Paul Poe <paul@example.org>")
    assert [sent["To"].addresses[0].addr_spec for sent in bot.sent] == ["jane@example.org", "paul@example.org"]


def test_what_a_dry_run_would_have_said_is_said_later(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, dry_run=True)
    deliver_and_poll(bot, version=2)
    loud = make_bot(tmp_path, box=bot.box)
    loud.clock.time = bot.clock.time
    deliver_and_poll(loud, version=3)
    assert len(loud.sent) == 1


def test_below_the_threshold_nothing_is_mailed(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(guilty={}))
    deliver_and_poll(bot)
    assert bot.sent == [] and len(bot.reviewer.seen) == 1
    assert ListSettings().mail_at is Severity.WARNING


def test_a_broken_review_is_tried_again_then_given_up_in_silence(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(trouble=[ReviewFailedError("broke")] * 5))
    deliver_and_poll(bot, rounds=6)
    assert len(bot.reviewer.seen) == 2 and bot.sent == [] and '"attempt": 2' in log_text(bot.desk)


def test_a_stop_in_the_middle_rolls_back(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(guilty={2: ("f1",)}, trouble=[StopAsked()]))
    bot.box.deliver(*raws(series_mails()))
    with pytest.raises(StopAsked):
        bot.poll()
    bot.poll()
    assert len(bot.sent) == 1


def test_fed_its_own_output_a_thousand_times_it_says_nothing(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FakeReviewer(guilty={1: ("f1",), 2: ("f2",)}), mails=Mails.ONE_PER_PATCH)
    deliver_and_poll(bot)
    own = [item.draft.payload["raw"].encode() for item in bot.desk.outbox.items()]
    reviewed, sent = len(bot.reviewer.seen), len(bot.sent)
    assert sent == 2
    bot.box.deliver(*(own * 500))
    # Also as a list would bring it: other headers in front, one from a mail program that lost the marks.
    stripped = re.sub(rb"^(?:Auto-Submitted|Precedence|X-|Robot-).*\n", b"", own[0], flags=re.MULTILINE)
    bot.box.deliver(
        b"List-Id: Demo <demo.lists.example.org>\n" + own[0], stripped, stripped.replace(b"Subject: Re: ", b"Subject: ")
    )
    bot.poll()
    bot.poll()
    assert (len(bot.reviewer.seen), len(bot.sent)) == (reviewed, sent)


# SMTP


def make_sender(server: MailServer, desk: Desk, **options: object) -> MailSender:
    section = replace(make_voice().mail, smtp_port=server.port, smtp_security=Security.NONE, smtp_timeout_s=5.0)
    return MailSender(section, None, desk.ledger, **options)  # type: ignore[arg-type]


def smtp_bot(directory: Path, server: MailServer, **options: object) -> Bot:
    bot = make_bot(directory)
    bot.desk.outbox._senders["mail"] = make_sender(server, bot.desk, **options)
    return bot


def test_a_mail_arrives_whole_and_bounces_go_elsewhere(tmp_path: Path) -> None:
    with mail_server() as server:
        bot = smtp_bot(tmp_path, server)
        deliver_and_poll(bot)
    (post,) = server.posts
    assert post.sender == "bounces@example.net"
    assert post.recipients == ["jane@example.org", LIST, "bob@example.com"]
    (item,) = bot.desk.outbox.items()
    assert post.raw.replace(b"\r\n", b"\n") == item.draft.payload["raw"].encode()


@pytest.mark.parametrize(
    ("answer", "state"), [("451 later", State.PENDING), ("550 never", State.FAILED), ("552 too big", State.FAILED)]
)
def test_what_the_server_refuses(tmp_path: Path, answer: str, state: State) -> None:
    with mail_server() as server:
        server.answer = lambda post: answer
        bot = smtp_bot(tmp_path, server)
        deliver_and_poll(bot, rounds=1)
        bot.poll()
    assert [item.state for item in bot.desk.outbox.items()] == [state]


def test_one_bad_recipient_does_not_stop_the_others(tmp_path: Path) -> None:
    with mail_server() as server:
        server.refuse_recipients = ("bob@example.com",)
        deliver_and_poll(smtp_bot(tmp_path, server))
    assert server.posts[0].recipients == ["jane@example.org", LIST]


@pytest.mark.parametrize("arrived", [True, False])
def test_a_lost_answer_waits_for_the_copy_from_the_list(tmp_path: Path, arrived: bool) -> None:
    with mail_server() as server:
        answers = iter(["drop_after" if arrived else "drop"])
        server.answer = lambda post: next(answers, None)
        bot = smtp_bot(tmp_path, server, reads_own_mail=True)
        deliver_and_poll(bot, rounds=1)
        assert [item.state for item in bot.desk.outbox.items()] == [State.UNCERTAIN]
        bot.box.deliver(*[post.raw for post in server.posts])  # the list sends it back, where it got it
        bot.poll(20_000)
        assert [item.state for item in bot.desk.outbox.items()] == [State.SENT] and len(server.posts) == 1


def test_a_lost_answer_without_any_proof_is_left_to_people(tmp_path: Path) -> None:
    with mail_server() as server:
        server.answer = lambda post: "drop_after"
        bot = smtp_bot(tmp_path, server)
        deliver_and_poll(bot, rounds=5)
    assert [item.state for item in bot.desk.outbox.items()] == [State.UNCERTAIN] and len(server.posts) == 1


@pytest.mark.parametrize(("found", "state"), [(True, State.SENT), (None, State.UNCERTAIN)])
def test_an_archive_can_be_the_proof(tmp_path: Path, found: bool | None, state: State) -> None:
    with mail_server() as server:
        server.answer = lambda post: "drop_after"
        bot = smtp_bot(tmp_path, server, lookup=lambda message_id: found)
        deliver_and_poll(bot, rounds=6)
    assert [item.state for item in bot.desk.outbox.items()] == [state] and len(server.posts) == 1


def test_a_server_that_is_away_is_tried_later(tmp_path: Path) -> None:
    bot = smtp_bot(tmp_path, MailServer(port=1))
    deliver_and_poll(bot, rounds=1)
    (item,) = bot.desk.outbox.items()
    assert item.state is State.PENDING and "cannot be reached" in item.note


def test_a_password_never_goes_out_in_the_clear(tmp_path: Path) -> None:
    section = replace(make_voice().mail, smtp_host="mail.example.org", smtp_user="u", smtp_security=Security.NONE)
    with pytest.raises(ConfigError, match="in the clear"):
        MailSender(section, None, make_desk(tmp_path).ledger)


# Killed at every step

_MAILER = textwrap.dedent(
    """
    import os, smtplib, sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[1])
    import dataclasses
    from bots import FakeReviewer
    from servers import MailServer
    from test_mail_bot import Box, make_bot, raws, series_mails, smtp_bot

    base, server = Path(sys.argv[2]), MailServer(port=int(sys.argv[3]))

    def run(number, kill_at, time):
        steps = 0
        def step(statement=""):
            nonlocal steps
            if statement and "outbox" not in statement and statement != "COMMIT":
                return
            steps += 1
            if steps == kill_at:
                os._exit(9)
        for name in ("connect", "mail", "rcpt", "data"):
            plain = getattr(smtplib.SMTP, name)
            def traced(self, *arguments, plain=plain, **options):
                step()
                answer = plain(self, *arguments, **options)
                step()
                return answer
            setattr(smtplib.SMTP, name, traced)
        box = Box.__new__(Box)
        box.path, box.count = base / str(number) / "box", 100
        bot = make_bot(base / str(number), box=box)
        from test_mail_bot import make_sender
        bot.desk.outbox._senders["mail"] = make_sender(server, bot.desk, reads_own_mail=True)
        bot.desk.ledger._db.set_trace_callback(step)
        bot.clock.time += time
        bot.watcher.poll()
        bot.poll(10)

    def forked(*arguments):
        child = os.fork()
        if child == 0:
            try:
                run(*arguments)
            finally:
                os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    for number in range(1, 1000):
        box = Box(base / str(number) / "box")
        box.deliver(*[raw.replace(b"example.org>", b"%d.example.org>" % number) for raw in raws(series_mails())])
        if forked(number, number, 0) != 9:
            break
        print(number, flush=True)
        sys.stdin.readline()  # the test brings back what the list would send
        forked(number, 0, 100_000)
        forked(number, 0, 200_000)
    """
)


def test_killed_at_every_step_a_mail_is_neither_lost_nor_repeated(tmp_path: Path) -> None:
    with mail_server() as server:
        command = [sys.executable, "-c", _MAILER, str(Path(__file__).parent), str(tmp_path), str(server.port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None and process.stdout is not None
            lives = 0
            for line in process.stdout:
                lives = int(line)
                for at, post in enumerate(each for each in server.posts if f"{lives}.example.org" in _parent(each)):
                    (tmp_path / str(lives) / "box" / "new" / f"back{at}").write_bytes(post.raw)
                process.stdin.write("\n")
                process.stdin.flush()
            assert process.wait(30) == 0
    assert lives > 25
    parents = [_parent(each) for each in server.posts]
    for number in range(1, lives + 1):
        assert parents.count(f"<v1-2@{number}.example.org>") == 1, number


def _parent(post: Post) -> str:
    return str(parse(post.raw)["In-Reply-To"])
