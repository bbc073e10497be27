"""#if conditions as far as the word size decides them: true, false, or None where only a .config could tell."""

from __future__ import annotations

from functools import lru_cache

from reviewbot.csyntax.abi import Abi
from reviewbot.csyntax.arithmetic import compare
from reviewbot.csyntax.c_expressions import (
    Binary,
    Call,
    Expression,
    Literal,
    Name,
    NotAnExpressionError,
    Unary,
    parse_expression,
)
from reviewbot.csyntax.c_tokens import Tokens, tokenise
from reviewbot.csyntax.literals import integer_of
from reviewbot.rulebook.types import TypeTable

_OPTION_TESTS = frozenset({"IS_ENABLED", "IS_BUILTIN", "IS_MODULE", "defined"})


@lru_cache(maxsize=8192)
def condition_holds(condition: str, abi: Abi, arch: str | None, table: TypeTable) -> bool | None:
    """Whether `condition` (the text behind #if) holds on `abi`; `arch` is the directory below arch/ that the
    code belongs to. None where word size does not decide it or the text is not understood.
    """
    try:
        tree = parse_expression(_with_defined_calls(tokenise(condition)), lambda name: False)
    except NotAnExpressionError:
        return None
    value = _Facts(abi, arch, table).value(tree)
    return None if value is None else bool(value)


def _with_defined_calls(tokens: Tokens) -> Tokens:
    """`defined X` written as `defined(X)`."""
    result: list[str] = []
    for index, token in enumerate(tokens):
        if index and tokens[index - 1] == "defined" and token != "(":
            result += ["(", token, ")"]
        else:
            result.append(token)
    return tuple(result)


class _Facts:
    def __init__(self, abi: Abi, arch: str | None, table: TypeTable) -> None:
        self._is_wide = abi is Abi.LP64
        self._arch = arch
        self._table = table

    def value(self, tree: Expression) -> int | None:
        match tree:
            case Literal():
                return integer_of(tree.text)
            case Name():
                return self._named(tree.name)
            case Unary(operator="!"):
                inner = self.value(tree.operand)
                return None if inner is None else int(not inner)
            case Call(function=Name(name=test), arguments=((name,),)) if test in _OPTION_TESTS:
                return self._is_defined(name)
            case Binary():
                return self._binary(tree)
        return None

    def _binary(self, tree: Binary) -> int | None:
        left, right = self.value(tree.left), self.value(tree.right)
        if tree.operator in ("&&", "||"):
            settles = tree.operator == "||"
            if any(value is not None and bool(value) is settles for value in (left, right)):
                return int(settles)
        if left is None or right is None:
            return None
        if tree.operator in ("&&", "||"):
            return int(tree.operator == "&&")
        holds = compare(tree.operator, left, right)
        return None if holds is None else int(holds)

    def _named(self, name: str) -> int | None:
        if name in self._table.bits:
            return 64 if self._is_wide else 32
        if name in self._table.bytes:
            return 8 if self._is_wide else 4
        return self._is_defined(name) if name not in self._table.always else None

    def _is_defined(self, name: str) -> int | None:
        table = self._table
        if name in table.always or name in table.bits or name in table.bytes:
            return 1
        if name in table.never:
            return 0
        if name in table.word_size.wide:
            return int(self._is_wide)
        if name in table.word_size.narrow or name in table.wide_only:
            return 0 if (name in table.wide_only) is not self._is_wide else None
        return self._of_architecture(name)

    def _of_architecture(self, name: str) -> int | None:
        """Names of one architecture: settled within it; elsewhere the other word size rules them out."""
        for arch, words in self._table.arch_word_size.items():
            if name not in words.wide and name not in words.narrow:
                continue
            fits = (name in words.wide) is self._is_wide
            if not fits:
                return 0
            if arch == self._arch:
                return 1
        return None
