"""How large a type is at least, told from its own text: no other definition is looked up for it.

Most structures that are copied are far larger than the sizes a rule asks about. Their first members say so already, and
nothing needs to be known of the types of the others.
"""

from __future__ import annotations

from collections.abc import Iterable

from reviewbot.csyntax.abi import DataModel
from reviewbot.csyntax.c_declarations import NotADeclarationError, parse_declaration, parse_type
from reviewbot.csyntax.c_tokens import Tokens, tokenise
from reviewbot.csyntax.c_types import Array, Basic, CType, Declared, Named, Pointer, Realigned, Record
from reviewbot.csyntax.literals import integer_of
from reviewbot.csyntax.members import Item, TooManyVariantsError, member_variants
from reviewbot.rulebook.types import TypeTable
from reviewbot.values import dataclass

MAX_DEPTH = 20
"""Types within types; what lies deeper counts for nothing."""


@dataclass(frozen=True, slots=True)
class LeastSize:
    """Counts on one data model, and stops above `enough` bytes. `table` says which names are types of one width."""

    model: DataModel
    table: TypeTable
    enough: int

    def of(self, ctype: CType, depth: int = 0) -> int:
        """A number of bytes that the type has at least, in every choice of its #if branches; 0 where nothing is
        plain."""
        if depth > MAX_DEPTH:
            return 0
        match ctype:
            case Basic():
                return self.model.size(ctype.name) or 0
            case Pointer():
                return self.model.abi.pointer_bytes
            case Named() if (spelling := self.table.fixed_width.get(ctype.name)) is not None:
                return self.of(parse_type(tokenise(spelling), self.table), depth + 1)
            case Realigned():
                return self.of(ctype.of, depth + 1)
            case Array() if (count := _plain_number(ctype.bound)) > 0:
                return self.of(ctype.of, depth + 1) * count
            case Record(body=tuple() as body):
                try:
                    variants = member_variants(body, self.model.abi, ctype.arch, self.table)
                except TooManyVariantsError:
                    return 0
                return min((self._of_members(ctype, items, depth + 1) for items in variants), default=0)
        return 0

    def _of_members(self, record: Record, items: Iterable[Item], depth: int) -> int:
        """Members that cannot be read, such as macros, may take no room."""
        total = 0
        for item in items:
            try:
                members = parse_declaration(item, self.table)
            except NotADeclarationError:
                continue
            for member in filter(_takes_room, members):
                size = self.of(member.type, depth)
                total = max(total, size) if record.keyword == "union" else total + size
            if total > self.enough:
                break
        return total


def _takes_room(member: Declared) -> bool:
    """Not a bit-field, which may share a word with others, and not a tag that is only declared among the members."""
    if member.width is not None:
        return False
    return bool(member.name) or (isinstance(member.type, Record) and not member.type.tag)


def _plain_number(bound: Tokens | None) -> int:
    number = integer_of(bound[0]) if bound is not None and len(bound) == 1 else None
    return number or 0
