"""The type of an expression, as seen from one place in a function: locals first, then what the file can see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from reviewbot.csyntax.abi import TYPE_STARTERS, DataModel
from reviewbot.csyntax.arithmetic import common_type, promoted
from reviewbot.csyntax.c_declarations import NotADeclarationError, parse_declaration, parse_type
from reviewbot.csyntax.c_expressions import (
    Binary,
    Call,
    Cast,
    Conditional,
    Expression,
    Index,
    Literal,
    Member,
    Name,
    NotAnExpressionError,
    SizeOf,
    Statements,
    Text,
    Unary,
    parse_expression,
)
from reviewbot.csyntax.c_tokens import Tokens, is_identifier, matching, split_at, tokenise
from reviewbot.csyntax.c_types import (
    Array,
    Basic,
    CType,
    Declared,
    Enumeration,
    Function,
    Named,
    Pointer,
    Realigned,
    Record,
    Typeof,
    Void,
    type_text,
)
from reviewbot.csyntax.function_scope import FunctionScope
from reviewbot.csyntax.layout import agreed, members_named
from reviewbot.csyntax.literals import literal_type, string_bytes
from reviewbot.csyntax.lookups import Definitions, Kind, describe, expand_macro
from reviewbot.csyntax.members import Item
from reviewbot.csyntax.unknown_size import IncompleteTypeError, UnknownSizeError
from reviewbot.rulebook.types import Intrinsic, TypeTable

MAX_DEPTH = 100
"""Steps down at one time: types within types, macros within macros, operands within operands."""

MAX_STEPS = 30_000
"""Steps in all for one question; a structure with a thousand members takes a few thousand."""

INT = Basic(name="int")
SIZE = Basic(name="unsigned long")
_COMPARISONS = frozenset(["==", "!=", "<", ">", "<=", ">=", "&&", "||"])
_Value = TypeVar("_Value")


@dataclass(slots=True)
class ExpressionTypes(ABC):
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

    def type_of(self, tree: Expression) -> CType:
        """The type of an expression; arrays are not turned into pointers."""
        self.deeper()
        match tree:
            case Literal():
                ctype: CType = Basic(name=literal_type(tree.text))
            case Text():
                size = string_bytes(tree.parts)
                ctype = Array(of=Basic(name="char"), bound=None if size is None else (str(size),))
            case Name():
                ctype = self._named_type(tree.name)
            case Unary():
                ctype = self._unary_type(tree)
            case Binary():
                ctype = self._binary_type(tree)
            case Conditional():
                ctype = self._conditional_type(tree)
            case Index():
                ctype = self.pointed_to(self.type_of(tree.array))
            case Member():
                ctype = self._member_type(tree)
            case Cast():
                ctype = self.type_named(tree.type)
            case SizeOf():
                ctype = SIZE
            case Call():
                ctype = self._call_type(tree)
            case Statements():
                ctype = self._statements_type(tree.body)
        self.higher()
        return ctype

    def type_named(self, tokens: Tokens) -> CType:
        """The type that a type name means."""
        try:
            return parse_type(tokens, self.table)
        except NotADeclarationError as error:
            raise UnknownSizeError(f"`{describe(tokens)}` is not a type ({error})") from None

    def pointed_to(self, ctype: CType) -> CType:
        """What a pointer points to, or the element of an array."""

        def target(each: CType) -> CType:
            match each:
                case Pointer():
                    return each.to
                case Array():
                    return each.of
                case Function():
                    return each
            raise UnknownSizeError(f"{type_text(ctype)} is no pointer")

        return agreed([lambda e=e: target(e) for e in self.resolved(ctype)], f"the target of {type_text(ctype)}")  # type: ignore[misc]

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
        return agreed([lambda e=e: e for e in self.resolved(ctype)], type_text(ctype))  # type: ignore[misc]

    def expanded_members(self, item: Item) -> tuple[Item, ...] | None:
        """The member declarations that a macro stands for; None if the item is no macro call."""
        if len(item) < 3 or item[1] != "(" or not is_identifier(item[0]) or matching(item, 1) != len(item) - 1:
            return None
        expansions = self._expansions(item[0], tuple(split_at(item[2:-1], ",")))
        if not expansions:
            return None
        body = agreed([lambda e=e: e for e in expansions], f"the macro {item[0]}")  # type: ignore[misc]
        return tuple(piece for piece in split_at(body, ";") if piece)

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

    # names

    def _named_type(self, name: str) -> CType:
        overlay = self._overlay(name)
        if overlay is not None:
            return overlay
        local = self._local_type(name)
        if local is not None:
            return local
        known = self.definitions
        bodies = self._expansions(name, None)
        ways: list[Callable[[], CType]] = [
            lambda b=b: self.within(name, lambda: self.type_of(self.parsed(b)))  # type: ignore[misc]
            for b in bodies
        ]
        if not ways:
            ways = [lambda v=v: self._complete(v) for v in known.variables(name)]  # type: ignore[misc]
        if not ways and known.enumerators(name):
            return INT
        if not ways:
            ways = [lambda r=r: Function(returns=r) for r in known.return_types(name)]  # type: ignore[misc]
        if not ways:
            raise UnknownSizeError(f"`{name}` is not declared in any file seen")
        return agreed(ways, f"`{name}`")

    def _local_type(self, name: str) -> CType | None:
        locals_ = self.scope.locals_named(name, self.at)
        if locals_:
            return agreed([lambda x=x: self._declared_type(x.declared) for x in locals_], f"`{name}`")  # type: ignore[misc]
        call = self.scope.macro_declaring(name, self.at)
        for piece in (self.expanded_members(call) or ()) if call else ():
            for declared in self._declarations(piece):
                if declared.name == name:
                    return declared.type
        return None

    def _declared_type(self, declared: Declared) -> CType:
        if declared.type == Named(name="__auto_type") and declared.initialiser:
            return self.type_of(self.parsed(declared.initialiser))
        return declared.type

    def _complete(self, declared: Declared) -> CType:
        if isinstance(declared.type, Array) and declared.type.bound is None:
            raise IncompleteTypeError(f"`{declared.name}` is an array without a bound")
        return declared.type

    def _declarations(self, tokens: Tokens) -> tuple[Declared, ...]:
        try:
            return parse_declaration(tokens, self.table)
        except NotADeclarationError:
            return ()

    def typedef_types(self, ctype: Named) -> tuple[CType, ...]:
        """What a type name stands for, one step further."""
        spelling = self.table.fixed_width.get(ctype.name)
        if spelling is not None:
            return (parse_type(tokenise(spelling), self.table),)
        found = self.definitions.types_named(ctype.name) or self._macro_type(ctype.name)
        if not found:
            raise UnknownSizeError(f"the type {ctype.name} is not defined in any file seen")
        return tuple(found)

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

    # operators

    def _unary_type(self, tree: Unary) -> CType:
        operand = self.type_of(tree.operand)
        match tree.operator:
            case "*":
                return self.pointed_to(operand)
            case "&":
                return Pointer(to=operand)
            case "!":
                return INT
            case "++" | "--":
                return operand
        return promoted(self.only(operand), self.model)

    def _binary_type(self, tree: Binary) -> CType:
        if tree.operator in _COMPARISONS:
            return INT
        if tree.operator == ",":
            return self.type_of(tree.right)
        left = self.type_of(tree.left)
        if tree.operator == "=":
            return left
        left_is_address = self._is_address(left)
        if tree.operator in ("<<", ">>"):
            return promoted(self.only(left), self.model)
        right = self.type_of(tree.right)
        right_is_address = tree.operator in "+-" and self._is_address(right)
        if left_is_address and right_is_address:
            return Basic(name="long")
        if left_is_address or right_is_address:
            address = left if left_is_address else right
            return Pointer(to=self.pointed_to(address))
        return common_type(self.only(left), self.only(right), self.model)

    def _is_address(self, ctype: CType) -> bool:
        return all(isinstance(each, Pointer | Array | Function) for each in self.resolved(ctype))

    def _conditional_type(self, tree: Conditional) -> CType:
        then = self.type_of(tree.then if tree.then is not None else tree.test)
        otherwise = self.type_of(tree.otherwise)
        if then == otherwise:
            return then
        addresses = [each for each in (then, otherwise) if self._is_address(each)]
        if len(addresses) == 2:  # a void pointer gives way, and so does NULL
            typed = [each for each in addresses if not isinstance(self.only(self.pointed_to(each)), Void)]
            targets = {self.pointed_to(each) for each in typed}
            if len(targets) > 1:
                raise UnknownSizeError("the two branches of ?: point to different types")
            return typed[0] if typed else addresses[0]
        if addresses:
            return addresses[0]
        resolved = self.only(then), self.only(otherwise)
        if isinstance(resolved[0], Record):
            return then
        return common_type(*resolved, self.model)

    def _member_type(self, tree: Member) -> CType:
        record = self.type_of(tree.record)
        if tree.is_arrow:
            record = self.pointed_to(record)
        found: dict[CType, None] = {}
        for each in self.resolved(record):
            if not isinstance(each, Record):
                raise UnknownSizeError(f"{type_text(record)} is no struct or union")
            found.update(dict.fromkeys(members_named(each, tree.name, self)))
        if not found:
            raise UnknownSizeError(f"{type_text(record)} has no member {tree.name} that can be seen")
        return self._same_type(list(found), f"the member {tree.name} of {type_text(record)}")

    def _same_type(self, types: list[CType], what: str) -> CType:
        """The first of several types if they are all the same behind their names."""
        if len(types) > 1:
            agreed([lambda t=t: self.only(t) for t in types], what)  # type: ignore[misc]
        return types[0]

    def _call_type(self, tree: Call) -> CType:
        if not isinstance(tree.function, Name):
            return self._returned(self.type_of(tree.function))
        name = tree.function.name
        local = self._overlay(name) or self._local_type(name)
        if local is not None:
            return self._returned(local)
        intrinsic = self.table.intrinsics.get(name)
        if intrinsic is Intrinsic.SAME_VALUE and tree.arguments:
            return self.type_of(self.parsed(tree.arguments[0]))
        if intrinsic is not None:
            return SIZE
        bodies = self._expansions(name, tree.arguments) if name not in self._expanding else []
        if bodies:
            return agreed(
                [lambda b=b: self.within(name, lambda: self.type_of(self.parsed(b))) for b in bodies],  # type: ignore[misc]
                f"`{name}()`",
            )
        returns = self.definitions.return_types(name)
        if not returns:
            raise UnknownSizeError(f"`{name}()` is not declared in any file seen")
        return self._same_type(returns, f"what `{name}()` returns")

    def _returned(self, ctype: CType) -> CType:
        resolved = self.only(ctype)
        if isinstance(resolved, Pointer):
            resolved = self.only(resolved.to)
        if not isinstance(resolved, Function):
            raise UnknownSizeError(f"{type_text(ctype)} is called but is no function")
        return resolved.returns

    def _statements_type(self, body: Tokens) -> CType:
        """The type of `({ …; value; })`."""
        pieces = [piece for piece in split_at(body, ";") if piece]
        if not pieces:
            return Void()
        overlay: dict[str, CType] = {}
        self._overlays.append(overlay)
        try:
            for piece in pieces[:-1]:
                for declared in self._declarations(piece):
                    if declared.name:
                        overlay[declared.name] = self._settled(declared)
            return self._free_of_overlay(self.type_of(self.parsed(pieces[-1])))
        finally:
            self._overlays.pop()

    def _settled(self, declared: Declared) -> CType:
        return self._free_of_overlay(self._declared_type(declared))

    def _free_of_overlay(self, ctype: CType) -> CType:
        """A typeof of a name that only the statement expression knows is replaced by what it means."""
        match ctype:
            case Typeof():
                return self._typeof(ctype)
            case Pointer():
                return Pointer(to=self._free_of_overlay(ctype.to))
            case Array():
                return Array(of=self._free_of_overlay(ctype.of), bound=ctype.bound)
        return ctype


def is_enumeration(ctype: CType) -> bool:
    return isinstance(ctype, Enumeration)
