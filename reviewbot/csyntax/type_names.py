"""What a type name, a tag, a typeof or a macro means where it stands: locals first, then what the file can see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeVar

from reviewbot.csyntax.abi import TYPE_STARTERS, DataModel
from reviewbot.csyntax.c_declarations import NotADeclarationError, parse_declaration, parse_type
from reviewbot.csyntax.c_expressions import (
    Expression,
    NotAnExpressionError,
    parse_expression,
)
from reviewbot.csyntax.c_tokens import Tokens, is_identifier, matching, split_at, tokenise
from reviewbot.csyntax.c_types import (
    CType,
    Declared,
    Named,
    Realigned,
    Record,
    Typeof,
    type_text,
)
from reviewbot.csyntax.function_scope import FunctionScope
from reviewbot.csyntax.layout import agreed_among
from reviewbot.csyntax.lookups import Definitions, Kind, describe, expand_macro
from reviewbot.csyntax.members import Item
from reviewbot.csyntax.unknown_size import IncompleteTypeError, UnknownSizeError
from reviewbot.rulebook.types import TypeTable
from reviewbot.values import dataclass

MAX_DEPTH = 100
"""Steps down at one time: types within types, macros within macros, operands within operands."""

MAX_STEPS = 30_000
"""Steps in all for one question; a structure with a thousand members takes a few thousand."""

_Value = TypeVar("_Value")


@dataclass(slots=True)
class TypeNames(ABC):
    """One question. `at` is the offset in the function that decides which local declaration a name means. All
    methods raise UnknownSizeError where the answer cannot be told.
    """

    model: DataModel
    scope: FunctionScope
    at: int
    definitions: Definitions
    table: TypeTable
    _depth: int = 0
    _steps: int = 0
    _overlays: list[dict[str, CType]] = field(default_factory=list)
    _expanding: list[str] = field(default_factory=list)

    @abstractmethod
    def constant(self, tokens: Tokens) -> int:
        """The value of a constant expression."""

    @abstractmethod
    def type_of(self, tree: Expression) -> CType:
        """The type of an expression; arrays are not turned into pointers."""

    def deeper(self) -> None:
        self._depth += 1
        self._steps += 1
        if self._depth > MAX_DEPTH:
            raise UnknownSizeError("it is nested too deeply")
        if self._steps > MAX_STEPS:
            raise UnknownSizeError("it takes too many steps to work out")

    def higher(self) -> None:
        self._depth -= 1

    def parsed(self, tokens: Tokens) -> Expression:
        try:
            return parse_expression(tokens, self.is_type)
        except NotAnExpressionError as error:
            raise UnknownSizeError(f"`{describe(tokens)}` could not be read ({error})") from None

    def is_type(self, name: str) -> bool:
        """Whether a name stands for a type here: no local variable, but a typedef or a macro for a type."""
        if self._overlay(name) is not None or self.scope.locals_named(name, self.at):
            return False
        if name in self.table.fixed_width or self.definitions.of(name, Kind.TYPEDEF):
            return True
        return any(self._macro_type(name))

    def type_named(self, tokens: Tokens) -> CType:
        """The type that a type name means."""
        try:
            return parse_type(tokens, self.table)
        except NotADeclarationError as error:
            raise UnknownSizeError(f"`{describe(tokens)}` is not a type ({error})") from None

    def resolved(self, ctype: CType) -> tuple[CType, ...]:
        """The types that a name, tag or typeof may stand for: complete where a body can be seen, at least one."""
        self.deeper()
        match ctype:
            case Named():
                types = self.typedef_types(ctype)
                found = self.within(ctype.name, lambda: self._all_resolved(types))
            case Record(body=None):
                found = self._resolved_record(ctype)
            case Typeof():
                found = self.resolved(self._typeof(ctype))
            case Realigned():
                found = self.resolved(ctype.of)
            case _:
                found = (ctype,)
        self.higher()
        return found

    def only(self, ctype: CType) -> CType:
        """`resolved`, where all definitions agree."""
        return agreed_among(self.resolved(ctype), _as_it_is, type_text(ctype))

    def expanded_members(self, item: Item) -> tuple[Item, ...] | None:
        """The member declarations that a macro stands for; None if the item is no macro call."""
        if len(item) < 3 or item[1] != "(" or not is_identifier(item[0]) or matching(item, 1) != len(item) - 1:
            return None
        expansions = self._expansions(item[0], tuple(split_at(item[2:-1], ",")))
        if not expansions:
            return None
        body = agreed_among(expansions, _as_it_is, f"the macro {item[0]}")
        return tuple(piece for piece in split_at(body, ";") if piece)

    def typedef_types(self, ctype: Named) -> tuple[CType, ...]:
        """What a type name stands for, one step further."""
        spelling = self.table.fixed_width.get(ctype.name)
        if spelling is not None:
            return (parse_type(tokenise(spelling), self.table),)
        found = self.definitions.types_named(ctype.name) or self._macro_type(ctype.name)
        if not found:
            raise UnknownSizeError(f"the type {ctype.name} is not defined in any file seen")
        return tuple(found)

    def within(self, name: str, work: Callable[[], _Value]) -> _Value:
        """Do something inside the expansion of `name`, which does not expand again."""
        if name in self._expanding:
            raise UnknownSizeError(f"`{name}` is defined by itself")
        self._expanding.append(name)
        try:
            return work()
        finally:
            self._expanding.pop()

    def _expansions(self, name: str, arguments: tuple[Tokens, ...] | None) -> list[Tokens]:
        """The expansions of a macro, one for each definition that fits."""
        bodies = [expand_macro(macro, arguments) for macro in self.definitions.macros(name)]
        return list(dict.fromkeys(body for body in bodies if body is not None))

    def _overlay(self, name: str) -> CType | None:
        return next((overlay[name] for overlay in reversed(self._overlays) if name in overlay), None)

    def _declarations(self, tokens: Tokens) -> tuple[Declared, ...]:
        try:
            return parse_declaration(tokens, self.table)
        except NotADeclarationError:
            return ()

    def _all_resolved(self, types: Sequence[CType]) -> tuple[CType, ...]:
        result: dict[CType, None] = {}
        failure: UnknownSizeError | None = None
        for each in types:
            try:
                result.update(dict.fromkeys(self.resolved(each)))
            except IncompleteTypeError as error:
                failure = error
        if not result and failure is not None:
            raise failure
        return tuple(result)

    def _macro_type(self, name: str) -> list[CType]:
        """The types that macros of this name stand for (`#define foo_t unsigned int`)."""
        found = []
        for body in self._expansions(name, None):
            if body and (body[0] in TYPE_STARTERS or (is_identifier(body[0]) and body[0] != name)):
                declared = self._declarations(body)
                if len(declared) == 1 and not declared[0].name and self._may_be_type(name, body):
                    found.append(declared[0].type)
        return found

    def _may_be_type(self, name: str, body: Tokens) -> bool:
        if body[0] in TYPE_STARTERS or body[0] in self.table.fixed_width:
            return True
        return name not in self._expanding and self.within(name, lambda: self.is_type(body[0]))

    def _resolved_record(self, record: Record) -> tuple[CType, ...]:
        local = self.scope.record(record.keyword, record.tag, self.at)
        if local is not None:
            return (local,)
        found = self.definitions.records(record.keyword, record.tag)
        if not found:
            raise IncompleteTypeError(f"{type_text(record)} is not defined in any file seen")
        return tuple(found)

    def _typeof(self, ctype: Typeof) -> CType:
        if self._begins_type(ctype.operand):
            return self.type_named(ctype.operand)
        return self.type_of(self.parsed(ctype.operand))

    def _begins_type(self, tokens: Tokens) -> bool:
        if not tokens:
            return False
        first = tokens[0]
        if first in TYPE_STARTERS:
            return True
        return is_identifier(first) and (len(tokens) == 1 or tokens[1] == "*") and self.is_type(first)


def _as_it_is(value: _Value) -> _Value:
    return value
