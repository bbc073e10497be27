"""What is fuzzed: each reader takes any bytes, and may refuse them in a sentence, but never raise anything else."""

from __future__ import annotations

from collections.abc import Callable

from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.items import functions_holding, macro_at
from reviewbot.csyntax.lexing import blank_comments, code_of
from reviewbot.csyntax.normalise import normalise
from reviewbot.csyntax.variants import split_variants
from reviewbot.errors import InputError
from reviewbot.mail.limits import Limits
from reviewbot.mail.mailbox import read_mail_bytes
from reviewbot.rulebook.book import Rulebook, load_rulebook
from reviewbot.rules.inspection import inspect
from reviewbot.series.diff import parse_diff
from reviewbot.series.from_mail import find_series
from reviewbot.source.apply import ApplyError, apply_change, reverse
from tests.expectations import small_tree
from tests.trees import MemoryTree

LIMITS = Limits(input_bytes=1 << 20, messages=50)
C_FILE = "arch/powerpc/kernel/fuzzed.c"
_BOOK: list[Rulebook] = []


def read_mail(data: bytes) -> None:
    """A mailbox to series; what is read twice is read alike."""
    try:
        mails = read_mail_bytes(data, "fuzz.mbox", limits=LIMITS)
        series = find_series(mails.messages, limits=LIMITS)
    except InputError as error:
        assert "\n" not in str(error), error
        return
    for one in series:
        for patch in one.patches:
            assert patch.files or patch.problems, "a patch without files says why"


def read_diff(data: bytes) -> None:
    """A diff to changes, each applied to nothing and to its own old side."""
    for change in parse_diff(data, limits=LIMITS).files:
        old = b"".join(line[1:] + b"\n" for hunk in change.hunks for line in hunk.lines if line[:1] != b"+")
        for before in (None, b"", old):
            try:
                after = apply_change(before, change)
                apply_change(after, reverse(change))
            except ApplyError as error:
                assert str(error)


def read_c(data: bytes) -> None:
    """A C file: blanking keeps offsets, and every rule comes to an end."""
    code = code_of(data)
    assert len(code) == len(data) == len(blank_comments(data, literals=True))
    offsets = range(0, len(data), max(1, len(data) // 20))
    for offset in offsets:
        conditions_at(data, offset)
        macro_at(data, offset)
    for item in functions_holding(data, offsets):
        body = blank_comments(data[item.body : item.end], literals=True)
        for variant in split_variants(body):
            assert len(normalise(variant.text, book().words).text) == len(body)
    inspect(MemoryTree({**small_tree(), C_FILE: data}), [C_FILE], book())


def book() -> Rulebook:
    """The rules, read once."""
    if not _BOOK:
        _BOOK.append(load_rulebook())
    return _BOOK[0]


READERS: dict[str, Callable[[bytes], None]] = {"mail": read_mail, "diff": read_diff, "c": read_c}
