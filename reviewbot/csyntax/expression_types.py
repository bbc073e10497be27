"""The type of an expression, as seen from one place in a function: locals first, then what the file can see."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reviewbot.csyntax.arithmetic import common_type, promoted
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
    SizeOf,
    Statements,
    Text,
    Unary,
)
from reviewbot.csyntax.c_tokens import Tokens, split_at
from reviewbot.csyntax.c_types import (
    Array,
    Basic,
    CType,
    Declared,
    Function,
    Named,
    Pointer,
    Record,
    Typeof,
    Void,
    type_text,
)
from reviewbot.csyntax.layout import agreed, agreed_among, members_named
from reviewbot.csyntax.literals import literal_type, string_bytes
from reviewbot.csyntax.type_names import TypeNames
from reviewbot.csyntax.unknown_size import IncompleteTypeError, UnknownSizeError
from reviewbot.rulebook.types import Intrinsic
from reviewbot.values import dataclass

INT = Basic(name="int")
SIZE = Basic(name="unsigned long")
_COMPARISONS = frozenset(["==", "!=", "<", ">", "<=", ">=", "&&", "||"])


@dataclass(slots=True)
class ExpressionTypes(TypeNames):
    """TypeNames, and the types of expressions. All methods raise UnknownSizeError where the answer cannot be told."""

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

        return agreed_among(self.resolved(ctype), target, f"the target of {type_text(ctype)}")

    def _named_type(self, name: str) -> CType:
        overlay = self._overlay(name)
        if overlay is not None:
            return overlay
        local = self._local_type(name)
        if local is not None:
            return local
        known = self.definitions
        bodies = self._expansions(name, None)
        ways: list[Callable[[], CType]] = [partial(self._type_of_body, name, body) for body in bodies]
        if not ways:
            ways = [partial(self._complete, each) for each in known.variables(name)]
        if not ways and known.enumerators(name):
            return INT
        if not ways:
            ways = [partial(Function, returns=each) for each in known.return_types(name)]
        if not ways:
            raise UnknownSizeError(f"`{name}` is not declared in any file seen")
        return agreed(ways, f"`{name}`")

    def _type_of_body(self, name: str, body: Tokens) -> CType:
        """The type of what the macro `name` stands for."""
        return self.within(name, lambda: self.type_of(self.parsed(body)))

    def _local_type(self, name: str) -> CType | None:
        locals_ = self.scope.locals_named(name, self.at)
        if locals_:
            return agreed_among(locals_, lambda each: self._declared_type(each.declared), f"`{name}`")
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
            agreed_among(types, self.only, what)
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
            return agreed_among(bodies, partial(self._type_of_body, name), f"`{name}()`")
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
