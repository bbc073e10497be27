"""The object that an address expression starts from: whether several accesses share one."""

from __future__ import annotations

from collections.abc import Callable

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
from reviewbot.csyntax.c_tokens import joined, tokenise
from reviewbot.rulebook.types import shipped_types

IsArray = Callable[[Expression], bool]


def base_object(expression: bytes, is_array: IsArray | None = None) -> str:
    """`&frame->uc.uc_mcontext` -> `frame`, `up++` -> `up`, `(void __user *)&sc->gp_regs[i]` -> `sc`, `p + 1` ->
    `p`.

    A pointer that is itself read from somewhere (`arg->ptr`, a call, `cond ? a : b`) is its own base: its text
    with blanks normalised. `is_array` tells array members from pointer members where types are known; without
    it a member that is indexed is taken for an array, and one that is not for a pointer.
    """
    tokens = tokenise(expression)
    try:
        tree = parse_expression(tokens, _is_type_by_name)
    except NotAnExpressionError:
        return joined(tokens)
    return _of_address(tree, is_array)


def _is_type_by_name(name: str) -> bool:
    return name.endswith("_t") or name in shipped_types().fixed_width


def _of_address(tree: Expression, is_array: IsArray | None) -> str:
    """The base of what this expression, a pointer, points to."""
    match tree:
        case Unary(operator="&"):
            return _of_object(tree.operand, is_array)
        case Unary(operator="++" | "--" | "+"):
            return _of_address(tree.operand, is_array)
        case Cast(operand=operand) if operand is not None:
            return _of_address(operand, is_array)
        case Binary(operator="+" | "-"):
            offset_first = isinstance(tree.left, Literal | SizeOf) and tree.operator == "+"
            return _of_address(tree.right if offset_first else tree.left, is_array)
        case Binary(operator=","):
            return _of_address(tree.right, is_array)
        case Member() | Index() if is_array is not None and is_array(tree):
            return _of_object(tree, is_array)
    return source_of(tree)


def _of_object(tree: Expression, is_array: IsArray | None) -> str:
    """The base of an object that stands somewhere."""
    match tree:
        case Member():
            return (_of_address if tree.is_arrow else _of_object)(tree.record, is_array)
        case Index():
            held = is_array(tree.array) if is_array is not None else isinstance(tree.array, Member | Index)
            return (_of_object if held else _of_address)(tree.array, is_array)
        case Unary(operator="*"):
            return _of_address(tree.operand, is_array)
    return source_of(tree)


def source_of(tree: Expression) -> str:
    """The expression as C again, in one fixed spelling, with only the parentheses that it needs."""
    match tree:
        case Literal():
            return tree.text
        case Text():
            return " ".join(tree.parts)
        case Name():
            return tree.name
        case Unary():
            return f"{tree.operator}{_grouped(tree.operand)}"
        case Binary():
            return f"{_grouped(tree.left)} {tree.operator} {_grouped(tree.right)}"
        case Conditional():
            then = source_of(tree.then) if tree.then is not None else ""
            return f"{_grouped(tree.test)} ? {then} : {_grouped(tree.otherwise)}"
        case Call():
            return f"{_grouped(tree.function)}({', '.join(map(joined, tree.arguments))})"
        case Index():
            return f"{_grouped(tree.array)}[{joined(tree.index)}]"
        case Member():
            return f"{_grouped(tree.record)}{'->' if tree.is_arrow else '.'}{tree.name}"
        case Cast():
            return f"({joined(tree.type)}){'{…}' if tree.operand is None else _grouped(tree.operand)}"
        case SizeOf():
            inside = joined(tree.type) if tree.type is not None else source_of(tree.operand or Name(""))
            return f"{tree.keyword}({inside})"
        case Statements():
            return f"({{ {joined(tree.body)} }})"


def _grouped(tree: Expression) -> str:
    text = source_of(tree)
    return f"({text})" if isinstance(tree, Binary | Conditional | Cast | Unary) else text
