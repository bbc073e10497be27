"""The values of this stage: a Series of Patches, each a list of changed files with hunks."""

from __future__ import annotations

from enum import Enum

from reviewbot.mail.message import Address, Message
from reviewbot.values import dataclass


class ChangeKind(Enum):
    """What a patch does to one path."""

    MODIFIED = "modified"
    ADDED = "added"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"
    MODE = "mode"
    BINARY = "binary"
    SUBMODULE = "submodule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One hunk. Starts are 1-based (0 for an empty side). `lines` keep their prefix ' ', '+' or '-' and no line end.

    `no_newline_old`/`no_newline_new`: the side's last line has no line end. `section` is the text behind the second @@.
    `line_in_message`: 1-based line of the @@ header within the message or diff, for errors.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[bytes, ...]
    section: bytes = b""
    no_newline_old: bool = False
    no_newline_new: bool = False
    line_in_message: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file of a patch. Paths are relative to the tree, without a/ and b/; old_path is None for an added file,
    new_path for a deleted one. Blob ids are hex, often abbreviated, None where the diff has no index line."""

    kind: ChangeKind
    old_path: str | None
    new_path: str | None
    old_mode: str | None = None
    new_mode: str | None = None
    old_blob: str | None = None
    new_blob: str | None = None
    hunks: tuple[Hunk, ...] = ()

    @property
    def path(self) -> str:
        """The path after the patch, or before it for a deleted file."""
        return self.new_path or self.old_path or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A part of a patch that could not be read: `reason` is one sentence; `path` is None when it concerns the whole
    patch."""

    path: str | None
    line_in_message: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """One patch. `index` is N of N/M, 1-based. `commit` is set for a patch from git, `message_id` for one from mail
    (else ""). `log` is the commit message without the subject; `trailers` are (name, value) in order. `problems` are
    parts that could not be read."""

    index: int
    subject: str
    author: Address
    message_id: str
    commit: str | None
    log: str
    trailers: tuple[tuple[str, str], ...]
    files: tuple[FileChange, ...]
    problems: tuple[Problem, ...] = ()
    message: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Patches in order of N/M. `total` is M; `missing` are the indexes that were not found. `base_commit` is the
    trailer's id. `notes` are sentences worth telling the user (older versions left out, a reply with a diff, two
    series in the input)."""

    subject: str
    version: int
    total: int
    patches: tuple[Patch, ...]
    message_id: str = ""
    cover: Message | None = None
    missing: tuple[int, ...] = ()
    base_commit: str | None = None
    prerequisites: tuple[str, ...] = ()
    change_id: str | None = None
    notes: tuple[str, ...] = ()
    replies: tuple[Message, ...] = ()
