"""Functions that a file makes with macros of its own: `DEFINE_OP(set_bits, or)`, or `OPS(add)` that pastes a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product
from math import prod

from reviewbot.csyntax.brackets import closing, split_arguments
from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.definitions import find_definitions, find_macros
from reviewbot.csyntax.heads import to_function_name
from reviewbot.csyntax.lexing import blank_comments, line_of
from reviewbot.csyntax.macros import Argument, Macro, expand, to_macro
from reviewbot.csyntax.outline import outline
from reviewbot.patterns import regex
from reviewbot.values import dataclass

MAX_DEPTH = 4
MAX_MADE_BYTES = 50_000
MAX_CHOICES = 64

_USE = regex(rb"\n((?:[A-Za-z_]\w*[ \t]+)*)([A-Za-z_]\w*)[ \t]*\(")
_USED = regex(rb"\n(?:[A-Za-z_]\w*[ \t]+)*([A-Za-z_]\w*)[ \t]*\(")  # the name alone
_INNER_USE = regex(rb"([A-Za-z_]\w*)[ \t]*\(")
_FUNCTION_LIKE = regex(rb"define(?:[ \t]|\\\r?\n)+([A-Za-z_]\w*)\(")
_UNDEFINED = regex(rb"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.MULTILINE)
_NAME = regex(r"[A-Za-z_]\w*")

_Find = Callable[[str], "tuple[Macro, ...]"]
"""name -> the macros of that name"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """`functions` by their names: the `text` of each is the use of the macro, its `words` are those that the macro and
    the place of its use put before the name. `macros` are the names of everything that may have a part in them."""

    functions: Mapping[str, tuple[Definition, ...]]
    macros: frozenset[str]


NOTHING = Made(functions={}, macros=frozenset())


def made_functions(data: bytes, path: str) -> Made:
    """What the uses of the file's own macros make outside of its functions."""
    macros = _OwnMacros(data, path)
    if not macros.names or macros.names.isdisjoint(_USED.findall(b"\n" + data)):
        return NOTHING
    found: dict[str, tuple[Definition, ...]] = {}
    whole = outline(data)
    for use in _uses_in(whole.bare):
        end = closing(whole.bare, use.open_)
        if end is None or whole.group_around(use.start) is not None or not macros.named(use.name.decode()):
            continue
        line = line_of(data, use.start)
        around = conditions_at(data, use.start)
        text = data[use.start : end + 1]
        for each in _made(use.words + data[use.name_start : end + 1], macros.in_force(line), path):
            conditions = tuple(dict.fromkeys((*around, *each.conditions)))
            made = replace(each, line=line, start=use.start, text=text, conditions=conditions)
            found[each.name] = (*found.get(each.name, ()), made)
    return Made(functions=found, macros=frozenset(map(bytes.decode, macros.names))) if found else NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """Something like a call at the beginning of a line, with the words before it: offsets of the line, of the name and
    of the `(`."""

    start: int
    words: bytes
    name: bytes
    name_start: int
    open_: int


def _uses_in(text: bytes) -> Iterator[_Use]:
    for match in _USE.finditer(b"\n" + text):  # what begins with a newline is found much faster than what `^` begins
        yield _Use(
            start=match.start(), words=match[1], name=match[2], name_start=match.start(2) - 1, open_=match.end() - 2
        )


class _OwnMacros:
    """The macros with parameters of one file, each read when it is first asked for. `names` may be too many."""

    def __init__(self, data: bytes, path: str) -> None:
        self._data = data
        self._path = path
        self._read: dict[str, tuple[Macro, ...]] = {}
        self.names = frozenset(_FUNCTION_LIKE.findall(data))

    def named(self, name: str) -> tuple[Macro, ...]:
        """Every #define of that name with parameters, in the order of the file."""
        if name not in self._read:
            found = find_macros(self._data, name, self._path) if name.encode() in self.names else ()
            macros = map(to_macro, found)
            self._read[name] = tuple(each for each in macros if each is not None and each.parameters is not None)
        return self._read[name]

    def in_force(self, line: int) -> _Find:
        """Those that are defined where the line stands: one name may have several meanings in a file, one after the
        other."""
        undefined = {name: at for name, at in self._undefined if at < line}

        def find(name: str) -> tuple[Macro, ...]:
            return tuple(macro for macro in self.named(name) if undefined.get(name, 0) < macro.line < line)

        return find

    @cached_property
    def _undefined(self) -> tuple[tuple[str, int], ...]:
        data = self._data
        return tuple((match[1].decode(), line_of(data, match.start())) for match in _UNDEFINED.finditer(data))


def _made(text: bytes, find: _Find, path: str) -> Iterator[Definition]:
    """The functions that the use of a macro makes; their conditions are those of the #defines used."""
    for chosen in _choices(text, find):
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


def _choices(text: bytes, find: _Find) -> Iterator[Mapping[str, Macro]]:
    """The macros that a text may use, with one #define for each name: every combination, or, of too many, as many as
    show each #define once. None where no brace can come of them, for then nothing is defined."""
    reached: dict[str, tuple[Macro, ...]] = {}
    waiting = [text]
    while waiting:
        names = {use[1].decode() for use in _INNER_USE.finditer(waiting.pop())} - reached.keys()
        new = {name: macros for name in sorted(names) if (macros := find(name))}
        reached |= new
        waiting += [macro.body for macros in new.values() for macro in macros]
    if b"{" not in text and not any(b"{" in macro.body for macros in reached.values() for macro in macros):
        return
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
