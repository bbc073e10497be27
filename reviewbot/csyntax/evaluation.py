"""The value of a constant expression on one ABI, as the compiler would work it out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reviewbot.csyntax.arithmetic import apply_binary, wrapped
from reviewbot.csyntax.c_expressions import (
    Binary,
    Call,
    Cast,
    Conditional,
    Expression,
    Literal,
    Name,
    SizeOf,
    Statements,
    Unary,
)
from reviewbot.csyntax.c_tokens import Tokens, split_at
from reviewbot.csyntax.c_types import Array, CType, Declared, Record, type_text
from reviewbot.csyntax.expression_types import ExpressionTypes
from reviewbot.csyntax.function_scope import Local
from reviewbot.csyntax.layout import agreed, agreed_among, extent_of, members_named, offset_of
from reviewbot.csyntax.literals import integer_of
from reviewbot.csyntax.unknown_size import UnknownSizeError
from reviewbot.rulebook.types import Intrinsic
from reviewbot.values import dataclass


@dataclass(slots=True)
class Evaluation(ExpressionTypes):
    """ExpressionTypes, and values. All methods raise UnknownSizeError where the answer cannot be told."""

    def constant(self, tokens: Tokens) -> int:
        """The value of a constant expression."""
        return self.value(self.parsed(tokens))

    def measured(self, tree: SizeOf) -> CType:
        """The type whose size a sizeof asks for."""
        if tree.type is not None:
            return self.type_named(tree.type)
        assert tree.operand is not None
        return self.type_of(tree.operand)

    def value(self, tree: Expression) -> int:
        """The value of an expression that the compiler can work out."""
        self.deeper()
        match tree:
            case Literal():
                value = _integer(tree.text)
            case Name():
                value = self._named_value(tree.name)
            case SizeOf():
                extent = extent_of(self.measured(tree), self)
                value = extent.size if tree.keyword == "sizeof" else extent.sure_alignment
            case Unary():
                value = self._unary_value(tree)
            case Binary():
                value = self._binary_value(tree)
            case Conditional():
                value = self._conditional_value(tree)
            case Cast(operand=operand) if operand is not None:
                value = wrapped(self.value(operand), self.only(self.type_named(tree.type)), self.model)
            case Call():
                value = self._call_value(tree)
            case Statements():
                raise UnknownSizeError("it is a statement expression")
            case _:
                raise UnknownSizeError("it is not a constant")
        self.higher()
        return value

    def _named_value(self, name: str) -> int:
        locals_ = self.scope.locals_named(name, self.at)
        if self._overlay(name) is not None:
            raise UnknownSizeError(f"`{name}` is a variable")
        if locals_:
            return agreed_among(locals_, self._local_value, f"`{name}`")
        word_size = self.table.word_size_value(name, self.model.abi.pointer_bytes)
        if word_size is not None:
            return word_size
        ways: list[Callable[[], int]] = [
            partial(self.within, name, partial(self.constant, body)) for body in self._expansions(name, None)
        ]
        for expression, step in self.definitions.enumerators(name):
            ways.append(partial(self._enumerator_value, name, expression, step))
        if not ways:
            ways = [partial(self._constant_variable, each) for each in self.definitions.variables(name)]
        if not ways:
            raise UnknownSizeError(f"`{name}` is not defined in any file seen")
        return agreed(ways, f"`{name}`")

    def _enumerator_value(self, name: str, expression: Tokens | None, step: int) -> int:
        return step if expression is None else step + self.within(name, lambda: self.constant(expression))

    def _local_value(self, local: Local) -> int:
        """The value of a local variable that never changes after its initialiser."""
        declared = local.declared
        if local.is_parameter or declared.initialiser is None:
            raise UnknownSizeError(f"`{declared.name}` is a variable")
        if not declared.is_const and self.scope.is_modified(local):
            raise UnknownSizeError(f"`{declared.name}` is a variable")
        return self._initial_value(declared)

    def _constant_variable(self, declared: Declared) -> int:
        if not declared.is_const:
            raise UnknownSizeError(f"`{declared.name}` is a variable")
        return self._initial_value(declared)

    def _initial_value(self, declared: Declared) -> int:
        if declared.initialiser is None:
            raise UnknownSizeError(f"`{declared.name}` is a variable")
        value = self.within(declared.name, lambda: self.constant(declared.initialiser or ()))
        return wrapped(value, self.only(declared.type), self.model)

    def _unary_value(self, tree: Unary) -> int:
        operand = self.value(tree.operand) if tree.operator in ("-", "+", "~", "!") else 0
        match tree.operator:
            case "-":
                return -operand
            case "+":
                return operand
            case "~":
                return wrapped(~operand, self.only(self.type_of(tree)), self.model)
            case "!":
                return int(not operand)
        raise UnknownSizeError("it is not a constant")

    def _binary_value(self, tree: Binary) -> int:
        left = self.value(tree.left)
        if tree.operator in ("&&", "||") and bool(left) is (tree.operator == "||"):
            return int(bool(left))
        right = self.value(tree.right)
        if tree.operator in ("&&", "||"):
            return int(bool(right))
        return apply_binary(tree.operator, left, right)

    def _conditional_value(self, tree: Conditional) -> int:
        test = self.value(tree.test)
        if not test:
            return self.value(tree.otherwise)
        return test if tree.then is None else self.value(tree.then)

    def _call_value(self, tree: Call) -> int:
        if not isinstance(tree.function, Name):
            raise UnknownSizeError("it calls through a pointer")
        name = tree.function.name
        intrinsic = self.table.intrinsics.get(name)
        if intrinsic is not None:
            return self._intrinsic_value(intrinsic, name, tree.arguments)
        bodies = self._expansions(name, tree.arguments) if name not in self._expanding else []
        if not bodies:
            raise UnknownSizeError(f"`{name}()` is called")
        return agreed_among(bodies, lambda body: self.within(name, lambda: self.constant(body)), f"`{name}()`")

    def _intrinsic_value(self, intrinsic: Intrinsic, name: str, arguments: tuple[Tokens, ...]) -> int:
        try:
            match intrinsic:
                case Intrinsic.OFFSET_OF:
                    return self._offset(self.type_named(arguments[0]), arguments[1])
                case Intrinsic.MEMBER_SIZE:
                    return extent_of(self._member(arguments[0], arguments[1]), self).size
                case Intrinsic.MEMBER_END:
                    end = self._offset(self.type_named(arguments[0]), arguments[1])
                    return end + extent_of(self._member(arguments[0], arguments[1]), self).size
                case Intrinsic.ELEMENTS:
                    return self._elements(arguments[0])
                case Intrinsic.MINIMUM | Intrinsic.MAXIMUM:
                    values = [self.constant(tokens) for tokens in arguments]
                    return min(values) if intrinsic is Intrinsic.MINIMUM else max(values)
                case Intrinsic.MINIMUM_TYPED | Intrinsic.MAXIMUM_TYPED:
                    ctype = self.only(self.type_named(arguments[0]))
                    values = [wrapped(self.constant(tokens), ctype, self.model) for tokens in arguments[1:]]
                    return min(values) if intrinsic is Intrinsic.MINIMUM_TYPED else max(values)
                case Intrinsic.SAME_VALUE:
                    return self.constant(arguments[0])
                case Intrinsic.CHOOSE:
                    return self.constant(arguments[1] if self.constant(arguments[0]) else arguments[2])
                case Intrinsic.ZERO:
                    return 0
        except (IndexError, ValueError):
            raise UnknownSizeError(f"`{name}()` has too few arguments") from None

    def _elements(self, tokens: Tokens) -> int:
        array = self.only(self.type_of(self.parsed(tokens)))
        if not isinstance(array, Array) or array.bound is None:
            raise UnknownSizeError("the array has no bound that can be seen")
        return self.constant(array.bound)

    def _member(self, record: Tokens, path: Tokens) -> CType:
        """The type of `((record *)0)->path`."""
        return self.type_of(self.parsed(("(", "(", *record, "*", ")", "0", ")", "->", *path)))

    def _offset(self, ctype: CType, path: Tokens) -> int:
        total = 0
        for step in split_at(path, "."):
            if len(step) != 1:
                raise UnknownSizeError("an offset into an array")
            total += self._one_offset(ctype, step[0])
            ctype = self._only_member(ctype, step[0])
        return total

    def _one_offset(self, ctype: CType, name: str) -> int:
        return agreed_among(self.resolved(ctype), lambda each: self._offset_in(each, name), f"the offset of {name}")

    def _offset_in(self, ctype: CType, name: str) -> int:
        if not isinstance(ctype, Record):
            raise UnknownSizeError(f"{type_text(ctype)} is no struct or union")
        return offset_of(ctype, name, self)

    def _only_member(self, ctype: CType, name: str) -> CType:
        found = [
            member
            for record in self.resolved(ctype)
            if isinstance(record, Record)
            for member in members_named(record, name, self)
        ]
        return self._same_type(found, f"the member {name}")


def _integer(text: str) -> int:
    value = integer_of(text)
    if value is None:
        raise UnknownSizeError(f"{text} is no integer")
    return value
