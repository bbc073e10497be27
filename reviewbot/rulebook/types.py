"""rules/syntax/types.toml -> TypeTable: what the size evaluator knows about kernel C besides C itself."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from functools import lru_cache
from pathlib import Path

from reviewbot.rulebook.policy import Words
from reviewbot.rulebook.policy_files import load_words
from reviewbot.rulebook.reading import Table, read_table
from reviewbot.values import dataclass


class Intrinsic(Enum):
    """A macro or builtin with a value that the evaluator works out itself."""

    OFFSET_OF = "offset_of"  # (type, member)
    ELEMENTS = "elements"  # (array)
    MEMBER_SIZE = "member_size"  # (type, member)
    MEMBER_END = "member_end"  # (type, member)
    MINIMUM = "minimum"  # (a, b)
    MAXIMUM = "maximum"
    MINIMUM_TYPED = "minimum_typed"  # (type, a, b)
    MAXIMUM_TYPED = "maximum_typed"
    SAME_VALUE = "same_value"  # the value of its first argument
    CHOOSE = "choose"  # (constant, a, b)
    ZERO = "zero"  # 0, or the build fails


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSizeWords:
    """Macro names that are defined exactly where pointers have 64 bits (`wide`), or only where they have 32
    (`narrow`); in the words of one architecture both are exact.
    """

    wide: frozenset[str]
    narrow: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TypeTable:
    """`fixed_width` maps a type name to its spelling in C. `packed` and `aligned` are attribute macros that
    decide about layout, `words` has those that do not. `unaligned` are defined where a word may stand at any address.
    `arch_word_size` is by directory below arch/; `wide_only` names may be defined only with 64 bits, `always` and
    `never` are settled. `narrow_arches` are the architectures with 32-bit kernels alone, `wide_arches` those with
    64-bit ones. Compared by identity, so that it can be part of a cache key.
    """

    fixed_width: dict[str, str]
    packed: frozenset[str]
    aligned: frozenset[str]
    unaligned: frozenset[str]
    words: Words
    word_size: WordSizeWords
    arch_word_size: dict[str, WordSizeWords]
    bits: frozenset[str]
    bytes: frozenset[str]
    wide_only: frozenset[str]
    narrow_arches: frozenset[str]
    wide_arches: frozenset[str]
    always: frozenset[str]
    never: frozenset[str]
    intrinsics: dict[str, Intrinsic]

    def word_size_value(self, name: str, pointer_bytes: int) -> int | None:
        """The value of a macro that stands for the width of a long, else None."""
        if name in self.bits:
            return pointer_bytes * 8
        return pointer_bytes if name in self.bytes else None

    def is_annotation(self, word: str) -> bool:
        """Whether the word may stand in a declaration without being part of its type."""
        return (
            word in self.words.annotations
            or word in self.words.attributes_with_arguments
            or word in self.packed
            or word in self.aligned
        )


def read_types(root: Path, words: Words) -> TypeTable:
    """Read `root`/syntax/types.toml; `words` are the annotations of the same rules. Raises RulebookError for anything
    unexpected, naming file and key."""
    top = read_table(root / "syntax" / "types.toml", root)
    layout, word_size = top.table("layout"), top.table("word_size")
    table = TypeTable(
        fixed_width=_spellings(top.table("fixed_width")),
        packed=frozenset(layout.names("packed")),
        aligned=frozenset(layout.names("aligned")),
        unaligned=frozenset(layout.names("unaligned")),
        words=words,
        word_size=_word_size(word_size),
        arch_word_size={name: _whole(arch) for name, arch in word_size.named_tables("arch")},
        bits=frozenset(word_size.names("bits")),
        bytes=frozenset(word_size.names("bytes")),
        wide_only=frozenset(word_size.names("wide_only")),
        narrow_arches=frozenset(word_size.names("narrow_arches")),
        wide_arches=frozenset(word_size.names("wide_arches")),
        always=frozenset(word_size.names("always")),
        never=frozenset(word_size.names("never")),
        intrinsics=_intrinsics(top.table("intrinsics")),
    )
    for part in (layout, word_size, top):
        part.finish()
    return table


@lru_cache(maxsize=1)
def shipped_types() -> TypeTable:
    """The table that comes with reviewbot. Raises RulebookError if the installation is damaged."""
    root = _rules_folder()
    return read_types(root, load_words(root))


@lru_cache(maxsize=8)
def types_with(words: Words) -> TypeTable:
    """The shipped table with the words of another rulebook."""
    shipped = shipped_types()
    return shipped if words == shipped.words else replace(shipped, words=words)


def _rules_folder() -> Path:
    package = Path(__file__).resolve().parent.parent
    shipped = package / "shipped_rules"
    return shipped if shipped.is_dir() else package.parent / "rules"


def _spellings(table: Table) -> dict[str, str]:
    spellings = {name: table.text(name) for name in table.key_names()}
    table.finish()
    return spellings


def _word_size(table: Table) -> WordSizeWords:
    return WordSizeWords(wide=frozenset(table.names("wide")), narrow=frozenset(table.names("narrow")))


def _whole(table: Table) -> WordSizeWords:
    words = _word_size(table)
    table.finish()
    return words


def _intrinsics(table: Table) -> dict[str, Intrinsic]:
    found = {name: kind for kind in Intrinsic for name in table.names(kind.value, ())}
    table.finish()
    return found
