"""The mails of an archive one after the other: a public-inbox repository, or a folder of mailboxes.

Facts: public-inbox-v2-format(5): each commit holds one mail in the file `m` (`d` where it was removed), and the epochs
of a list are the repositories `git/0.git`, `git/1.git` and so on.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from reviewbot.errors import GitError, InputError
from reviewbot.git import Repository
from reviewbot.mail.limits import DEFAULT_LIMITS, Limits, read_at_most
from reviewbot.mail.mbox import split_mbox
from reviewbot.mail.sniff import InputKind, is_gzip, kind_of, refusal
from reviewbot.values import dataclass

_EPOCH = re.compile(r"(\d+)\.git")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawMail:
    """One mail as it was kept. `position` counts from 0 and is the same in every run; `raw` is None for what is no
    mail, and then `reason` says why."""

    position: int
    origin: str
    raw: bytes | None
    reason: str = ""


class GitArchive:
    """The epochs of a public-inbox, or one repository of that kind."""

    def __init__(self, epochs: Sequence[Path], limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._epochs = tuple(epochs)
        self._repositories = [Repository.open(path) for path in epochs]
        self._commits = [repository.commits(_tip(repository))[0] for repository in self._repositories]
        self.total: int | None = sum(map(len, self._commits))

    def mails(self, start: int) -> Iterator[RawMail]:
        position = 0
        for repository, commits in zip(self._repositories, self._commits, strict=True):
            for commit in commits:
                if position >= start:
                    yield _mail_of(repository, commit, position, self.limits)
                position += 1
            repository.close()


class FolderArchive:
    """Every mailbox, mail and maildir below a folder, in order of their paths."""

    total: int | None = None

    def __init__(self, folder: Path, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._folder = folder
        self._files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
        if not self._files:
            raise InputError(f"{folder} holds no file; give a public-inbox repository or a folder of mailboxes")

    def mails(self, start: int) -> Iterator[RawMail]:
        position = 0
        for file in self._files:
            name = file.relative_to(self._folder).as_posix()
            for number, (raw, reason) in enumerate(_mails_of_file(file, self.limits), 1):
                if position >= start:
                    yield RawMail(position=position, origin=f"{name}, message {number}", raw=raw, reason=reason)
                position += 1


Archive = GitArchive | FolderArchive


def open_archive(path: Path, limits: Limits = DEFAULT_LIMITS) -> Archive:
    """`limits` on what is read of it. Raises InputError for what is neither."""
    epochs = [each for each in path.glob("git/*.git") if _EPOCH.fullmatch(each.name)]
    epochs = epochs or [each for each in path.glob("*.git") if _EPOCH.fullmatch(each.name)]
    if epochs:
        return GitArchive(sorted(epochs, key=lambda each: int(each.stem)), limits)
    if (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir()):
        return GitArchive([path], limits)
    if path.is_dir():
        return FolderArchive(path, limits)
    raise InputError(f"{path} is no archive; give a public-inbox repository or a folder of mailboxes")


def _tip(repository: Repository) -> str:
    try:
        return repository.resolve("HEAD")
    except GitError:
        newest = repository.recent_commits([], 2)
        if not newest:
            raise InputError(f"{repository} has no commit, so it holds no mail") from None
        return newest[0]


def _mail_of(repository: Repository, commit: str, position: int, limits: Limits) -> RawMail:
    raw = repository.blob(f"{commit}:m", limits.message_bytes)
    larger = f"it is larger than {limits.told('message_bytes')}"
    reason = "" if raw is not None else f"{larger}, was removed from the archive, or the commit holds no mail"
    return RawMail(position=position, origin=f"commit {commit[:12]}", raw=raw, reason=reason)


def _mails_of_file(file: Path, limits: Limits) -> Iterator[tuple[bytes | None, str]]:
    try:
        data, is_whole = _read(file, limits.input_bytes)
    except OSError as error:
        yield None, f"{file.name} cannot be read: {error.strerror or error}"
        return
    except zlib.error as error:
        yield None, f"{file.name} is a damaged gzip file ({error})"
        return
    kind = kind_of(data)
    if kind is InputKind.MBOX:
        for raw in split_mbox(data):
            yield raw, ""
    elif kind is InputKind.MAIL:
        yield data, ""
    else:
        yield None, f"{file.name} {refusal(data)}" if kind is InputKind.OTHER else f"{file.name} is a diff and no mail"
    if not is_whole:
        yield None, f"{file.name} is larger than {limits.told('input_bytes')}; the rest was not read"


def _read(file: Path, limit: int) -> tuple[bytes, bool]:
    """What is in the file, unpacked, up to so many bytes, and whether that is all."""
    with file.open("rb") as stream:
        data = read_at_most(stream, limit + 1)
    if not is_gzip(data):
        return data[:limit], len(data) <= limit
    pieces: list[bytes] = []
    while is_gzip(data) and limit > 0:
        unpacker = zlib.decompressobj(wbits=31)
        pieces.append(unpacker.decompress(data, limit))
        limit -= len(pieces[-1])
        if not unpacker.eof:
            return b"".join(pieces), False
        data = unpacker.unused_data
    return b"".join(pieces), not is_gzip(data)
