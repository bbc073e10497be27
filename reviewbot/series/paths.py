"""The path names of a diff: unquoted, without a/ and b/, and refused where they leave the tree."""

from __future__ import annotations

import re
import unicodedata

from reviewbot.patterns import regex

DEV_NULL = "/dev/null"
# a/ b/ is git's default; the others are diff.mnemonicPrefix and `git diff --no-index`.
_PREFIX_PAIRS = frozenset({("a", "b"), ("b", "a"), ("i", "w"), ("w", "i"), ("c", "i"), ("i", "c"), ("c", "w"), ("w", "c"), ("o", "w"), ("w", "o"), ("1", "2"), ("2", "1")})  # fmt: skip  # noqa: E501
_PREFIXES = frozenset("abciow12")
_OCTAL = tuple(bytes([digit]) for digit in b"01234567")
_ESCAPE = regex(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {
    b"a": b"\a",
    b"b": b"\b",
    b"t": b"\t",
    b"n": b"\n",
    b"v": b"\v",
    b"f": b"\f",
    b"r": b"\r",
    b'"': b'"',
    b"\\": b"\\",
}
_TIMESTAMP = regex(
    rb"[ ]+(?:\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]{2} \d{4}|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2}) \d\d:\d\d:.*\Z"
)
_TO_QUOTE = regex(r'["\\\x00-\x1f\x7f]')
# Characters that some file systems ignore, so that ".g\u200cit" opens ".git" (CVE-2014-9390).
_IGNORABLE = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])


def to_text(path: bytes) -> str:
    """A path as text; bytes that are no UTF-8 are kept as surrogate escapes."""
    return path.decode("utf-8", "surrogateescape")


def unquote(name: bytes) -> bytes:
    r"""A name as git writes it: `"a/\303\245.c"` becomes its bytes; anything else is returned as it is."""
    if len(name) < 2 or not (name.startswith(b'"') and name.endswith(b'"')):
        return name
    return _ESCAPE.sub(_unescape, name[1:-1])


def to_header_path(prefix: str, path: str) -> str:
    r"""`path` behind `a/` or `b/`, quoted as git reads it where it holds a quote, a backslash or a control
    character."""
    name = prefix + path
    if not _TO_QUOTE.search(name):
        return name
    return '"' + _TO_QUOTE.sub(lambda match: f"\\{ord(match[0]):03o}", name) + '"'


def header_name(rest: bytes) -> bytes:
    """The name behind `--- ` or `+++ `: without the tab that git puts behind names with blanks, and without a
    timestamp."""
    rest = rest.rstrip(b"\r")
    if rest.startswith(b'"'):
        end = re.match(rb'"(?:[^"\\]|\\.)*+"', rest)
        return unquote(end[0]) if end else rest
    return _TIMESTAMP.sub(b"", rest.partition(b"\t")[0]).rstrip(b" ") if b"\t" not in rest else rest.partition(b"\t")[0]


def git_header_names(rest: bytes) -> tuple[bytes, bytes] | None:
    """The two names behind `diff --git `, or None where they cannot be told apart (git does the same: both must be
    equal)."""
    rest = rest.rstrip(b"\r")
    if rest.startswith(b'"'):
        first = re.match(rb'("(?:[^"\\]|\\.)*+") (.+)\Z', rest, re.DOTALL)
        return (unquote(first[1]), unquote(first[2])) if first else None
    quoted = re.match(rb'(.+?) ("(?:[^"\\]|\\.)*+")\Z', rest, re.DOTALL)
    if quoted:
        return quoted[1], unquote(quoted[2])
    return _halves(rest)


def strip_prefixes(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Both names relative to the tree. `a/x`, `b/x`, and `linux.orig/x`, `linux/x` lose the first part; equal names
    (diff.noprefix) stay, unless both begin with a prefix letter that git uses."""
    old_first, old_rest = _first_part(old)
    new_first, new_rest = _first_part(new)
    if (old_first, new_first) in _PREFIX_PAIRS or (old_first == new_first and old_first in _PREFIXES):
        return old_rest, new_rest
    if old_rest and old_rest == new_rest and old_first != new_first:
        return old_rest, new_rest
    return old, new


def strip_one(name: bytes) -> bytes:
    """A single name (the other side is /dev/null) relative to the tree."""
    first, rest = _first_part(name)
    return rest if first in _PREFIXES and rest else name


def why_unsafe(path: str, longest_bytes: int) -> str | None:
    """Half a sentence where `path` must not be used: it is empty, absolute, leaves the tree, or reaches into .git;
    else None."""
    if not path or path.endswith("/"):
        return "names no file"
    if len(path.encode("utf-8", "surrogateescape")) > longest_bytes:
        return f"is longer than {longest_bytes} bytes"
    if "\0" in path:
        return "holds a NUL byte"
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[\\/]", path):
        return "is absolute"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or ".." in path.split("\\"):
        return "leaves the tree or is not in its plain form"
    is_plain = path.isascii() and "git" not in path.lower()
    if not is_plain and any(_is_git_directory(part) for part in re.split(r"[/\\]", path)):
        return "reaches into .git"
    return None


def _is_git_directory(part: str) -> bool:
    plain = unicodedata.normalize("NFKC", part.translate(_IGNORABLE)).casefold().partition(":")[0].rstrip(" .")
    return plain in (".git", "git~1")


def _unescape(match: re.Match[bytes]) -> bytes:
    text = match[1]
    if text[:1] in _OCTAL:
        return bytes([int(text, 8) & 0xFF])
    return _LETTERS.get(text, b"\\" + text)


def _first_part(name: bytes) -> tuple[str, bytes]:
    first, slash, rest = name.partition(b"/")
    return (to_text(first), rest) if slash else ("", b"")


def _halves(rest: bytes) -> tuple[bytes, bytes] | None:
    """`a/x b/x` with blanks in x: the blank in the middle is the one that leaves equal names on both sides."""
    middle = len(rest) // 2
    if len(rest) % 2 and rest[middle : middle + 1] == b" ":
        old, new = rest[:middle], rest[middle + 1 :]
        if old == new or (strip_prefixes(old, new)[0] == strip_prefixes(old, new)[1]):
            return old, new
    if rest.count(b" ") == 1:
        old, _, new = rest.partition(b" ")
        return (old, new) if old and new else None
    return None
