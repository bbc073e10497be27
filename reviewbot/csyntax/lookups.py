"""Definitions -> what they say about a name: types, macro bodies, values; those that word size rules out are
left out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from reviewbot.csyntax.abi import Abi
from reviewbot.csyntax.c_declarations import NotADeclarationError, parse_declaration, parse_text
from reviewbot.csyntax.c_tokens import Tokens, is_identifier, joined, matching, tokenise
from reviewbot.csyntax.c_types import Array, CType, Declared, Function, Pointer, Record
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.macros import Argument, Macro, expand, to_macro
from reviewbot.csyntax.members import TooManyVariantsError, member_variants
from reviewbot.csyntax.word_size import condition_holds
from reviewbot.rulebook.book import arch_of
from reviewbot.rulebook.types import TypeTable

Kind = DefinitionKind
_MAX_HEAD_BYTES = 4000
_TAGS = frozenset((Kind.STRUCT, Kind.UNION, Kind.ENUM))
_ORDINARY = frozenset((Kind.TYPEDEF, Kind.MACRO, Kind.ENUMERATOR, Kind.VARIABLE, Kind.FUNCTION, Kind.PROTOTYPE))
_Enumerator = tuple[Tokens | None, int]


class Lookup(Protocol):
    """Finds the definitions of a name that the asking file can see on the asking architecture."""

    def __call__(self, kinds: Collection[DefinitionKind], name: str) -> tuple[Definition, ...]: ...


class Definitions:
    """The lookup of one question, with what it found kept."""

    def __init__(self, lookup: Lookup, abi: Abi, table: TypeTable) -> None:
        self._lookup = lookup
        self._abi = abi
        self._table = table
        self._seen: dict[tuple[frozenset[DefinitionKind], str], tuple[Definition, ...]] = {}

    def of(self, name: str, *kinds: DefinitionKind) -> tuple[Definition, ...]:
        """The definitions of these kinds that may hold on this ABI.

        Tags are asked for on their own. All other names share one name space, so one question covers them, and
        what the asking file itself defines under a name hides every other use of it.
        """
        asked = frozenset(kinds) if _TAGS.issuperset(kinds) else _ORDINARY
        key = (asked, name)
        if key not in self._seen:
            self._seen[key] = tuple(each for each in self._lookup(asked, name) if self._is_possible(each))
        return tuple(each for each in self._seen[key] if each.kind in kinds)

    def types_named(self, name: str) -> list[CType]:
        """What a typedef stands for, in each of its definitions."""
        return [
            found
            for definition in self.of(name, Kind.TYPEDEF)
            for declared in _declared(definition, self._table)
            if declared.name == name and declared.is_typedef
            for found in [_settle(declared.type, arch_of(definition.path))]
        ]

    def records(self, keyword: str, tag: str) -> list[Record]:
        """The bodies of a struct or union."""
        kind = Kind.STRUCT if keyword == "struct" else Kind.UNION
        found: dict[Record, None] = {}
        for definition in self.of(tag, kind):
            for record in _records_in(definition, self._table):
                if record.tag == tag and record.keyword == keyword:
                    found[replace(record, arch=arch_of(definition.path))] = None
        return list(found)

    def variables(self, name: str) -> list[Declared]:
        return [
            replace(declared, type=_settle(declared.type, arch_of(definition.path)))
            for definition in self.of(name, Kind.VARIABLE)
            for declared in _declared(definition, self._table)
            if declared.name == name
        ]

    def return_types(self, name: str) -> list[CType]:
        """What a function gives back, in each definition or prototype."""
        found: dict[CType, None] = {}
        for definition in self.of(name, Kind.FUNCTION, Kind.PROTOTYPE):
            for declared in _head(definition, self._table):
                if declared.name == name and isinstance(declared.type, Function):
                    found[declared.type.returns] = None
        return list(found)

    def macros(self, name: str) -> list[Macro]:
        """Macros of that name; one that stands for itself (`#define x x`) only says that x exists."""
        macros = [to_macro(definition) for definition in self.of(name, Kind.MACRO)]
        return [macro for macro in macros if macro is not None and macro.body.strip() != name.encode()]

    def enumerators(self, name: str) -> list[_Enumerator]:
        """(expression, step) for each definition: the value is the expression plus the step, or the step alone."""
        found = []
        for definition in self.of(name, Kind.ENUMERATOR):
            value = enumerator_value(tokenise(definition.text), name, self._abi, arch_of(definition.path), self._table)
            if value is not None:
                found.append(value)
        return found

    def _is_possible(self, definition: Definition) -> bool:
        arch = arch_of(definition.path)
        return all(
            condition_holds(condition, self._abi, arch, self._table) is not False for condition in definition.conditions
        )


def expand_macro(macro: Macro, arguments: tuple[Tokens, ...] | None) -> Tokens | None:
    """The body with its arguments; None if they do not fit. `arguments` is None where the name stands alone."""
    if (macro.parameters is None) is not (arguments is None):
        return None
    if arguments is None:
        return tokenise(macro.body)
    values = tuple(Argument(text=" ".join(tokens).encode("latin-1"), offset=0) for tokens in arguments)
    expansion = expand(macro, values)
    return None if expansion is None else tokenise(expansion.text)


def enumerator_value(tokens: Tokens, name: str, abi: Abi, arch: str | None, table: TypeTable) -> _Enumerator | None:
    """The value of an enumerator in the text of its enum (or in `NAME = value` alone), see
    Definitions.enumerators(). None where it is not there or an #if before it makes its number uncertain.
    """
    if "{" not in tokens:
        return _count_to(name, [tokens[:-1] if tokens[-1:] in ((",",), (";",)) else tokens])
    for start in _enum_braces(tokens):
        end = matching(tokens, start)
        body = tuple(";" if token == "," else token for token in tokens[start + 1 : end])
        if name not in body:
            continue
        try:
            values = {_count_to(name, list(items)) for items in member_variants(body, abi, arch, table)} - {None}
        except TooManyVariantsError:
            return None
        return values.pop() if len(values) == 1 else None
    return None


def _enum_braces(tokens: Tokens) -> list[int]:
    """Where the body of each enum in the tokens begins."""
    found = []
    for index, token in enumerate(tokens):
        if token == "enum":
            brace = next((at for at in range(index + 1, min(index + 6, len(tokens))) if tokens[at] == "{"), None)
            found += [] if brace is None else [brace]
    return found


def _count_to(name: str, entries: list[Tokens]) -> _Enumerator | None:
    expression: Tokens | None = None
    step = 0
    for entry in entries:
        if not is_identifier(entry[0]) or ("=" not in entry[1:] and len(entry) > 2):
            return None  # a macro that may stand for several
        if "=" in entry:
            expression, step = entry[entry.index("=") + 1 :], 0
        if entry[0] == name:
            return expression, step
        step += 1
    return None


def _declared(definition: Definition, table: TypeTable) -> tuple[Declared, ...]:
    try:
        return parse_text(definition.text, table)
    except NotADeclarationError:
        return ()


def _records_in(definition: Definition, table: TypeTable) -> list[Record]:
    """The record of a definition, whatever it declares besides: `struct x {…} a, *b;`, `typedef struct x {…} y;`."""
    found: list[Record] = []
    for declared in _declared(definition, table):
        ctype = declared.type
        while isinstance(ctype, Array | Pointer):
            ctype = ctype.of if isinstance(ctype, Array) else ctype.to
        if isinstance(ctype, Record) and ctype.body is not None:
            found.append(ctype)
    return found


@lru_cache(maxsize=2048)
def _head(definition: Definition, table: TypeTable) -> tuple[Declared, ...]:
    """The declaration that a function or prototype begins with."""
    tokens = tokenise(definition.text.partition(b"{")[0][:_MAX_HEAD_BYTES])
    end = len(tokens) - 1 if tokens and tokens[-1] == ";" else len(tokens)
    try:
        return parse_declaration(tokens[:end], table)
    except NotADeclarationError:
        return ()


def _settle(ctype: CType, arch: str | None) -> CType:
    if arch is not None and isinstance(ctype, Record) and ctype.body is not None:
        return replace(ctype, arch=arch)
    return ctype


def describe(tokens: Tokens) -> str:
    """Tokens for a sentence, cut where they are long."""
    text = joined(tokens)
    return text if len(text) <= 60 else text[:59] + "…"
