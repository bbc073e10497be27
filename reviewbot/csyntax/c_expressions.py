"""Tokens -> a small expression tree, by precedence climbing. Whether a name is a type is asked of the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from reviewbot.csyntax.abi import TYPE_STARTERS
from reviewbot.csyntax.c_tokens import Tokens, is_identifier, matching, split_at
from reviewbot.values import dataclass

MAX_DEPTH = 40
"""Expressions nested deeper are refused; it keeps a thousand parentheses from exhausting the stack."""

MAX_CHAIN = 100
"""So are longer chains of operators (`a + b + …`, `a.b.c…`), whose trees are as deep as they are long."""


class NotAnExpressionError(ValueError):
    """The tokens are no expression that this reader understands."""


@dataclass(frozen=True, slots=True)
class Literal:
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """Adjacent string literals."""

    parts: Tokens


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Unary:
    operator: str  # + - ~ ! * & ++ --; a postfix ++ or -- too
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Conditional:
    test: Expression
    then: Expression | None  # None for `a ?: b`
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Call:
    function: Expression
    arguments: tuple[Tokens, ...]


@dataclass(frozen=True, slots=True)
class Index:
    array: Expression
    index: Tokens


@dataclass(frozen=True, slots=True)
class Member:
    record: Expression
    name: str
    is_arrow: bool


@dataclass(frozen=True, slots=True)
class Cast:
    """Also a compound literal, whose braces are left out."""

    type: Tokens
    operand: Expression | None


@dataclass(frozen=True, slots=True)
class SizeOf:
    """`operand` is a type or an expression; `keyword` tells sizeof from _Alignof."""

    keyword: str
    type: Tokens | None
    operand: Expression | None


@dataclass(frozen=True, slots=True)
class Statements:
    """A statement expression `({ … })`."""

    body: Tokens


Expression: TypeAlias = (
    Literal | Text | Name | Unary | Binary | Conditional | Call | Index | Member | Cast | SizeOf | Statements
)
IsType: TypeAlias = Callable[[str], bool]

_PRECEDENCE = {
    operator: level
    for level, operators in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"), start=3
    )
    for operator in operators.split()
}
_ASSIGNMENTS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])
_SIZE_KEYWORDS = frozenset({"sizeof", "_Alignof", "__alignof__", "__alignof"})
_PREFIXES = frozenset({"+", "-", "~", "!", "*", "&", "++", "--", "&&"})


def parse_expression(tokens: Tokens, is_type: IsType) -> Expression:
    """The tree of a whole expression. Raises NotAnExpressionError."""
    reader = _Reader(tokens, is_type)
    tree = reader.comma()
    if reader.peek() is not None:
        raise NotAnExpressionError(f"stray {reader.peek()!r}")
    return tree


class _Reader:
    def __init__(self, tokens: Tokens, is_type: IsType) -> None:
        self._tokens = tokens
        self._is_type = is_type
        self._at = 0
        self._depth = 0
        self._chained = 0

    def peek(self, ahead: int = 0) -> str | None:
        index = self._at + ahead
        return self._tokens[index] if index < len(self._tokens) else None

    def comma(self) -> Expression:
        tree = self._assignment()
        while self.peek() == ",":
            self._at += 1
            self._chain()
            tree = Binary(",", tree, self._assignment())
        return tree

    def _assignment(self) -> Expression:
        left = self._conditional()
        operator = self.peek()
        if operator in _ASSIGNMENTS:
            self._at += 1
            return Binary("=", left, self._assignment())
        return left

    def _conditional(self) -> Expression:
        test = self._binary(3)
        if self.peek() != "?":
            return test
        self._at += 1
        then = None if self.peek() == ":" else self.comma()
        self._expect(":")
        return Conditional(test, then, self._conditional())

    def _binary(self, minimum: int) -> Expression:
        left = self._unary()
        while (level := _PRECEDENCE.get(self.peek() or "", 0)) >= minimum:
            operator = self._tokens[self._at]
            self._at += 1
            self._chain()
            left = Binary(operator, left, self._binary(level + 1))
        return left

    def _unary(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotAnExpressionError("nested too deeply")
        try:
            return self._prefixed()
        finally:
            self._depth -= 1

    def _prefixed(self) -> Expression:
        token = self.peek()
        if token in _PREFIXES:
            self._at += 1
            return Unary(token, self._unary())
        if token in _SIZE_KEYWORDS:
            return self._size_of(token)
        if token == "__extension__":
            self._at += 1
            return self._unary()
        if token == "(" and (inside := self._type_in_parentheses()) is not None:
            return self._cast(inside)
        return self._postfix(self._primary())

    def _cast(self, inside: Tokens) -> Expression:
        self._at += len(inside) + 2
        if self.peek() == "{":
            self._skip_group()
            return self._postfix(Cast(inside, None))
        return Cast(inside, self._unary())

    def _size_of(self, keyword: str) -> Expression:
        self._at += 1
        if self.peek() == "(" and (inside := self._type_in_parentheses()) is not None:
            self._at += len(inside) + 2
            if self.peek() == "{":
                self._skip_group()
            return SizeOf(keyword, inside, None)
        return SizeOf(keyword, None, self._unary())

    def _type_in_parentheses(self) -> Tokens | None:
        """The tokens between the parentheses that begin here if they are a type name."""
        first = self.peek(1)
        if first is None or not (first in TYPE_STARTERS or is_identifier(first)):
            return None
        end = matching(self._tokens, self._at)
        if end is None:
            raise NotAnExpressionError("a parenthesis is missing")
        inside = self._tokens[self._at + 1 : end]
        if first in TYPE_STARTERS or self._looks_like_type(inside):
            return inside
        return None

    def _looks_like_type(self, inside: Tokens) -> bool:
        """For parentheses that begin with a plain name: `(x *)` and `(x y)` can only be types, for `(x)` the
        caller knows.
        """
        if inside[-1] == "*" or (len(inside) > 1 and all(map(is_identifier, inside))):
            return True
        return (len(inside) == 1 or inside[1] in ("*", "[", "(") or is_identifier(inside[1])) and self._is_type(
            inside[0]
        )

    def _primary(self) -> Expression:
        token = self.peek()
        if token is None:
            raise NotAnExpressionError("an operand is missing")
        if token == "(":
            return self._group()
        self._at += 1
        if token.endswith('"'):
            return self._string(token)
        if token[0].isdigit() or token[0] == "." or token.endswith("'"):
            return Literal(token)
        if is_identifier(token):
            return Name(token)
        raise NotAnExpressionError(f"unexpected {token!r}")

    def _group(self) -> Expression:
        if self.peek(1) == "{":
            end = matching(self._tokens, self._at)
            if end is None or self._tokens[end - 1] != "}":
                raise NotAnExpressionError("a parenthesis is missing")
            body = self._tokens[self._at + 2 : end - 1]
            self._at = end + 1
            return Statements(body)
        self._at += 1
        tree = self.comma()
        self._expect(")")
        return tree

    def _string(self, first: str) -> Expression:
        parts = [first]
        while (token := self.peek()) is not None and token.endswith('"'):
            parts.append(token)
            self._at += 1
        return Text(tuple(parts))

    def _postfix(self, tree: Expression) -> Expression:
        while (token := self.peek()) is not None:
            self._chain()
            if token == "[":
                tree = Index(tree, self._skip_group())
            elif token == "(":
                tree = Call(tree, tuple(split_at(self._skip_group(), ",")))
            elif token in (".", "->"):
                name = self.peek(1)
                if name is None or not is_identifier(name):
                    raise NotAnExpressionError("a member is missing")
                self._at += 2
                tree = Member(tree, name, token == "->")
            elif token in ("++", "--"):
                self._at += 1
                tree = Unary(token, tree)
            else:
                self._chained -= 1
                break
        return tree

    def _chain(self) -> None:
        self._chained += 1
        if self._chained > MAX_CHAIN:
            raise NotAnExpressionError("too long")

    def _skip_group(self) -> Tokens:
        end = matching(self._tokens, self._at)
        if end is None:
            raise NotAnExpressionError("a bracket is missing")
        inside = self._tokens[self._at + 1 : end]
        self._at = end + 1
        return inside

    def _expect(self, token: str) -> None:
        if self.peek() != token:
            raise NotAnExpressionError(f"{token!r} is missing")
        self._at += 1
