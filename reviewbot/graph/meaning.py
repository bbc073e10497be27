"""What the names in one file mean: primitives of its architecture, and the macros it sees that are code."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from reviewbot.csyntax.definition import DefinitionKind
from reviewbot.csyntax.macros import Macro, to_macro
from reviewbot.graph.header_words import defined_in
from reviewbot.graph.symbols import Symbols
from reviewbot.patterns import regex
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.policy import Policy, Words
from reviewbot.rulebook.primitives import Primitive

_DECLARED = regex(rb"\b(?!return\b|goto\b|else\b|case\b)\w+(?:\s+|\s*\*[\s*]*)(\w+)\s*(?=[,)=;\[])")
_CALLS = regex(rb"([A-Za-z_]\w*)\s*\(")


def policies_of(book: Rulebook, path: str, arch: str | None) -> tuple[Policy, ...]:
    """The policies for code of `path` as `arch` compiles it (None: as every architecture does)."""
    return book.policies_for(path if arch is None else f"arch/{arch}/{path}")


class NameMeaning:
    """Implements csyntax's `Meaning` for code in `path`. With `follow_headers` off only macros of the file itself are
    followed (enough where no block is near, and cheap). What `function`, its text, declares is no macro."""

    def __init__(
        self,
        book: Rulebook,
        symbols: Symbols,
        data: bytes,
        path: str,
        arch: str | None,
        *,
        follow_headers: bool,
        function: bytes = b"",
    ) -> None:
        self._book = book
        self._symbols = symbols
        self._data = data
        self._path = path
        self._arch = arch
        self._follow_headers = follow_headers
        # `a * SIZE` looks like a declaration; what is all in capitals is taken for a macro.
        self._locals = frozenset(name for name in _DECLARED.findall(function) if not name.isupper())
        # What a policy calls safe by its name is judged as that, not by the wrappers that a debugging option puts round
        # it.
        self._safe = frozenset(name for policy in policies_of(book, path, arch) for name in policy.safe_names)
        self._known: dict[tuple[str, bool], tuple[Macro, ...]] = {}

    @property
    def words(self) -> Words:
        return self._book.words

    @cached_property
    def call_instructions(self) -> frozenset[str]:
        known = dict(self._book.words.call_instructions)
        return known.get(self._arch, frozenset()) if self._arch is not None else frozenset().union(*known.values())

    def primitive(self, name: str) -> Primitive | None:
        return self._book.primitive(name, self._arch)

    def macros(self, name: str, *, is_call: bool) -> tuple[Macro, ...]:
        key = (name, is_call)
        if key not in self._known:
            self._known[key] = self._find(name, is_call=is_call)
        return self._known[key]

    def is_macro(self, name: str) -> bool:
        return bool(self._symbols.macros(name, self._path, self._arch))

    def _find(self, name: str, *, is_call: bool) -> tuple[Macro, ...]:
        words = self._book.words
        if name in words.safe_macros or name in words.builtins or name in words.unevaluated or name in self._safe:
            return ()
        if not is_call and name.encode() in self._locals:
            return ()
        if not self._follow_headers and name.encode() not in defined_in(self._data):
            return ()
        if not self._symbols.macros(name, self._path, self._arch):
            return ()
        found = self._symbols.declared(name, self._path, self._arch).definitions
        if any(definition.kind is DefinitionKind.FUNCTION for definition in found):
            return ()
        defined = (definition for definition in found if definition.kind is DefinitionKind.MACRO)
        macros = [macro for macro in map(to_macro, defined) if macro is not None and not _is_alias_of_itself(macro)]
        if is_call:
            return _distinct([_with_call(macro) for macro in macros])
        return _distinct([m for m in macros if m.parameters is None and _CALLS.search(m.body)])


def _is_alias_of_itself(macro: Macro) -> bool:
    """`#define begin(a, b) begin(a, b)` only says that the function exists."""
    match = _CALLS.match(macro.body)
    return macro.body == macro.name.encode() or (match is not None and match.group(1) == macro.name.encode())


def _with_call(macro: Macro) -> Macro:
    """`#define put_it put_that` used as `put_it(x)`: the arguments go to what the macro names."""
    if macro.parameters is not None:
        return macro
    return replace(macro, parameters=(), variadic="__VA_ARGS__", body=macro.body + b"(__VA_ARGS__)")


def _distinct(macros: list[Macro]) -> tuple[Macro, ...]:
    found: dict[bytes, Macro] = {}
    for macro in macros:
        found.setdefault(b" ".join(macro.body.split()), macro)
    return tuple(found.values())
