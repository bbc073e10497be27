"""C's integer arithmetic on known values, and the type that two operands have in common."""

from __future__ import annotations

from reviewbot.csyntax.abi import FLOATING, DataModel
from reviewbot.csyntax.c_types import Basic, CType
from reviewbot.csyntax.unknown_size import UnknownSizeError

MAX_SHIFT = 63


def apply_binary(operator: str, left: int, right: int) -> int:
    """`left operator right` as C has it; && and || are the caller's. Raises UnknownSizeError for what is undefined."""
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" | "%":
            return _divide(operator, left, right)
        case "<<" | ">>":
            if not 0 <= right <= MAX_SHIFT:
                raise UnknownSizeError("a shift too far")
            return left << right if operator == "<<" else left >> right
        case "&":
            return left & right
        case "|":
            return left | right
        case "^":
            return left ^ right
        case ",":
            return right
    holds = compare(operator, left, right)
    if holds is None:
        raise UnknownSizeError("it is not a constant")
    return int(holds)


def _divide(operator: str, left: int, right: int) -> int:
    if right == 0:
        raise UnknownSizeError("a division by zero")
    quotient = abs(left) // abs(right)
    if (left < 0) is not (right < 0):
        quotient = -quotient
    return quotient if operator == "/" else left - quotient * right


def compare(operator: str, left: int, right: int) -> bool | None:
    """Whether the comparison holds; None if the operator compares nothing."""
    match operator:
        case "==":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case ">":
            return left > right
        case "<=":
            return left <= right
        case ">=":
            return left >= right
    return None


def wrapped(value: int, ctype: CType, model: DataModel) -> int:
    """The value after conversion to an integer type; other types leave it as it is."""
    if not isinstance(ctype, Basic) or ctype.name in FLOATING:
        return value
    if ctype.name == "_Bool":
        return int(value != 0)
    bits = 8 * (model.size(ctype.name) or 8)
    value &= (1 << bits) - 1
    is_signed = not ctype.name.startswith("unsigned")
    return value - (1 << bits) if is_signed and value >> (bits - 1) else value


def promoted(ctype: CType, model: DataModel) -> CType:
    """The type after integer promotion; enumerations and what is smaller than int become int."""
    if not isinstance(ctype, Basic):
        return Basic(name="int")
    size = model.size(ctype.name)
    return Basic(name="int") if size is not None and size < 4 else ctype


def common_type(left: CType, right: CType, model: DataModel) -> CType:
    """The type of `left + right` for two arithmetic types (C11 6.3.1.8)."""
    pair = [each for each in (promoted(left, model), promoted(right, model)) if isinstance(each, Basic)]
    for name in ("long double", "double", "float"):
        if any(each.name == name for each in pair):
            return Basic(name=name)
    widest = max(pair, key=lambda each: (model.size(each.name) or 0, _RANK.get(_bare(each.name), 0)))
    width = model.size(widest.name)
    is_unsigned = any(each.name.startswith("unsigned") and model.size(each.name) == width for each in pair)
    return Basic(name=f"unsigned {_bare(widest.name)}" if is_unsigned else widest.name)


_RANK = {"int": 1, "long": 2, "long long": 3}


def _bare(name: str) -> str:
    return name.removeprefix("unsigned ").removeprefix("signed ")
