"""Mailboxes of every kind, mails of every kind, and what is refused."""

# ruff: noqa: E501 - tables of inputs are read line by line

from __future__ import annotations

import base64
import gzip
import io
import quopri
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewbot.errors import InputError
from reviewbot.mail.addresses import parse_addresses
from reviewbot.mail.charset import to_bytes
from reviewbot.mail.decode import decode_message
from reviewbot.mail.limits import Limits
from reviewbot.mail.mailbox import read_mail_bytes, read_mailbox
from reviewbot.mail.message import Message

FROM = "From mboxrd@z Thu Jan  1 00:00:00 1970\n"
DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


def mail(body: str = "hello\n", **headers: str) -> bytes:
    fields = {"From": "Jane Roe <jane@example.org>", "Subject": "[PATCH] x", "Message-ID": "<1@example.org>"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    return ("".join(f"{name}: {value}\n" for name, value in fields.items()) + "\n" + body).encode(
        "utf-8", "surrogateescape"
    )


def decoded(body: str = "hello\n", **headers: str) -> Message:
    return decode_message(mail(body, **headers), "test")


# --- mailboxes


@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("From mboxrd@z Thu Jan  1 00:00:00 1970", "a\n\n>From x\n>>From y\n"),
        ("From jane@example.org Fri Oct 16 02:22:39 2020", "a\n\n>From x\n>>From y\n"),
        ("From jane at example.org  Fri Oct 16 02:22:39 2020", "a\n\n>From x\n"),
        ("From - Fri Oct 16 02:22:39 2020", "a\n"),
        ("From patchwork Thu Oct 15 15:01:52 2020", "a\n"),
        ("From jane@example.org Fri Oct 16 02:22:39 2020 +1100", "a\n"),
        ("From jane@example.org Fri Oct 16 02:22:39 CEST 2020", "a\n"),
    ],
)
def test_an_mbox_of_any_writer_is_split(line: str, body: str) -> None:
    data = b"".join(line.encode() + b"\n" + mail(body) + b"\n" for _ in range(3))
    messages = read_mail_bytes(data, "x.mbox").messages
    assert len(messages) == 3
    assert [message.origin for message in messages] == [f"x.mbox, message {number}" for number in (1, 2, 3)]
    assert ("\nFrom x\n" in messages[1].body) is (">From x" in body)


def test_mboxrd_quoting_is_undone_by_one_level_and_mboxo_only_where_it_quotes() -> None:
    body = "a\n\n>From x\n>>From y\n"
    assert read_mail_bytes(FROM.encode() + mail(body), "x").messages[0].body == "a\n\nFrom x\n>From y\n"
    other = b"From a@b Fri Oct 16 02:22:39 2020\n"
    assert read_mail_bytes(other + mail(body), "x").messages[0].body == "a\n\nFrom x\n>>From y\n"


@pytest.mark.parametrize(
    "inside",
    [
        "From here on it works.\n",
        "\nFrom here on it works.\n",
        "\nFrom Mon to Fri: 10:00\n",
        "\nFrom jane Thu Jan  1 00:00:00 1970\nand no header follows\n",
        "text\nFrom jane@example.org Thu Jan  1 00:00:00 1970\nSubject: no empty line above\n",
    ],
)
def test_a_body_line_that_begins_with_from_splits_nothing(inside: str) -> None:
    data = FROM.encode() + mail(f"a\n{inside}b\n") + b"\n" + FROM.encode() + mail()
    first, second = read_mail_bytes(data, "x").messages
    assert inside.strip() in first.body
    assert second.body == "hello\n"


def test_an_attached_format_patch_does_not_split_its_mail() -> None:
    inner = f"From {'1' * 40} Mon Sep 17 00:00:00 2001\nFrom: J <j@example.org>\nSubject: [PATCH] y\n\nlog\n---\n{DIFF}"
    body = f"--b\nContent-Type: text/plain\n\nsee below\n\n--b\nContent-Type: text/x-patch; name=a.patch\n\n\n{inner}\n--b--\n"
    data = FROM.encode() + mail(body, Content_Type="multipart/mixed; boundary=b") + b"\n" + FROM.encode() + mail()
    messages = read_mail_bytes(data, "x").messages
    assert len(messages) == 2
    assert DIFF in messages[0].body
    assert "see below" in messages[0].body


def test_format_patch_output_is_an_mbox_and_is_not_unquoted() -> None:
    line = f"From {'a' * 40} Mon Sep 17 00:00:00 2001\n".encode()
    messages = read_mail_bytes(line + mail(">From x\n") + b"\n" + line + mail("b\n"), "x").messages
    assert [message.body.strip() for message in messages] == [">From x", "b"]


def test_folders_maildirs_gzip_stdin_and_single_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cur", "new", "tmp"):
        (tmp_path / "maildir" / name).mkdir(parents=True)
    (tmp_path / "maildir" / "cur" / "1.host:2,S").write_bytes(mail("one\n"))
    (tmp_path / "maildir" / "new" / "2.host").write_bytes(mail("two\n"))
    (tmp_path / "maildir" / "tmp" / "3.host").write_bytes(mail("half"))
    assert [message.body for message in read_mailbox(tmp_path / "maildir").messages] == ["one\n", "two\n"]

    (tmp_path / "series").mkdir()
    (tmp_path / "series" / "0002-b.patch").write_bytes(mail("two\n"))
    (tmp_path / "series" / "0001-a.patch").write_bytes(mail("one\n"))
    (tmp_path / "series" / "README").write_text("not a mail\n")
    (tmp_path / "series" / "0003-c.patch").write_text("not a mail\n")
    read = read_mailbox(tmp_path / "series")
    assert [message.origin for message in read.messages] == ["0001-a.patch", "0002-b.patch"]
    (problem,) = read.problems
    assert problem.startswith("0003-c.patch does not look like mail")

    (tmp_path / "t.mbox.gz").write_bytes(
        gzip.compress(FROM.encode() + mail()) + gzip.compress(b"\n" + FROM.encode() + mail())
    )
    assert len(read_mailbox(str(tmp_path / "t.mbox.gz")).messages) == 2
    (tmp_path / "one.eml").write_bytes(mail())
    assert len(read_mailbox(tmp_path / "one.eml").messages) == 1
    (tmp_path / "fix.diff").write_text(DIFF)
    assert read_mailbox(tmp_path / "fix.diff").messages[0].body == DIFF

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(mail("from stdin\n"))))
    assert read_mailbox("-").messages[0].body == "from stdin\n"


REFUSED = [
    ("empty", b"", "is empty"),
    ("blank", b"\n \n", "is empty"),
    ("web page", b"<!DOCTYPE html>\n<html><head><title>[PATCH] x</title>", "web page"),
    ("flattened mail", b"From mboxrd@z Thu Jan 1 00:00:00 1970 Return-Path: Received: from a by b Subject: [PATCH] x To: y\nbody",
     "run together"),
    ("patchwork page", b"diff mbox series\n\n[v3,1/8] powerpc: x\n\nMessage ID 1@x\nState New\nHeaders show\n", "patchwork web page"),
    ("object file", b"\x7fELF\x02\x01\x01" + bytes(100), "ELF"),
    ("junk", bytes(range(256)) * 8, "binary"),
    ("prose", b"Dear all,\nplease find my patch below.\n", "does not look like mail"),
    ("git log", b"commit 1234567890\nAuthor: J <j@example.org>\n\n    x\n", "format-patch"),
    ("C file", b"#include <linux/kernel.h>\nint x: 3;\n", "does not look like mail"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "said"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_is_no_mail_is_refused_in_one_sentence_that_helps(data: bytes, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_mail_bytes(data, "input.txt")
    text = str(caught.value)
    assert text.startswith("input.txt ")
    assert said in text
    assert "\n" not in text
    assert "give" in text


def test_missing_and_empty_places_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_mailbox(tmp_path / "nosuch")
    with pytest.raises(InputError, match="holds no mail"):
        read_mailbox(tmp_path)
    (tmp_path / ".git").mkdir()
    with pytest.raises(InputError, match="reviewbot range"):
        read_mailbox(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_mailbox("a\0b")


# --- one mail


def test_the_headers_of_a_mail_are_read() -> None:
    message = decode_message(
        b"From: =?utf-8?q?J=C3=BCrgen?= Roe <J@Example.ORG>\nTo: a@x, \"Roe, Jane (TI)\" <b@x>\nCC: Last, First <c@x>\n"
        b"Subject: [PATCH v2 1/2] one\n two\nDate: Thu, 15 Oct 2020 10:01:51 -0500\nMessage-Id:\n <m@x>\n"
        b"In-Reply-To: <p@x>\nReferences: <r@x>\n\t<p@x>\n\nbody\n", "o")  # fmt: skip
    assert (message.author.name, message.author.email) == ("Jürgen Roe", "j@example.org")
    assert [address.email for address in (*message.to, *message.cc)] == ["a@x", "b@x", "c@x"]
    assert [address.name for address in (*message.to, *message.cc)] == ["", "Roe, Jane (TI)", "Last, First"]
    assert message.subject == "[PATCH v2 1/2] one two"
    assert message.date is not None and message.date.isoformat() == "2020-10-15T10:01:51-05:00"
    assert (message.message_id, message.in_reply_to, message.references) == ("m@x", "p@x", ("r@x", "p@x"))
    assert message.header("cc") == "Last, First <c@x>"


TEXT = "Jürgen – „ok“ 漢字 é\n+\tint a;\n"
ENCODINGS = [
    ("8bit", "utf-8", TEXT.encode()),
    ("quoted-printable", "utf-8", quopri.encodestring(TEXT.encode())),
    ("base64", "utf-8", base64.encodebytes(TEXT.encode())),
    ("BASE64", '"UTF-8"', base64.encodebytes(TEXT.encode()).rstrip(b"=\n")),
    ("8bit", "y", TEXT.encode()),
    ("8bit", "us-ascii", TEXT.encode()),
    ("8bit", "no\0such", TEXT.encode()),
    ("8bit", "rot13", TEXT.encode()),
    ("8bit", "idna", TEXT.encode()),
    ("8bit", "iso-8859-1", TEXT.encode()),
    ("base64", "utf-16", base64.encodebytes(TEXT.encode("utf-16"))),
    ("base64", "utf-8", base64.encodebytes(TEXT.encode()) + b"\n_____\nlist mailing list\nhttps://example.org/\n"),
]


@pytest.mark.parametrize(
    ("transfer", "charset", "data"), ENCODINGS, ids=[f"{case[0]} {case[1]!r}" for case in ENCODINGS]
)
def test_any_encoding_and_any_charset_label_gives_the_text(transfer: str, charset: str, data: bytes) -> None:
    head = mail("", Content_Type=f"text/plain; charset={charset}", Content_Transfer_Encoding=transfer)
    assert decode_message(head + data, "x").body == TEXT


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [("iso-8859-1", b"J\xfcrgen\n", "Jürgen\n"), ("koi8-r", b"\xf0\xf2\n", "ПР\n"), ("big5", b"\xa4\xa4\n", "中\n"),
     ("y", b"J\xfcrgen\n", "Jürgen\n")],
)  # fmt: skip
def test_rare_charsets_are_decoded(charset: str, data: bytes, text: str) -> None:
    assert decode_message(mail("", Content_Type=f"text/plain; charset={charset}") + data, "x").body == text


def test_bad_bytes_come_back_as_they_were() -> None:
    body = b'+char *s = "\xff\xfe";\n'
    assert to_bytes(decode_message(mail("") + body, "x").body) == body


def test_crlf_of_the_transport_goes_and_cr_of_the_patched_file_stays() -> None:
    assert decode_message(mail("a\n+b\n").replace(b"\n", b"\r\n"), "x").body == "a\n+b\n"
    assert decode_message(mail("a\n+b\r\n"), "x").body == "a\n+b\r\n"
    assert decode_message(mail("a\n+b\r\n").replace(b"\n", b"\r\n"), "x").body == "a\n+b\r\n"


def test_format_flowed_is_unflowed_as_git_does() -> None:
    body = " one long \nline\n  int a;\n-- \nme\n"
    assert decoded(body, Content_Type="text/plain; format=flowed").body == "one long line\n int a;\n-- \nme\n"
    assert decoded("a \nb\n", Content_Type='text/plain; format="flowed"; delsp=yes').body == "ab\n"


def test_parts_are_put_together_and_only_text_and_patches_are_taken() -> None:
    parts = (
        "--b\nContent-Type: text/plain; charset=utf-8\n\nthe log\n--b\nContent-Type: text/html\n\n<b>the log</b>\n"
        '--b\nContent-Type: application/octet-stream; name="a.patch"\nContent-Transfer-Encoding: base64\n\n'
        + base64.encodebytes(DIFF.encode()).decode()
        + "--b\nContent-Type: text/plain; name=dmesg.txt\nContent-Disposition: attachment\n\nboot\n"
        + "--b\nContent-Type: application/pgp-signature\n\nsig\n--b--\nepilogue\n"
    )
    message = decoded(parts, Content_Type='multipart/mixed;\n boundary="b"')
    assert message.body == "the log\n" + DIFF
    assert not message.problems


def test_a_patch_that_is_attached_and_pasted_is_read_once() -> None:
    pasted = DIFF.replace("a\n", "a mangled\n")
    parts = f"--b\nContent-Type: text/plain\n\nlog\n{pasted}--b\nContent-Type: text/x-diff\n\n{DIFF}\n--b--\n"
    assert decoded(parts, Content_Type="multipart/mixed; boundary=b").body == "log\n" + DIFF


def test_several_attached_patches_are_said() -> None:
    part = f"--b\nContent-Type: text/x-diff\n\n{DIFF}\n"
    assert "2 patches" in decoded(part + part + "--b--\n", Content_Type="multipart/mixed; boundary=b").problems[0]


def test_a_mail_with_html_only_says_so() -> None:
    message = decoded("<b>x</b>", Content_Type="text/html")
    assert message.body == ""
    assert "HTML" in message.problems[0]


AUTHORS = [
    ("plain", {}, "", "jane@example.org"),
    ("in-body From", {}, "From: Max Moe <max@example.org>\n\nlog\n", "max@example.org"),
    ("in-body From behind Subject", {}, "Subject: y\nFrom: Max <max@example.org>\n\nlog\n", "max@example.org"),
    ("folded in-body From", {}, "From: Max Moe\n <max@example.org>\n\nlog\n", "max@example.org"),
    ("prose that begins with From", {}, "From: here on all is well\n", "jane@example.org"),
    ("Reply-To of a plain From", {"Reply-To": "other@example.org"}, "", "jane@example.org"),
    ("via list", {"From": '"Jane Roe via linuxppc-dev" <dev@lists.example.org>', "List-Id": "dev <dev.lists.example.org>",
                  "Reply-To": "Jane Roe <jane@example.org>"}, "", "jane@example.org"),
    ("via list, X-Original-From", {"From": "Jane via dev <dev@lists.example.org>", "List-Post": "<mailto:dev@lists.example.org>",
                                   "X-Original-From": "Jane Roe <jane@example.org>", "Reply-To": "x@y"}, "", "jane@example.org"),
    ("bare list address", {"From": "Jane Roe <dev@lists.example.org>", "X-Mailing-List": "dev@lists.example.org",
                           "Reply-To": "dev@lists.example.org, jane@example.org"}, "", "jane@example.org"),
    ("B4 Relay", {"From": "Jane Roe via B4 Relay <devnull+jane.example.org@kernel.org>",
                  "Reply-To": "jane@example.org"}, "", "jane@example.org"),
    ("relay with nothing else", {"From": "Jane Roe via B4 Relay <devnull+jane.example.org@kernel.org>"}, "", ""),
    ("patchwork", {"X-Patchwork-Original-From": '"Jane via dev" <dev@lists.example.org>'}, "", "jane@example.org"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "body", "email"), [case[1:] for case in AUTHORS], ids=[case[0] for case in AUTHORS]
)
def test_the_author_is_the_person_and_never_a_relay(headers: dict[str, str], body: str, email: str) -> None:
    author = decoded(body, **headers).author
    assert author.email == email
    assert " via " not in author.name


def test_a_reply_keeps_its_own_author() -> None:
    assert decoded("From: Max <max@example.org>\n", Subject="Re: x").author.email == "jane@example.org"


@pytest.mark.parametrize(
    ("headers", "automatic"),
    [
        ({}, False),
        ({"Auto-Submitted": "no"}, False),
        ({"Auto-Submitted": "auto-generated"}, True),
        ({"Auto-Submitted": "auto-replied; owner=x"}, True),
        ({"Return-Path": "<>"}, True),
        ({"Return-Path": "<a@b>"}, False),
        ({"Precedence": "bulk"}, False),
        ({"Precedence": "bulk", "Robot-ID": "<bot.example.org>"}, True),
        ({"X-Patchwork-Hint": "ignore"}, True),
    ],
)
def test_automatic_mail_is_known_by_its_headers(headers: dict[str, str], automatic: bool) -> None:
    assert decoded(**headers).is_automatic is automatic


@pytest.mark.parametrize(
    ("value", "emails"),
    [
        ("", []),
        ("undisclosed-recipients:;", []),
        ("a@x,b@y", ["a@x", "b@y"]),
        ('"A, B" <a@x>, (c, d) e@y', ["a@x", "e@y"]),
        ("jane at example.org (Jane Roe)", ["jane@example.org"]),
        ('"broken <a@x>, b@y', ["a@x", "b@y"]),
        ("=?utf-8?q?A=2C_B?= <a@x>", ["a@x"]),
    ],
)
def test_address_lists_of_any_writer_are_read(value: str, emails: list[str]) -> None:
    assert [address.email for address in parse_addresses(value)] == emails


def test_no_header_value_holds_a_line_end() -> None:
    message = decoded(
        Subject="=?utf-8?q?x=0D=0ABcc:_evil=40x?=", From="=?utf-8?b?" + base64.b64encode(b"a\nb").decode() + "?= <a@x>"
    )
    assert "\n" not in message.subject + message.author.name
    assert "\r" not in message.subject


# --- hostile mails


def nested(depth: int) -> bytes:
    head = "".join(f"Content-Type: multipart/mixed; boundary=b{at}\n\n--b{at}\n" for at in range(depth))
    return mail("").rstrip(b"\n") + b"\n" + head.encode() + b"Content-Type: text/plain\n\ndeep\n"


HOSTILE = [
    ("nested", nested(1000)),
    ("parts", mail("--b\n\nx\n" * 5000, Content_Type="multipart/mixed; boundary=b")),
    ("long line", mail("+" + "x" * 20_000_000)),
    ("long header", mail(X_Long="y" * 2_000_000)),
    ("folds", mail(X_Fold="a\n " * 400_000 + "b")),
    ("encoded words", mail(Subject="=?utf-8?q?" * 100_000)),
    ("parentheses", mail(From="(" * 100_000 + "a@b", To='"' * 100_001 + ",(" * 50_000)),
    ("references", mail(References="<a@b> " * 40_000)),
    ("dates", mail(Date="Mon, " * 30_000)),
    ("base64", mail("QUFB" * 2_000_000, Content_Transfer_Encoding="base64")),
    ("boundary", mail("--" * 500_000, Content_Type='multipart/mixed; boundary="' + "(a+)+" * 100 + '"')),
    ("parameters", mail(Content_Type="text/plain" + '; a="\\' * 50_000)),
]


@pytest.mark.parametrize("data", [case[1] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_a_hostile_mail_is_read_in_bounded_time(data: bytes) -> None:
    # A quadratic step would take minutes here, and a recursion would overflow; nothing asserts seconds.
    message = decode_message(data, "x")
    assert message.origin == "x"
    assert len(message.body) <= len(data)


def test_what_a_limit_cut_off_is_said() -> None:
    assert "deep" in decode_message(nested(1000), "x").problems[0]
    assert "parts" in decode_message(HOSTILE[1][1], "x").problems[0]
    assert "larger than" in decode_message(mail("x\n" * 900), "x", limits=Limits(message_bytes=1000)).problems[0]
    assert "headers" in decode_message(mail(X_Long="y" * 900), "x", limits=Limits(header_bytes=500)).problems[0]
    many = (FROM.encode() + mail() + b"\n") * 5
    read = read_mail_bytes(many, "x.mbox", limits=Limits(messages=3))
    assert (len(read.messages), len(read.problems)) == (3, 1)


def test_gzip_bombs_and_damaged_gzip_files_are_bounded_and_said() -> None:
    packed = gzip.compress(FROM.encode() + mail("x" * 5_000_000))
    assert "larger than 100000 bytes" in read_mail_bytes(packed, "x", limits=Limits(input_bytes=100_000)).problems[0]
    cut = gzip.compress(b"".join(FROM.encode() + mail(str(at)) + b"\n" for at in range(2000)), 1)[:-400]
    read = read_mail_bytes(cut, "x")
    assert read.messages
    assert "ends too early" in read.problems[0]


@given(st.binary(max_size=600))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    to_bytes(decode_message(data, "x").body)


@given(
    st.sampled_from(
        ["utf-7", "utf-16", "utf-8-sig", "hz", "iso-2022-jp", "gb18030", "cp037", "shift_jis", "\0", "a" * 300]
    ),
    st.sampled_from(["base64", "quoted-printable", "7bit", "x-uuencode"]),
    st.binary(max_size=200),
)
def test_no_charset_and_encoding_break_the_reader(charset: str, transfer: str, body: bytes) -> None:
    head = mail("", Content_Type=f"text/plain; charset={charset}", Content_Transfer_Encoding=transfer)
    to_bytes(decode_message(head + body, "x").body)
