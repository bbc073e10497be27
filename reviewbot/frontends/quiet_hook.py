"""Whether a commit is so far from user access that the hook may be silent without reviewing it.

One question to git and one pass over the answer, with nothing imported that is not needed for that. The test is coarse
on purpose: "yes" only when no changed C file holds any user access, and nothing changed is a macro or carries an
annotation that decides whether it may run in a block. Everything else, and every doubt, is "no" and gets the review.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from reviewbot.own_file import read_own, write_own
from reviewbot.patterns import regex

TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from reviewbot.rulebook.book import Rulebook

_WORD = re.compile(rb"\w+")
_SOURCES = (b".c", b".h", b'.c"', b'.h"')  # git quotes some names
_END_OF_ITEM = regex(rb"(?<=\n)(?=[ +-]\})")
_CHANGED = regex(rb"^[+-](?![+-]{2} )", re.MULTILINE)
_TEXTS = (b".rst", b".md", b".yaml", b'.rst"', b'.md"', b'.yaml"')
_RENAMED = re.compile(rb"^(?:rename|copy) (?:from|to) (.*)$", re.MULTILINE)
_CHANGED_LINE = regex(rb"^[+-](?![+-]{2} ).*\n?", re.MULTILINE)
_MACRO = regex(rb"^[ +-][ \t]*#[ \t]*define\b(?:[^\\\n]|\\\r?\n|\\.)*", re.MULTILINE)
_FORMAT = b"reviewbot-hook-words 2"
_MAX_BYTES = 1 << 20


def is_quiet(directory: Path) -> bool:
    """Whether nothing that is staged in `directory` can matter; False also for every failure."""
    return look_at_staged(directory)[0]


def look_at_staged(directory: Path) -> tuple[bool, bytes | None]:
    """As `is_quiet`, and the diff that was looked at: `Repository.diff_of_index` against HEAD, with whole files as
    context. None if git was not asked for it or failed."""
    from reviewbot.errors import GitError
    from reviewbot.git.process import DIFF_OPTIONS, Git

    words = _read_words()
    if words is None:
        return False, None
    try:
        git = Git(directory, in_hook=True)
        # The whole of each file as context, so that one answer shows all that is around a change.
        staged = git.diff("diff-index", "--cached", "-p", *DIFF_OPTIONS, "--unified=1000000", "HEAD", "--")
    except GitError:
        return False, None
    return is_far_from_user_access(staged, *words), staged


def is_far_from_user_access(diff: bytes, accesses: frozenset[bytes], marks: frozenset[bytes]) -> bool:
    """Whether a diff with whole files as context touches nothing that `accesses` or `marks` stand for."""
    for part in re.split(rb"^diff --git ", diff, flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition(b"\n")
        if not all(path.endswith(_TEXTS) for path in _RENAMED.findall(rest.partition(b"\n@@ ")[0])):
            return False  # what moves shows no line, and may mean another thing where it is now
        if name.endswith(_TEXTS):
            continue
        if not name.endswith(_SOURCES):
            # C under any other name: which file includes it is for the review to find out
            if not accesses.isdisjoint(_WORD.findall(b"".join(_CHANGED_LINE.findall(rest)))):
                return False
            continue
        if b"\nBinary files " in rest or not accesses.isdisjoint(_WORD.findall(rest)):
            return False
        if not all(_is_plain(item, marks) for item in _changed_items(rest)):
            return False
    return True


def _is_plain(item: bytes, marks: frozenset[bytes]) -> bool:
    """Whether no macro in the piece is changed, and nothing in it carries a mark."""
    is_macro_changed = any(_CHANGED.search(macro[0]) for macro in _MACRO.finditer(item))
    return not is_macro_changed and marks.isdisjoint(_WORD.findall(item))


def _changed_items(diff: bytes) -> list[bytes]:
    """The top-level pieces with a changed line in them, cut in front of each `}` that begins a line. A change of such a
    `}` itself belongs to the piece before it, too."""
    pieces = _END_OF_ITEM.split(diff)
    found = []
    for at, piece in enumerate(pieces):
        if _CHANGED.search(piece):
            found.append(pieces[at - 1] + piece if at and piece[:1] in (b"+", b"-") else piece)
    return found


def remember_words(book: Rulebook) -> None:
    """Keep the words of the rules where the next run finds them at once. A cache: failing to write it is no error."""
    words = book.words
    marks = words.notrace | words.noinstr | words.inline | words.always_inline
    try:
        rows = [_rules_stamp(), *(b" ".join(sorted(map(str.encode, each))) for each in (book.primitive_names, marks))]
        write_own(_words_file(), b"\n".join((_head(rows), *rows)))
    except (OSError, RuntimeError):  # Path.home where there is no home
        return


def _read_words() -> tuple[frozenset[bytes], frozenset[bytes]] | None:
    """The words of the last run, if they are whole, the user's own, and those of today's rules."""
    try:
        head, *rows = (read_own(_words_file(), _MAX_BYTES) or b"").split(b"\n")
        if len(rows) != 3 or head != _head(rows) or rows[0] != _rules_stamp():
            return None
    except (OSError, RuntimeError):
        return None
    return frozenset(rows[1].split(b" ")), frozenset(rows[2].split(b" "))


def _head(rows: list[bytes]) -> bytes:
    """Tells a file that was cut off or damaged; too few words would keep the hook silent."""
    from zlib import crc32

    return b"%s %08x" % (_FORMAT, crc32(b"\n".join(rows)))


def _words_file() -> Path:
    """As platformdirs would say on Linux, without its import. Raises RuntimeError where there is no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return root / "reviewbot" / "hook-words"


def _rules_stamp() -> bytes:
    """Changes when a file of the rules does, or one that says which of their words count: places, times and sizes."""
    from zlib import crc32

    package = Path(__file__).parent.parent
    root = package / "shipped_rules"
    if not root.is_dir():
        root = package.parent / "rules"
    folders = [entry.path for entry in os.scandir(root) if entry.is_dir()]
    files = [
        entry for folder in (*folders, str(package / "rulebook")) for entry in os.scandir(folder) if entry.is_file()
    ]
    rows = sorted((entry.path, status.st_mtime_ns, status.st_size) for entry in files for status in (entry.stat(),))
    return b"%d %08x" % (len(rows), crc32(repr(rows).encode("utf-8", "backslashreplace")))
