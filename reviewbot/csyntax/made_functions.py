"""Functions that a file makes with macros of its own: `DEFINE_OP(set_bits, or)`, or `OPS(add)` that pastes a name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod

from reviewbot.csyntax.brackets import closing, split_arguments
from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.definitions import find_definitions
from reviewbot.csyntax.heads import to_function_name
from reviewbot.csyntax.lexing import blank_comments, line_of
from reviewbot.csyntax.macros import Argument, Macro, expand, to_macro
from reviewbot.csyntax.outline import outline
from reviewbot.values import dataclass

MAX_DEPTH = 4
MAX_MADE_BYTES = 50_000
MAX_CHOICES = 64

_USE = re.compile(rb"^((?:[A-Za-z_]\w*[ \t]+)*)([A-Za-z_]\w*)[ \t]*\(", re.MULTILINE)
_INNER_USE = re.compile(rb"([A-Za-z_]\w*)[ \t]*\(")
_FUNCTION_LIKE = re.compile(rb"^[ \t]*#[ \t]*define(?:[ \t]|\\\r?\n)+([A-Za-z_]\w*)\(", re.MULTILINE)
_UNDEFINED = re.compile(rb"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")

_Macros = Mapping[str, tuple[Macro, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """`functions` by their names: the `text` of each is the use of the macro, its `words` are those that the macro and
    the place of its use put before the name. `macros` are the names of everything that may have a part in them."""

    functions: Mapping[str, tuple[Definition, ...]]
    macros: frozenset[str]


NOTHING = Made(functions={}, macros=frozenset())


def made_functions(data: bytes, path: str) -> Made:
    """What the uses of the file's own macros make outside of its functions."""
    used = {match[2] for match in _USE.finditer(data)} & {match[1] for match in _FUNCTION_LIKE.finditer(data)}
    if not used:
        return NOTHING
    found: dict[str, tuple[Definition, ...]] = {}
    macros = _macros(data, path)
    undefined = [(match[1].decode(), line_of(data, match.start())) for match in _UNDEFINED.finditer(data)]
    whole = outline(data)
    for use in _USE.finditer(whole.bare):
        end = closing(whole.bare, use.end() - 1)
        if use[2].decode() not in macros or end is None or whole.group_around(use.start()) is not None:
            continue
        line = line_of(data, use.start())
        around = conditions_at(data, use.start())
        for each in _made(use[1] + data[use.start(2) : end + 1], _in_force(macros, undefined, line), path):
            conditions = tuple(dict.fromkeys((*around, *each.conditions)))
            text = data[use.start() : end + 1]
            made = replace(each, line=line, start=use.start(), text=text, conditions=conditions)
            found[each.name] = (*found.get(each.name, ()), made)
    return Made(functions=found, macros=frozenset(macros)) if found else NOTHING


def _macros(data: bytes, path: str) -> _Macros:
    """The file's macros with parameters."""
    names = {match[1].decode() for match in _FUNCTION_LIKE.finditer(data)}
    macros = {
        name: tuple(
            macro
            for each in find_definitions(data, name, path)
            if each.kind is DefinitionKind.MACRO and (macro := to_macro(each)) and macro.parameters is not None
        )
        for name in names
    }
    return {name: each for name, each in macros.items() if each}


def _in_force(macros: _Macros, undefined: list[tuple[str, int]], line: int) -> _Macros:
    """Those that are defined where the line stands: one name may have several meanings in a file, one after the
    other."""
    last = {name: at for name, at in undefined if at < line}
    return {
        name: kept
        for name, each in macros.items()
        if (kept := tuple(macro for macro in each if last.get(name, 0) < macro.line < line))
    }


def _made(text: bytes, macros: _Macros, path: str) -> Iterator[Definition]:
    """The functions that the use of a macro makes; their conditions are those of the #defines used."""
    for chosen in _choices(text, macros):
        expanded = _expanded(text, chosen, MAX_DEPTH)
        if expanded is None:
            continue
        made, conditions = expanded
        for entry in outline(made).entries:
            if entry.body is None:
                continue
            name = to_function_name(outline(made).bare[entry.start : entry.body])
            if _NAME.fullmatch(name):
                for each in find_definitions(made, name, path):
                    if each.kind is DefinitionKind.FUNCTION:
                        yield replace(each, conditions=conditions)


def _choices(text: bytes, macros: _Macros) -> Iterator[Mapping[str, Macro]]:
    """The macros that a text may use, with one #define for each name: every combination, or, of too many, as many as
    show each #define once."""
    reached: dict[str, tuple[Macro, ...]] = {}
    waiting = [text]
    while waiting:
        names = {use[1].decode() for use in _INNER_USE.finditer(waiting.pop())} & macros.keys() - reached.keys()
        reached |= {name: macros[name] for name in sorted(names)}
        waiting += [macro.body for name in names for macro in macros[name]]
    combinations: Iterable[tuple[Macro, ...]] = product(*reached.values())
    if prod(map(len, reached.values())) > MAX_CHOICES:
        most = min(max(map(len, reached.values())), MAX_CHOICES)
        combinations = (tuple(each[min(at, len(each) - 1)] for each in reached.values()) for at in range(most))
    for combination in combinations:
        yield dict(zip(reached, combination, strict=True))


def _expanded(text: bytes, macros: Mapping[str, Macro], depth: int) -> tuple[bytes, tuple[str, ...]] | None:
    """The text with the macros outside of braces in it expanded, and the conditions of their #defines; None where they
    nest too deep, or make too much."""
    if len(text) > MAX_MADE_BYTES:
        return None
    bare, written = outline(text), blank_comments(text)
    pieces: list[bytes] = []
    conditions: list[str] = []
    position = 0
    for use in _INNER_USE.finditer(bare.bare):
        name = use[1].decode()
        end = closing(bare.bare, use.end() - 1)
        if use.start() < position or name not in macros or end is None or bare.group_around(use.start()) is not None:
            continue
        spans = split_arguments(bare.bare, use.end(), end, written)
        made = expand(macros[name], tuple(Argument(text=written[begin:stop], offset=0) for begin, stop in spans))
        if made is None or depth == 0:
            return None
        inner = _expanded(made.text, {key: each for key, each in macros.items() if key != name}, depth - 1)
        if inner is None:
            return None
        pieces += [text[position : use.start()], inner[0]]
        conditions += [*macros[name].conditions, *inner[1]]
        position = end + 1
    return b"".join([*pieces, text[position:]]), tuple(dict.fromkeys(conditions))
