"""Objects as git stores them: a reader that answers thousands a second, and the formats of trees and commits."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

from reviewbot.errors import GitError
from reviewbot.git.process import Answers, Git, decode, end
from reviewbot.patterns import regex
from reviewbot.values import dataclass

MAX_BLOB_BYTES = 32 << 20
ANSWER_TIMEOUT_S = 120.0  # without a single byte
_HEX = regex(r"[0-9a-f]{4,64}")
_NO_OBJECT = (b" missing", b" ambiguous", b" submodule")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """One name in a tree or the index. `mode` is git's octal (`100644`, `120000` a link, `160000` a submodule)."""

    mode: str
    object_id: str

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")

    @property
    def is_directory(self) -> bool:
        return self.mode in ("40000", "040000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit as stored. `author` is (name, mail address); `message` is the whole text, decoded."""

    commit_id: str
    tree: str
    parents: tuple[str, ...]
    author: tuple[str, str]
    message: str


class ObjectReader:
    """A `git cat-file --batch` that stays, and is started again if it dies."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: Answers | None = None

    def read(self, name: str, limit_bytes: int = MAX_BLOB_BYTES) -> tuple[str, str, bytes | None] | None:
        """(id, type, bytes) of an object; bytes are None above the limit; None if it is missing or ambiguous."""
        if not is_plausible(name):
            return None
        for attempt in (1, 2):
            try:
                return self._ask(name, limit_bytes)
            except TimeoutError:
                self.close()
                waited = f"does not answer for {ANSWER_TIMEOUT_S:g} s"
                raise GitError(f"git cat-file in {self._git.directory} {waited}, asked for {name!r}") from None
            except (OSError, EOFError):
                self.close()
                if attempt == 2 and not _HEX.fullmatch(re.split(r"[\^:]", name)[0]):
                    return None  # some words for a revision, such as @{upstream} without one, are fatal to git
                if attempt == 2:
                    raise GitError(f"git cat-file in {self._git.directory} ends while reading {name!r}") from None
            except BaseException:  # interrupted in the middle of an answer: the next question would get the rest of it
                self.close()
                raise
        raise AssertionError

    def _ask(self, name: str, limit_bytes: int) -> tuple[str, str, bytes | None] | None:
        if self._process is None or self._answers is None or self._process.poll() is not None:
            self.close()
            self._process = self._git.start("cat-file", "--batch")
            self._answers = Answers(self._process, ANSWER_TIMEOUT_S)
        asked, answers = self._process.stdin, self._answers
        assert asked
        asked.write(name.encode("utf-8", "surrogateescape") + b"\n")
        asked.flush()
        header = answers.line()
        if header.endswith(_NO_OBJECT):
            return None
        words = header.split()
        if len(words) != 3 or not words[2].isdigit() or not _HEX.fullmatch(decode(words[0])):
            raise EOFError  # this is no answer
        size_bytes = int(words[2])
        content = answers.take(size_bytes) if size_bytes <= limit_bytes else None
        if content is None:
            answers.skip(size_bytes)
        if answers.take(1) != b"\n":
            raise EOFError
        return words[0].decode(), words[1].decode(), content

    def close(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            end(process)

    def __del__(self) -> None:
        self.close()


def is_plausible(name: str) -> bool:
    """Whether `name` can be asked for at all: one line, not empty, no option."""
    return bool(name) and not name.startswith(("-", "^")) and not any(mark in name for mark in "\n\r\0")


def parse_tree(content: bytes, id_bytes: int) -> Iterator[tuple[str, TreeEntry]]:
    """(name, entry) of a raw tree object: `mode SP name NUL id`, repeated. `id_bytes` is 20, or 32 with SHA-256."""
    at = 0
    while at < len(content):
        space = content.index(b" ", at)
        end = content.index(b"\0", space)
        object_id = content[end + 1 : end + 1 + id_bytes].hex()
        yield decode(content[space + 1 : end]), TreeEntry(mode=content[at:space].decode(), object_id=object_id)
        at = end + 1 + id_bytes


def parse_commit(commit_id: str, content: bytes) -> Commit:
    """A raw commit object; what its encoding cannot decode is kept as surrogate escapes."""
    head, _, body = content.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        if name:  # a line that begins with a blank continues a signature
            fields.setdefault(name, []).append(value)
    encoding = fields.get(b"encoding", [b"utf-8"])[0].decode("ascii", "replace")
    author, _, rest = _text(fields.get(b"author", [b""])[0], encoding).rpartition(" <")
    return Commit(
        commit_id=commit_id,
        tree=fields[b"tree"][0].decode(),
        parents=tuple(parent.decode() for parent in fields.get(b"parent", [])),
        author=(author.strip(), rest.partition(">")[0]),
        message=_text(body, encoding),
    )


def parse_entries(rows: bytes) -> Iterator[tuple[str, TreeEntry]]:
    """(path, entry) from `ls-tree -r -z` (mode type id TAB path) or `ls-files -s -z` (mode id stage TAB path). Raises
    GitError for anything else."""
    for row in rows.split(b"\0"):
        if not row:
            continue
        head, _, path = row.partition(b"\t")
        words = head.split()
        if len(words) != 3 or not path:
            raise GitError(f"git lists files in a form that is not known: {decode(row[:80])!r}")
        mode, second, third = words
        object_id = third if len(third) >= 40 else second
        yield decode(path), TreeEntry(mode=decode(mode), object_id=decode(object_id))


def _text(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        return decode(raw)
