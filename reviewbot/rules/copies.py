"""Copies in the text of a function: every call of a primitive that takes a size, found without reading the control
flow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from reviewbot.csyntax.brackets import closing, split_arguments
from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.items import Item
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.macros import Argument
from reviewbot.findings.finding import Place
from reviewbot.graph.code import CodeReader
from reviewbot.patterns import regex
from reviewbot.rulebook.book import arch_of
from reviewbot.rulebook.primitives import Primitive
from reviewbot.values import dataclass

_DIRECTIVE = regex(rb"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCall:
    """A call of a primitive as written: `offset` in the file, arguments as written (offsets in the file)."""

    primitive: Primitive
    offset: int
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionText:
    """A function as text: what rules look at that need no paths."""

    reader: CodeReader
    path: str
    item: Item

    @property
    def arch(self) -> str | None:
        return arch_of(self.path)

    @cached_property
    def clean(self) -> bytes:
        """The text with comments, literals and directives blanked."""
        text = blank_comments(self.item.text, literals=True)
        return _DIRECTIVE.sub(lambda m: re.sub(rb"[^\n]", b" ", m.group()), text) if b"#" in text else text

    def calls(self, pattern: re.Pattern[bytes]) -> Iterator[TextCall]:
        """Every call whose name the pattern's first group matches, when that is a primitive here."""
        for match in pattern.finditer(self.clean, self.item.body - self.item.start):
            end = closing(self.clean, match.end() - 1)
            primitive = self.reader.book.primitive(match.group(1).decode(), self.arch)
            if end is None or primitive is None or self._is_member(match.start()):
                continue
            spans = split_arguments(self.clean, match.end(), end)
            arguments = tuple(
                Argument(text=self.item.text[begin:stop], offset=self.item.start + begin) for begin, stop in spans
            )
            yield TextCall(primitive=primitive, offset=self.item.start + match.start(), arguments=arguments)

    def place(self, offset: int) -> Place:
        lines = self.reader.lines(self.path)
        line = lines.line(offset)
        before = self.reader.data(self.path)[lines.start(line) : offset]
        return Place(
            path=self.path, line=line, column=len(before.decode("utf-8", "replace")) + 1, function=self.item.name
        )

    def conditions_at(self, offset: int) -> tuple[str, ...]:
        """The #if conditions that the place stands under, those around its function included."""
        return conditions_at(self.reader.data(self.path), offset)

    def _is_member(self, position: int) -> bool:
        """`ops->copy_from_user(…)` is a function pointer, whatever it is called."""
        before = self.clean[:position].rstrip()
        return before.endswith((b"->", b"."))
