"""Which headers a file sees: the closure of its #includes for one architecture, without running the preprocessor.

Every #include counts, whatever #if stands around it. The search order is that of the kernel's top Makefile
(LINUXINCLUDE): the directory of the file for `"x.h"`, -I of the directory's Makefile, arch/ARCH/include, include, the
uapi directories, and include/asm-generic for an <asm/x.h> the architecture does not have (`generic-y`,
scripts/Makefile.asm-generic).
"""

from __future__ import annotations

import posixpath
import sys
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Collection, Iterator
from functools import cached_property

from reviewbot.graph.closures import Closures, FileNumbers, FileSet, numbers_in
from reviewbot.graph.kbuild import include_directories
from reviewbot.graph.known import KnownFiles
from reviewbot.patterns import regex
from reviewbot.rulebook.book import arch_of
from reviewbot.source.tree import SourceTree

_INCLUDE = regex(rb'include(?:_next)?[ \t]*(?:("[^"\n]+)"|(<[^>\n]+)>)')
_DIRECTIVE = regex(rb"[ \t]*#[ \t]*")
_CLOSURES_KEPT = 6  # pairs of an architecture and -I directories for which the closures of headers are kept

# User-mode Linux takes the headers of the machine it runs on (arch/um/Makefile: HEADER_ARCH, HOST_DIR).
_HOSTED = {"um": ("arch/x86/um", "arch/um/include/shared", "arch/x86/include")}

_Key = tuple[str | None, tuple[str, ...]]
"""Architecture, and -I directories."""


def own_folders(arch: str) -> tuple[str, ...]:
    """Where the files of an architecture lie, each with the `/` behind it: `arch_of` the other way round."""
    hosted = (f"{place}/" for place in _HOSTED.get(arch, ()))
    return tuple(dict.fromkeys((f"arch/{arch}/", *(place for place in hosted if arch_of(f"{place}.c") == arch))))


def written_includes(data: bytes) -> tuple[str, ...]:
    """The names behind the #includes of a file, each with the `"` or `<` before it."""
    found = []
    for match in _INCLUDE.finditer(data):
        start = match.start()
        if _DIRECTIVE.fullmatch(data, data.rfind(b"\n", 0, start) + 1, start):
            found.append((match[1] or match[2]).decode("utf-8", "replace"))
    return tuple(found)


class Includes:
    """The #include closures of one tree. `arches` are those that generic code is read for (None: all there are)."""

    def __init__(self, tree: SourceTree, known: KnownFiles, arches: tuple[str, ...] | None = None) -> None:
        self._tree = tree
        self._known = known
        self._wanted_arches = arches
        self._numbers = FileNumbers()
        self._plain: dict[_Key, Closures] = {}  # without -I directories
        self._special: OrderedDict[_Key, Closures] = OrderedDict()  # the last used at the end
        self._places: dict[_Key, dict[str, tuple[str, ...]]] = {}
        self._headers: dict[str, dict[str | None, FileSet]] = {}
        self._seen: dict[str, int] = {}
        self._own_directories: dict[str, tuple[str, ...]] = {}

    def headers(self, path: str, arch: str | None) -> FileSet:
        """The files that the file includes, those that they include, and so on, without the file itself.

        With `arch` None an <asm/x.h> stands for that header of every architecture."""
        kept = self._headers.setdefault(path, {})
        if arch not in kept:
            bits = self._reach(path, arch) & ~self._numbers.known_bit(path)
            kept[arch] = FileSet(bits, self._numbers)
            self._seen[path] = self._seen.get(path, 0) | bits
        return kept[arch]

    def forget(self, path: str) -> None:
        """Let go of what a file sees beside its closures, which `known_closure` goes on telling."""
        self._headers.pop(path, None)

    def known_closure(self, paths: Collection[str]) -> frozenset[str]:
        """The files in every closure that was asked for so far for one of these files."""
        bits = 0
        for path in paths:
            bits |= self._seen.get(path, 0)
        return frozenset(map(self._numbers.path, numbers_in(bits)))

    def _reach(self, path: str, arch: str | None) -> int:
        directories = self._directories_of(path)
        starts = self._edges_of(path, arch or arch_of(path), directories)
        return self._closures_for(arch, directories).of(starts)

    def _closures_for(self, arch: str | None, directories: tuple[str, ...]) -> Closures:
        kept = self._special if directories else self._plain
        key = (arch, directories)
        if key not in kept:
            kept[key] = self._begin(arch, directories)
        if directories:
            self._special.move_to_end(key)
            while len(self._special) > _CLOSURES_KEPT:
                self._special.popitem(last=False)
        return kept[key]

    def _begin(self, arch: str | None, directories: tuple[str, ...]) -> Closures:
        def edges(path: str) -> tuple[str, ...]:
            return self._edges_of(path, arch or arch_of(path), directories)

        if not directories:
            return Closures(edges, self._numbers)
        below = {name for directory in directories for name in self._names_below(directory)}

        def differs(path: str) -> bool:
            """Whether a name that the header includes is found in one of the directories."""
            names = [written[1:] for written in self._written_in(path)]
            odd = [name for name in names if "./" in name or "//" in name]
            return not below.isdisjoint(names) or any(
                self._existing(directory, name) for directory in directories for name in odd
            )

        return Closures(edges, self._numbers, like=self._closures_for(arch, ()), differs=differs)

    def _names_below(self, directory: str) -> Iterator[str]:
        prefix = f"{directory}/"
        for path in self._sorted_paths[bisect_left(self._sorted_paths, prefix) :]:
            if not path.startswith(prefix):
                return
            yield path[len(prefix) :]

    def _edges_of(self, path: str, arch: str | None, directories: tuple[str, ...]) -> tuple[str, ...]:
        edges = self._known.edges(path, arch, directories)
        if path not in edges:
            places = self._places.setdefault((arch, directories), {})
            found: dict[str, None] = {}
            for written in self._written_in(path):
                found.update(dict.fromkeys(self._find(path, written, arch, directories, places)))
            found.pop(path, None)
            edges[path] = tuple(found)
        return edges[path]

    def _written_in(self, path: str) -> tuple[str, ...]:
        written = self._known.written(path)
        if path not in written:
            written[path] = tuple(map(sys.intern, written_includes(self._tree.read(path) or b"")))
        return written[path]

    def _find(
        self,
        path: str,
        written: str,
        arch: str | None,
        directories: tuple[str, ...],
        places: dict[str, tuple[str, ...]],
    ) -> tuple[str, ...]:
        name = written[1:]
        if written[0] == '"':
            beside = self._existing(posixpath.dirname(path), name)
            if beside is not None and beside != path:
                return (beside,)
        if name not in places:
            searched = (*directories, *_arch_directories(arch), "include", "include/uapi")
            found = (self._existing(directory, name) for directory in searched)
            places[name] = tuple(each for each in found if each is not None)
        for place in places[name]:
            if place != path:
                return (place,)
        return self._generic(path, name, arch) if name.startswith("asm/") else ()

    def _generic(self, path: str, name: str, arch: str | None) -> tuple[str, ...]:
        """What stands for an <asm/x.h> that is found nowhere."""
        spelled = f"asm-generic/{name[4:]}"
        found = (self._existing(directory, spelled) for directory in ("include", "include/uapi"))
        generic = next((each for each in found if each is not None and each != path), None)
        own = (generic,) if generic else ()
        return own if arch is not None else (*self._of_every_arch(name), *own)

    def _existing(self, directory: str, name: str) -> str | None:
        candidate = f"{directory}/{name}" if directory else name
        if "./" in candidate or "//" in candidate:
            candidate = posixpath.normpath(candidate)
        return self._paths.get(candidate)

    def _of_every_arch(self, name: str) -> tuple[str, ...]:
        found = []
        for arch in self._arches:
            places = (self._existing(directory, name) for directory in _arch_directories(arch))
            found.append(next(filter(None, places), None))
        return tuple(dict.fromkeys(path for path in found if path))

    def _directories_of(self, path: str) -> tuple[str, ...]:
        directory = posixpath.dirname(path)
        if directory not in self._own_directories:
            self._own_directories[directory] = include_directories(self._tree, path)
        return self._own_directories[directory]

    @cached_property
    def _paths(self) -> dict[str, str]:
        """path -> the same text, of which every edge then has the one object."""
        return {path: path for path in self._tree.paths()}

    @cached_property
    def _sorted_paths(self) -> list[str]:
        return sorted(self._paths)

    @cached_property
    def _arches(self) -> tuple[str, ...]:
        if self._wanted_arches is not None:
            return self._wanted_arches
        return tuple(
            sorted(
                {
                    parts[1]
                    for parts in (path.split("/", 2) for path in self._paths)
                    if parts[0] == "arch" and len(parts) == 3
                }
            )
        )


def _arch_directories(arch: str | None) -> tuple[str, ...]:
    if arch is None:
        return ()
    base = f"arch/{arch}/include"
    return (base, *_HOSTED.get(arch, ()), f"{base}/uapi", *(f"{other}/uapi" for other in _HOSTED.get(arch, ())[-1:]))
