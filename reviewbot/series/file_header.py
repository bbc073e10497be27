"""The lines of a diff above a file's hunks -> which file, what happens to it, modes and blob ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from reviewbot.patterns import regex
from reviewbot.series.patch import ChangeKind
from reviewbot.series.paths import DEV_NULL, git_header_names, header_name, strip_one, strip_prefixes, to_text, unquote
from reviewbot.values import dataclass

_DEV_NULL = DEV_NULL.encode()
_MODE = regex(rb"(old mode|new mode|new file mode|deleted file mode) ([0-7]{5,6})\Z")
_INDEX = regex(rb"index ([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]{5,6}))?\Z")
_MOVE = regex(rb"(rename|copy) (from|to|old|new) (.+)\Z", re.DOTALL)
_SIMILARITY = regex(rb"(?:dis)?similarity index \d{1,3}%\Z")
_BINARY = regex(rb"(?:GIT binary patch|Binary files .*differ)\Z", re.DOTALL)
_EPOCH = regex(rb"\t(?:1970-01-01|1969-12-31|Thu,? Jan +0?1 |Thu Jan  1 )")
_GITLINK = "160000"


class HeaderError(Exception):
    """Two lines of a header contradict each other; the text is one clause."""


@dataclass(slots=True)
class FileHeader:
    """What the header lines said so far. Names are without a/ and b/; None is /dev/null or not said."""

    git_names: tuple[bytes, bytes] | None = None
    old: bytes | None = None
    new: bytes | None = None
    old_is_null: bool = False
    new_is_null: bool = False
    moved: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    old_blob: str | None = None
    new_blob: str | None = None
    is_binary: bool = False
    is_git: bool = True
    said: list[str] = field(default_factory=list)

    def paths(self) -> tuple[str | None, str | None]:
        """(old, new) as text, None for a side that does not exist."""
        old = None if self.old_is_null or self.old is None else to_text(_squash(self.old))
        new = None if self.new_is_null or self.new is None else to_text(_squash(self.new))
        return old, new

    def kind(self, *, has_hunks: bool) -> ChangeKind:
        """What the patch does to the file."""
        if _GITLINK in (self.old_mode, self.new_mode):
            return ChangeKind.SUBMODULE
        if self.is_binary:
            return ChangeKind.BINARY
        if self.moved:
            return ChangeKind.RENAMED if self.moved == "rename" else ChangeKind.COPIED
        if self.old_is_null or self.new_is_null:
            return ChangeKind.ADDED if self.old_is_null else ChangeKind.DELETED
        if not has_hunks and self.old_mode != self.new_mode:
            return ChangeKind.MODE
        return ChangeKind.MODIFIED


def read_git_header(lines: Sequence[bytes], at: int) -> tuple[FileHeader, int]:
    """The header that begins with `diff --git` at line `at`, and the line behind it. Raises HeaderError."""
    header = FileHeader(git_names=git_header_names(lines[at][len(b"diff --git ") :]))
    at += 1
    while at < len(lines):
        line = lines[at].rstrip(b"\r")
        if line.startswith(b"--- ") and at + 1 < len(lines) and lines[at + 1].startswith(b"+++ "):
            _take_names(header, header_name(lines[at][4:]), header_name(lines[at + 1][4:]))
            return header, at + 2
        if not _take_line(header, line):
            break
        at += 1
    _take_git_names(header)
    return header, at


def read_plain_header(lines: Sequence[bytes], at: int, index: bytes | None) -> tuple[FileHeader, int]:
    """The header of a diff without `diff --git`: `--- ` and `+++ ` at line `at`; `index` is CVS's `Index:` name if one
    stands above."""
    header = FileHeader(is_git=False)
    old, new = header_name(lines[at][4:]).rstrip(b" "), header_name(lines[at + 1][4:]).rstrip(b" ")
    after = lines[at + 2] if at + 2 < len(lines) else b""
    header.old_is_null = old == _DEV_NULL or (after.startswith(b"@@ -0,0 ") and bool(_EPOCH.search(lines[at])))
    header.new_is_null = new == _DEV_NULL or (b" +0,0 @@" in after[:60] and bool(_EPOCH.search(lines[at + 1])))
    if index is not None and _names_same_file(index, old, new):
        header.old = header.new = index
    elif _DEV_NULL in (old, new):
        header.old = header.new = _single_name(new if old == _DEV_NULL else old)
    else:
        header.old, header.new = strip_prefixes(old, new)
        if header.old.removesuffix(b".orig") == header.new:  # patch(1)'s backup name is not a file of the tree
            header.old = header.new
    return header, at + 2


def starts_plain_header(lines: Sequence[bytes], at: int) -> bool:
    """True when `--- `, `+++ ` and `@@ -` stand on three lines from `at` on."""
    return (
        at + 2 < len(lines)
        and lines[at].startswith(b"--- ")
        and lines[at + 1].startswith(b"+++ ")
        and lines[at + 2].startswith(b"@@ -")
    )


def is_extended_header(line: bytes) -> bool:
    """True for a line that git writes below `diff --git`, so that a `diff --git` in prose can be told from a true
    one."""
    line = line.rstrip(b"\r")
    return line.startswith((b"--- ", b"rename ", b"copy ")) or bool(
        _MODE.match(line) or _INDEX.match(line) or _SIMILARITY.match(line) or _BINARY.match(line)
    )


def _take_line(header: FileHeader, line: bytes) -> bool:
    """Note one extended header line; False for a line that is none (or ends the header)."""
    if mode := _MODE.match(line):
        _take_mode(header, mode[1], mode[2].decode())
    elif index := _INDEX.match(line):
        header.old_blob, header.new_blob = index[1].decode(), index[2].decode()
        if index[3]:
            header.old_mode, header.new_mode = index[3].decode(), index[3].decode()
        header.said.append("index")
    elif move := _MOVE.match(line):
        header.moved = move[1].decode()
        name = unquote(move[3])
        if move[2] in (b"from", b"old"):
            header.old = name
        else:
            header.new = name
    elif _BINARY.match(line):
        header.is_binary = True
    else:
        return bool(_SIMILARITY.match(line))
    return not header.is_binary


def _take_mode(header: FileHeader, what: bytes, mode: str) -> None:
    if what in (b"old mode", b"deleted file mode"):
        header.old_mode = mode
    else:
        header.new_mode = mode
    header.old_is_null = header.old_is_null or what == b"new file mode"
    header.new_is_null = header.new_is_null or what == b"deleted file mode"
    header.said.append("mode")


def _take_names(header: FileHeader, old: bytes, new: bytes) -> None:
    """`---`/`+++` win over `diff --git`, which is ambiguous with blanks; but the two must not name different files, as
    in git apply."""
    header.old_is_null = header.old_is_null or old == _DEV_NULL
    header.new_is_null = header.new_is_null or new == _DEV_NULL
    if _DEV_NULL in (old, new):
        single = new if old == _DEV_NULL else old
        stripped = strip_one(single)
        if header.git_names and single in header.git_names:
            stripped = _stripped_pair(header.git_names)[header.git_names.index(single)]
        found = (stripped, stripped)
    else:
        found = strip_prefixes(old, new)
    if header.git_names is not None:
        declared = _stripped_pair(header.git_names)
        if (old != _DEV_NULL and found[0] != declared[0]) or (new != _DEV_NULL and found[1] != declared[1]):
            raise HeaderError("names one file in its `diff --git` line and another in its `---`/`+++` lines")
    if header.moved and header.old is not None and header.new is not None and found != (header.old, header.new):
        raise HeaderError("names one file in its rename lines and another in its `---`/`+++` lines")
    header.old, header.new = found


def _take_git_names(header: FileHeader) -> None:
    if header.old is None and header.new is None and header.git_names is not None:
        header.old, header.new = _stripped_pair(header.git_names)


def _stripped_pair(names: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    return strip_prefixes(*names)


def _single_name(name: bytes) -> bytes:
    return strip_one(name)


def _names_same_file(index: bytes, old: bytes, new: bytes) -> bool:
    return (
        any(name != _DEV_NULL and (name == index or name.endswith(b"/" + index)) for name in (old, new)) or old == new
    )


def _squash(name: bytes) -> bytes:
    """`a//b` is `a/b`, as git apply reads it; a leading slash stays, so that it is refused."""
    return re.sub(rb"(?<=[^/])/{2,}", b"/", name) if b"//" in name else name
