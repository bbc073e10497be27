"""A path or bytes -> the mails in it: mbox (plain or gzip), maildir, a folder of patches, one mail, a bare diff,
stdin."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path

from reviewbot.errors import InputError
from reviewbot.mail.bulk import collector_paused
from reviewbot.mail.charset import decode_text
from reviewbot.mail.decode import decode_message
from reviewbot.mail.limits import DEFAULT_LIMITS, Limits, read_at_most
from reviewbot.mail.mbox import split_mbox
from reviewbot.mail.message import Address, Message
from reviewbot.mail.mime import unix_lines
from reviewbot.mail.sniff import InputKind, is_gzip, kind_of, refusal
from reviewbot.values import dataclass

_MAIL_SUFFIXES = (".patch", ".eml", ".mbox", ".mbx", ".mail", ".msg", ".diff", ".cover", ".gz")
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MailInput:
    """The mails of one input in the order they stand there, and one sentence, with its origin, for whatever could not
    be read."""

    messages: tuple[Message, ...]
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    limits: Limits
    messages: list[Message] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    size_bytes: int = 0

    def done(self) -> MailInput:
        return MailInput(messages=tuple(self.messages), problems=tuple(self.problems))


def read_mailbox(source: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> MailInput:
    """Read `source`: an mbox, a gzip'd mbox, a maildir, a folder of `git format-patch` files, one mail or diff, or "-"
    for stdin.

    Raises InputError, in one sentence, where there is no such file or where it is no mail at all (a web page, binary
    data, nothing).
    """
    if str(source) == "-":
        return read_mail_bytes(read_at_most(sys.stdin.buffer, limits.input_bytes + 1), "stdin", limits=limits)
    path = Path(source)
    try:
        if path.is_dir():
            return _read_directory(path, limits)
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
        if not (path.is_file() or path.is_fifo()):  # a shell's <(command) is a fifo
            raise InputError(f"{path} is neither a file nor a folder; give an mbox, a maildir or a folder of patches")
        with path.open("rb") as file:
            data = read_at_most(file, limits.input_bytes + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    return read_mail_bytes(data, path.name, limits=limits)


def read_mail_bytes(data: bytes, origin: str, *, limits: Limits = DEFAULT_LIMITS) -> MailInput:
    """The mails in `data`: an mbox, one mail or a bare diff, perhaps gzip'd. `origin` names it for people. Raises
    InputError."""
    reading = _Reading(limits=limits)
    data = _unpacked(data, origin, reading)
    if kind_of(data) is InputKind.OTHER:
        raise InputError(f"{origin} {refusal(data)}")
    with collector_paused():
        _read_data(data, origin, reading)
    return reading.done()


def _read_data(data: bytes, origin: str, reading: _Reading) -> bool:
    """False when a limit was reached, so that nothing more is read."""
    kind = kind_of(data)
    if kind is InputKind.MBOX:
        return all(_add(raw, f"{origin}, message {number}", reading) for number, raw in enumerate(split_mbox(data), 1))
    if kind is InputKind.MAIL:
        return _add(data, origin, reading)
    reading.messages.append(_bare_diff(data, origin))
    return True


def _add(raw: bytes, origin: str, reading: _Reading) -> bool:
    if len(reading.messages) >= reading.limits.messages:
        reading.problems.append(
            f"{origin}: more than {reading.limits.told('messages')}; this one and the rest were not read"
        )
        return False
    message = decode_message(raw, origin, limits=reading.limits)
    reading.messages.append(message)
    reading.problems += [f"{origin}: {problem}" for problem in message.problems]
    return True


def _unpacked(data: bytes, origin: str, reading: _Reading) -> bytes:
    limit = reading.limits.input_bytes
    if is_gzip(data):
        data = _gunzip(data, origin, reading)
    if len(data) > limit:
        reading.problems.append(f"{origin} is larger than {reading.limits.told('input_bytes')}; the rest was not read")
        data = data[:limit]
    return data


def _gunzip(data: bytes, origin: str, reading: _Reading) -> bytes:
    """All members of a gzip file, at most one byte more than allowed: a small file may unpack to any size."""
    pieces: list[bytes] = []
    room = reading.limits.input_bytes + 1
    try:
        while data and room > 0 and is_gzip(data):
            unpacker = zlib.decompressobj(wbits=31)
            while data and room > 0 and not unpacker.eof:
                pieces.append(unpacker.decompress(data, min(room, _CHUNK)))
                room -= len(pieces[-1])
                data = unpacker.unconsumed_tail
            if not unpacker.eof and room > 0:
                reading.problems.append(f"{origin} is a gzip file that ends too early; what came before was read")
            data = unpacker.unused_data
    except zlib.error as error:
        reading.problems.append(f"{origin} is a damaged gzip file ({error}); what came before was read")
    return b"".join(pieces)


def _read_directory(path: Path, limits: Limits) -> MailInput:
    reading = _Reading(limits=limits)
    is_maildir = (path / "cur").is_dir() and (path / "new").is_dir()
    if not is_maildir and ((path / ".git").exists() or (path / "objects").is_dir()):
        raise InputError(f"{path} is a git repository, not a mailbox; use `reviewbot range -C {path}` for its commits")
    files = sorted(_maildir_files(path) if is_maildir else path.iterdir(), key=lambda file: (file.name, str(file)))
    with collector_paused():
        _read_files(files, reading, is_maildir=is_maildir)
    if not reading.messages:
        said = f" ({reading.problems[0]})" if reading.problems else ""
        kind = "maildir" if is_maildir else "folder"
        raise InputError(f"{path}: the {kind} holds no mail and no patch{said}; {_what_to_give(is_maildir)}")
    return reading.done()


def _read_files(files: Iterable[Path], reading: _Reading, *, is_maildir: bool) -> None:
    for file in files:
        if file.is_file() and not file.name.startswith(".") and not _read_file(file, reading, is_maildir=is_maildir):
            return


def _what_to_give(is_maildir: bool) -> str:
    return (
        "deliver mail to it first"
        if is_maildir
        else "give an mbox, a maildir or the output folder of `git format-patch`"
    )


def _maildir_files(path: Path) -> Iterator[Path]:
    yield from (path / "new").iterdir()
    yield from (path / "cur").iterdir()


def _read_file(file: Path, reading: _Reading, *, is_maildir: bool) -> bool:
    """One file of a folder; False when a limit was reached. A file that is no mail is a problem where its name says
    mail, else it is simply something else."""
    room = reading.limits.input_bytes - reading.size_bytes
    if room <= 0:
        reading.problems.append(
            f"{file.name}: the folder is larger than {reading.limits.told('input_bytes')}; the rest was not read"
        )
        return False
    try:
        with file.open("rb") as stream:
            data = read_at_most(stream, room + 1)
    except OSError as error:
        reading.problems.append(f"{file.name} cannot be read: {error.strerror or error}")
        return True
    reading.size_bytes += len(data)
    data = _unpacked(data, file.name, reading)
    if kind_of(data) is not InputKind.OTHER:
        return _read_data(data, file.name, reading)
    if is_maildir or file.name.endswith(_MAIL_SUFFIXES) or file.name.isdigit():
        reading.problems.append(f"{file.name} {refusal(data)}")
    return True


def _bare_diff(data: bytes, origin: str) -> Message:
    """The output of `git diff` in a file: a mail without headers, named after the file."""
    nobody = Address(name="", email="")
    return Message(
        message_id="",
        subject=origin,
        author=nobody,
        sender=nobody,
        date=None,
        in_reply_to=None,
        references=(),
        to=(),
        cc=(),
        headers=(),
        body=unix_lines(decode_text(data, "")),
        origin=origin,
        is_automatic=False,
    )
