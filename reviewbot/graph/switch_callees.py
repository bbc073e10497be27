"""The bodies behind a call that may access user memory: those in sight, and those elsewhere whose own text says so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property

from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.graph.code import CodeReader
from reviewbot.patterns import regex
from reviewbot.rulebook.book import arch_of
from reviewbot.values import dataclass

MAX_FILES = 120
"""A name that more files hold is the kernel's common stock, and is not looked for."""

MAX_DEPTH = 4
"""Calls from one body to the next, in one file or its headers, in which an access is looked for."""

MAX_NAMES = 600
MAX_OWN_FILES = 300

_CALLS = regex(rb"\b([A-Za-z_]\w*)\s*\(")
_WEAK = frozenset(("__weak", "weak"))
_NOT_LINKED = ("tools/", "scripts/", "samples/", "Documentation/", "usr/")
_KEYWORDS = frozenset((b"if", b"while", b"for", b"switch", b"return", b"sizeof", b"typeof", b"defined", b"else", b"do"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bodies:
    """What a name may run. `reason` says why it was not looked for."""

    definitions: tuple[Definition, ...] = ()
    reason: str = ""


class Accessors:
    """Finds the functions of one tree that access user memory, for code of one architecture, seen from `directory`."""

    def __init__(self, reader: CodeReader, arch: str | None, directory: str, max_searches: int | None = None) -> None:
        self._searches_left = max_searches
        self.was_cut = False
        """Whether a name was looked for in the own directory alone, because no search was left."""
        self._reader = reader
        self._arch = arch
        self._directory = directory
        self._holders: dict[str, tuple[str, ...]] = {}
        self._matters: dict[tuple[str, int], bool] = {}
        self._bodies: dict[tuple[str, str], Bodies] = {}

    def bodies(self, name: str, path: str) -> Bodies:
        """The definitions that a call of `name` in `path` may run and that access user memory, directly or not. Where
        one of several does, the others come as well."""
        key = (name, path)
        if key not in self._bodies:
            self._bodies[key] = self._find(name, path)
        return self._bodies[key]

    def prefetch_around(self, roots: Iterable[tuple[str, bytes]], is_wanted: Callable[[str], bool]) -> None:
        """As `prefetch`, for all that functions, as (path, text), and what they reach in their directory call: one
        search of the tree for each step from file to file."""
        texts = list(roots)
        seen: set[tuple[str, bytes]] = set()
        for _ in range(MAX_DEPTH):
            wanted = self._names_around(texts, seen, is_wanted)
            self._search(wanted)
            found = [(path, name) for name in sorted(wanted) for path in self._own(name)]
            texts = [(path, body) for path, name in found for body in self._bodies_in(name, path)]
            if not texts:
                return

    def names_around(self, roots: Iterable[tuple[str, bytes]], is_wanted: Callable[[str], bool]) -> set[str]:
        """The names that `prefetch_around` will look for first, for one search on behalf of several."""
        return self._names_around(list(roots), set(), is_wanted)

    def _names_around(
        self, texts: list[tuple[str, bytes]], seen: set[tuple[str, bytes]], is_wanted: Callable[[str], bool]
    ) -> set[str]:
        """What these texts, and the bodies in their own files that they call, call elsewhere."""
        waiting = list(texts)
        elsewhere: dict[str, set[str]] = {}
        while waiting and len(seen) < MAX_NAMES:
            path, text = waiting.pop()
            for name in set(_CALLS.findall(blank_comments(text, literals=True))) - _KEYWORDS:
                if (path, name) in seen:
                    continue
                seen.add((path, name))
                bodies = self._bodies_in(name.decode(), path)
                waiting += [(path, body) for body in bodies]
                if not bodies and is_wanted(name.decode()):
                    elsewhere.setdefault(path, set()).add(name.decode())
        return {name for path, names in elsewhere.items() for name in names if self._is_unknown(name, path)}

    def _bodies_in(self, name: str, path: str) -> list[bytes]:
        if name.encode() not in self._reader.words(path):
            return []
        found = self._reader.symbols.defined_in(name, path)
        return [each.text for each in found if each.kind in (DefinitionKind.FUNCTION, DefinitionKind.MACRO)]

    def _own(self, name: str) -> list[str]:
        return [path for path in self._holders.get(name, ()) if path.rpartition("/")[0] == self._directory]

    def _is_unknown(self, name: str, path: str) -> bool:
        return name not in self._holders and self._is_elsewhere(name, path)

    def _search(self, names: Collection[str]) -> None:
        """The files of these names: in the whole tree while searches are left, then in the own directory alone."""
        if not names:
            return
        if self._searches_left == 0:
            self.was_cut = True
            for name in names:
                self._holders[name] = tuple(p for p in self._own_files if name.encode() in self._reader.data(p))
            return
        self._searches_left = None if self._searches_left is None else self._searches_left - 1
        found = self._reader.tree.search(sorted(names), (".c",))
        self._holders.update((name, found.get(name, ())) for name in names)

    @cached_property
    def _own_files(self) -> tuple[str, ...]:
        paths = self._reader.tree.paths()
        return tuple(p for p in paths if p.endswith(".c") and p.rpartition("/")[0] == self._directory)[:MAX_OWN_FILES]

    def prefetch(self, names: Iterable[str], path: str) -> None:
        """Look for all names that the file does not see a body of with one search of the tree."""
        if path.rpartition("/")[0] != self._directory:
            return  # far bodies are read with what their file and its headers show
        self._search({name for name in names if self._is_unknown(name, path)})

    def _is_elsewhere(self, name: str, path: str) -> bool:
        found = self._reader.symbols.declared(name, path, self._arch)
        definitions = [d for d in found.definitions if d.kind in (DefinitionKind.FUNCTION, DefinitionKind.MACRO)]
        return all(each.conditions and each.kind is DefinitionKind.FUNCTION for each in definitions)

    def _find(self, name: str, path: str) -> Bodies:
        near = self._reader.symbols.declared(name, path, self._arch).definitions
        functions = [each for each in near if each.kind is DefinitionKind.FUNCTION]
        if not functions and any(each.kind is DefinitionKind.MACRO for each in near):
            return Bodies()
        reason = ""
        if all(each.conditions for each in functions):  # under other options it may be elsewhere
            linked, reason = self._elsewhere(name, path)
            functions += [each for each in linked if each not in functions]
        if not functions:
            return Bodies(reason=reason)
        if not any(self._does_matter(each, 0) for each in functions):
            return Bodies()
        firm = [each for each in functions if _WEAK.isdisjoint(each.words)]
        return Bodies(definitions=tuple(firm or functions))

    def _elsewhere(self, name: str, path: str) -> tuple[list[Definition], str]:
        """The definitions in other objects, and why they were not looked for."""
        if name not in self._holders:
            self.prefetch((name,), path)
        holders = self._reachable(self._holders.get(name, ()))
        own = [each for each in holders if each.rpartition("/")[0] == self._directory]
        if len(holders) > MAX_FILES and not own:
            return [], f"{name}() is named in more than {MAX_FILES} files"
        return self._linked(name, own) or self._linked(name, holders[:MAX_FILES]), ""

    def _reachable(self, paths: Collection[str]) -> list[str]:
        return [
            path
            for path in paths
            if not path.startswith(_NOT_LINKED) and (arch_of(path) is None or self._arch in (None, arch_of(path)))
        ]

    def _linked(self, name: str, paths: Collection[str]) -> list[Definition]:
        found = [
            each
            for path in paths
            for each in self._reader.symbols.defined_in(name, path)
            if each.kind is DefinitionKind.FUNCTION and "static" not in each.words
        ]
        return [each for each in found if arch_of(each.path) is not None] or found

    def _does_matter(self, definition: Definition, depth: int) -> bool:
        key = (definition.path, definition.start)
        if key not in self._matters:
            self._matters[key] = False  # a function that only calls itself makes no access by that
            self._matters[key] = self._names_access(definition, depth)
        return self._matters[key]

    def _names_access(self, definition: Definition, depth: int) -> bool:
        text = blank_comments(definition.text, literals=True)
        if self._reader.any_primitive.search(text) is not None:
            return True
        if depth >= MAX_DEPTH:
            return False
        called = sorted(set(_CALLS.findall(text)) - _KEYWORDS - {definition.name.encode()})
        return any(
            self._does_matter(each, depth + 1)
            for name in called
            for each in self._in_sight(name.decode(), definition.path)
            if each.kind in (DefinitionKind.FUNCTION, DefinitionKind.MACRO)
        )

    def _in_sight(self, name: str, path: str) -> tuple[Definition, ...]:
        """What a body sees: its file and headers; for one far away its file alone."""
        if self._is_in_sight(path):
            return self._reader.symbols.declared(name, path, self._arch).definitions
        return self._reader.symbols.defined_in(name, path)

    def _is_in_sight(self, path: str) -> bool:
        return path.endswith(".h") or path.rpartition("/")[0] == self._directory
