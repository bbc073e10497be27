"""What a name means to the file that asks: its definitions and prototypes, found the way the compiler and linker
would.

First the file itself, then the headers it includes, then the objects it is linked with: the same architecture and
generic code, never another architecture. Every #if branch counts; nothing is decided about configurations.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.definitions import find_definitions
from reviewbot.csyntax.made_functions import NOTHING, Made, made_functions
from reviewbot.csyntax.tags import find_tags
from reviewbot.graph.asked import Asked, Dependencies
from reviewbot.graph.assembler import find_assembler_definitions
from reviewbot.graph.header_words import HeaderWords
from reviewbot.graph.includes import Includes, own_folders
from reviewbot.graph.known import KnownFiles
from reviewbot.graph.nearness import CORE, How, is_weak, rank, split_by_nearness
from reviewbot.rulebook.book import arch_of
from reviewbot.rulebook.policy import Words
from reviewbot.source.tree import SourceTree
from reviewbot.values import dataclass

_CALLABLE = frozenset(
    (
        DefinitionKind.FUNCTION,
        DefinitionKind.MACRO,
        DefinitionKind.VARIABLE,
        DefinitionKind.ASM,
        DefinitionKind.ENUMERATOR,
    )
)
_TAGS = frozenset((DefinitionKind.STRUCT, DefinitionKind.UNION, DefinitionKind.ENUM))
_LINKED = frozenset((DefinitionKind.FUNCTION, DefinitionKind.ASM, DefinitionKind.VARIABLE))
_SOURCES = (".c", ".S")
_HEADERS = (".h",)
_NOT_LINKED = ("tools", "scripts", "samples", "Documentation", "usr")  # built for the host, or not at all
_FILES_LIMIT = 600  # files in which one name is looked for; only names no kernel function has occur in more


_Question = tuple[frozenset[DefinitionKind], str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """All candidates, best first, and the prototypes seen on the way. `reason` says why a name is unknown."""

    definitions: tuple[Definition, ...]
    prototypes: tuple[Definition, ...]
    how: How
    reason: str = ""


class Symbols:
    """The names of one tree. Nothing is read before it is asked for, and nothing is looked up twice."""

    def __init__(self, tree: SourceTree, words: Words, arches: tuple[str, ...] | None = None) -> None:
        self._tree = tree
        self._words = words
        self._known = KnownFiles(tree, words)
        self._includes = Includes(tree, self._known, arches)
        self._header_words = HeaderWords(tree)
        self.asked = Asked()
        self._spelled: dict[str, tuple[str, ...]] = {}
        self._sources: dict[str, tuple[str, ...]] = {}  # name -> the sources that hold it, where that was searched
        self._own_sources: dict[str, dict[str, tuple[str, ...]]] = {}  # the same for an architecture, its own and CORE
        self._anywhere: dict[str, tuple[str, ...]] = {}  # the same of headers
        self._resolved: dict[tuple[str, str, str | None], Resolution] = {}
        # file -> (kinds, name, architecture) -> what it sees
        self._looked_up: dict[str, dict[_Question, tuple[Definition, ...]]] = {}

    def prefetch(self, names: Collection[str], arch: str | None) -> None:
        """Find the sources of all these names in as few searches as can be; `resolve` then needs none for them."""
        if arch is not None:
            own, folders = self._own_sources.setdefault(arch, {}), (*own_folders(arch), *CORE)
            for name in self._sources.keys() & names:
                own[name] = tuple(path for path in self._sources[name] if path.startswith(folders))
            self._search(names, _SOURCES, own, folders)
            names = [name for name in names if not self._defined_for(name, arch)]
        self._search(names, _SOURCES, self._sources)

    def _search(
        self,
        names: Collection[str],
        suffixes: Collection[str],
        known: dict[str, tuple[str, ...]],
        folders: Collection[str] = (),
    ) -> None:
        spellings = {name: self._spellings(name) for name in names if name not in known}
        if not spellings:
            return
        found = self._tree.search(sorted({word for words in spellings.values() for word in words}), suffixes, folders)
        for name, words in spellings.items():
            known[name] = tuple(sorted({path for word in words for path in found.get(word, ())}))

    def forget(self, path: str) -> None:
        """Let go of what is quickly found again of a source file, once it is through."""
        self._includes.forget(path)
        self._looked_up.pop(path, None)

    def dependencies(self, path: str) -> Dependencies:
        """Everything that the answers given for a file depend on, so far."""
        return self.asked.dependencies(path, self._includes)

    def resolve(self, name: str, from_path: str, arch: str | None) -> Resolution:
        """What a call or use of `name` in a file may reach; `arch` None asks for all architectures at once."""
        key = (name, from_path, arch)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(name, from_path, arch)
        return self._resolved[key]

    def declared(self, name: str, from_path: str, arch: str | None) -> Resolution:
        """As `resolve`, but from the file and its headers alone: no search of the tree."""
        own = self._find(name, from_path)
        seen = [found for found in own if found.kind is not DefinitionKind.PROTOTYPE]
        prototypes = [found for found in own if found.kind is DefinitionKind.PROTOTYPE]
        how = How.SAME_FILE
        if not any(found.kind in _CALLABLE for found in seen):
            how = How.INCLUDED
            seen = []
        for path in self._headers_with(name, from_path, arch):
            for found in self._find(name, path):
                if found.kind is DefinitionKind.PROTOTYPE:
                    prototypes.append(found)
                elif how is How.INCLUDED and found.kind in _CALLABLE:
                    seen.append(found)
        if not seen and not prototypes:
            seen = self._pasted(name, from_path, arch)
        definitions = _without_fallbacks(name, [found for found in seen if found.kind in _CALLABLE])
        self._note(name, from_path, (*seen, *prototypes))
        return Resolution(
            definitions=definitions, prototypes=tuple(prototypes), how=how if definitions else How.UNKNOWN
        )

    def defined_in(self, name: str, path: str) -> tuple[Definition, ...]:
        """What one file defines under a name."""
        return self._find(name, path)

    def macros(self, name: str, from_path: str, arch: str | None) -> tuple[Definition, ...]:
        """The #defines of `name` that the file sees: its own, else those of its headers; cheap if there are none."""
        if self._header_words.is_defined_in(name, from_path):
            paths = [from_path]
        else:
            paths = self._header_words.defining(name, self._includes.headers(from_path, arch))
        macros = tuple(
            found for path in paths for found in self._find(name, path) if found.kind is DefinitionKind.MACRO
        )
        self._note(name, from_path, macros)
        return macros

    def lookup(
        self, kinds: Collection[DefinitionKind], name: str, from_path: str, arch: str | None
    ) -> tuple[Definition, ...]:
        """The definitions of these kinds that the file sees: its own, else those of its headers. No search of the tree:
        what no #include leads to, the compiler does not see either.
        """
        known = self._looked_up.setdefault(from_path, {})
        key = (frozenset(kinds), name, arch)
        if key not in known:
            known[key] = self._look_up(kinds, name, from_path, arch)
        return known[key]

    def _look_up(
        self, kinds: Collection[DefinitionKind], name: str, from_path: str, arch: str | None
    ) -> tuple[Definition, ...]:
        find = self._find_tags if _TAGS.issuperset(kinds) else self._find
        own = tuple(found for found in find(name, from_path) if found.kind in kinds)
        self._note(name, from_path, own)
        if own:
            return _without_fallbacks(name, own)
        included = [
            found
            for path in self._headers_with(name, from_path, arch)
            for found in find(name, path)
            if found.kind in kinds
        ]
        self._note(name, from_path, included)
        return _without_fallbacks(name, included)

    def _resolve(self, name: str, from_path: str, arch: str | None) -> Resolution:
        near = self.declared(name, from_path, arch)
        if not _may_be_linked(near):
            return near
        linked, how, reason = self._linked(name, from_path, arch)
        self.asked.note_search(self._spellings(name), from_path)
        self.asked.lead(from_path, linked)
        definitions = (*near.definitions, *(found for found in linked if found not in near.definitions))
        if near.definitions:
            how = near.how
        return Resolution(definitions=definitions, prototypes=near.prototypes, how=how, reason=reason)

    def _linked(self, name: str, from_path: str, arch: str | None) -> tuple[tuple[Definition, ...], How, str]:
        """The definitions in other objects (and, failing that, in headers that no #include led to)."""
        self.prefetch((name,), arch)
        own = self._defined_for(name, arch) if arch is not None else []
        own = [found for found in own if found.path != from_path]
        if any(arch_of(found.path) == arch for found in own):
            return rank(own, from_path, arch)
        self._search((name,), _SOURCES, self._sources)
        sources = [path for path in self._sources[name] if _is_reachable(path, arch) and path != from_path]
        near, far = split_by_nearness(sources, from_path, arch)
        found = [each for path in near for each in self._find(name, path) if _is_linked(each)]
        if len(far) <= _FILES_LIMIT or not found:
            found += [each for path in far[:_FILES_LIMIT] for each in self._find(name, path) if _is_linked(each)]
        if found:
            return rank(found, from_path, arch)
        if len(far) > _FILES_LIMIT:
            return (), How.UNKNOWN, f"{name} occurs in more than {_FILES_LIMIT} files"
        kinds = _CALLABLE - {DefinitionKind.ENUMERATOR}
        headers = [path for path in self._headers_anywhere(name) if _is_reachable(path, arch)][:_FILES_LIMIT]
        found = [each for path in headers for each in self._find(name, path) if each.kind in kinds]
        return tuple(found), How.ELSEWHERE if found else How.UNKNOWN, "" if found else f"no definition of {name}"

    def _defined_for(self, name: str, arch: str) -> list[Definition]:
        """The definitions in the architecture's own objects, if there are any, and in those of the kernel's core, which
        they override: no other object is linked in their place."""
        paths = self._own_sources[arch][name]
        own = [each for path in paths if arch_of(path) == arch for each in self._find(name, path) if _is_linked(each)]
        core = (path for path in paths if arch_of(path) is None) if own else ()
        return own + [each for path in core for each in self._find(name, path) if _is_linked(each)]

    def _headers_anywhere(self, name: str) -> tuple[str, ...]:
        """Those of the whole tree. One search serves every name that was searched for in the sources."""
        self._search(self._sources, _HEADERS, self._anywhere)
        return self._anywhere[name]

    def _pasted(self, name: str, from_path: str, arch: str | None) -> list[Definition]:
        """The functions of that name whose names macros of the headers paste: the word stands nowhere."""
        self.asked.note(name.split("_"), from_path)
        made = (self._made(path) for path in self._includes.headers(from_path, arch).paths)
        return [found for each in made for found in each.functions.get(name, ())]

    def _made(self, path: str) -> Made:
        known = self._known.made(path)
        if path not in known:
            data = self._tree.read(path)
            known[path] = NOTHING if data is None or path.endswith(".S") else made_functions(data, path)
        return known[path]

    def _note(self, name: str, from_path: str, found: Iterable[Definition]) -> None:
        self.asked.note(self._spellings(name), from_path)
        for each in found:
            if each.kind is DefinitionKind.FUNCTION and name in (made := self._made(each.path)).functions:
                self.asked.note(made.macros, from_path)
        self.asked.lead(from_path, found)

    def _headers_with(self, name: str, from_path: str, arch: str | None) -> list[str]:
        return self._header_words.holding(self._spellings(name), self._includes.headers(from_path, arch))

    def _find_tags(self, name: str, path: str) -> tuple[Definition, ...]:
        key, known = (name, path), self._known.tags_in_file(path)
        if key not in known:
            known[key] = find_tags(self._tree.read(path) or b"", name, path)
        return known[key]

    def _find(self, name: str, path: str) -> tuple[Definition, ...]:
        key, known = (name, path), self._known.in_file(path)
        if key not in known:
            data = self._tree.read(path)
            found: tuple[Definition, ...] = ()
            if data is not None and path.endswith(".S"):
                found = find_assembler_definitions(data, name, path, self._words)
            elif data is not None:
                found = find_definitions(data, name, path, self._words.makers)
                if all(each.kind is DefinitionKind.PROTOTYPE for each in found):
                    found += self._made(path).functions.get(name, ())
            known[key] = tuple(each for each in found if not _is_alias_of_itself(each))
        return known[key]

    def _spellings(self, name: str) -> tuple[str, ...]:
        """The words to search for: the name, and what a macro makes it from (`x` for `trace_x`)."""
        if name not in self._spelled:
            self._spelled[name] = self._spell(name)
        return self._spelled[name]

    def _spell(self, name: str) -> tuple[str, ...]:
        made = (
            name[len(prefix) : len(name) - len(suffix)]
            for prefix, _, suffix in (definer.template.partition("{}") for definer in self._words.makers)
            if name.startswith(prefix) and name.endswith(suffix) and len(name) > len(prefix) + len(suffix)
        )
        return tuple(dict.fromkeys((name, *made)))


def _may_be_linked(near: Resolution) -> bool:
    """Whether another object may hold the definition: there is none yet, or only some branches have one, or a weak
    one.
    """
    if any(found.kind is DefinitionKind.FUNCTION and is_weak(found) for found in near.definitions):
        return True
    if near.how is How.SAME_FILE:
        return False
    return not near.definitions or any("static" not in found.words for found in near.prototypes)


def _is_linked(found: Definition) -> bool:
    if found.kind is DefinitionKind.VARIABLE and "extern" in found.words:
        return False
    return found.kind in _LINKED and "static" not in found.words


def _is_reachable(path: str, arch: str | None) -> bool:
    own = arch_of(path)
    if own is None:
        return path.split("/", 1)[0] not in _NOT_LINKED
    return arch is None or own == arch


def _is_alias_of_itself(found: Definition) -> bool:
    """`#define f f`, which only tells the preprocessor that f exists."""
    if found.kind is not DefinitionKind.MACRO:
        return False
    body = re.sub(rb"/\*.*?\*/|//[^\n]*|\\\r?\n", b" ", found.text, flags=re.DOTALL).split()
    return body[-2:] == [found.name.encode()] * 2 and len(body) in (3, 4)


def _without_fallbacks(name: str, found: Sequence[Definition]) -> tuple[Definition, ...]:
    """Drop what stands under `!defined(name)` when the name is surely defined elsewhere."""
    test = f"!defined({name})"
    firm = [each for each in found if not any(test in condition for condition in each.conditions)]
    return tuple(firm) if any(not each.conditions for each in firm) else tuple(found)
