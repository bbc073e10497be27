"""Which headers a file sees: the closure of its #includes for one architecture, without running the preprocessor.

Every #include counts, whatever #if stands around it. The search order is that of the kernel's top Makefile
(LINUXINCLUDE): the directory of the file for `"x.h"`, -I of the directory's Makefile, arch/ARCH/include, include, the
uapi directories, and include/asm-generic for an <asm/x.h> the architecture does not have (`generic-y`,
scripts/Makefile.asm-generic).
"""

from __future__ import annotations

import posixpath
import re
from collections import deque
from functools import cached_property, lru_cache

from reviewbot.graph.kbuild import include_directories
from reviewbot.graph.known import KnownFiles
from reviewbot.source.tree import SourceTree

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_LIMIT = 6000  # files in one closure; Linux 6.1 needs about 1000 for one architecture

# User-mode Linux takes the headers of the machine it runs on (arch/um/Makefile: HEADER_ARCH, HOST_DIR).
_HOSTED = {"um": ("arch/x86/um", "arch/um/include/shared", "arch/x86/include")}

Written = tuple[bool, str]  # whether in quotes, and the name


def to_arch(path: str) -> str | None:
    """The architecture a file belongs to (`powerpc` for arch/powerpc/…, `um` for arch/x86/um/…), None for generic
    code.
    """
    parts = path.split("/")
    if len(parts) < 3 or parts[0] != "arch":
        return None
    return "um" if parts[1:3] == ["x86", "um"] else parts[1]


@lru_cache(maxsize=256)
def _written(data: bytes) -> tuple[Written, ...]:
    """The #include lines of a file; files that two trees share are read once."""
    if b"include" not in data:
        return ()
    return tuple(
        (quoted != b"", (quoted or angled).decode("utf-8", "replace")) for quoted, angled in _INCLUDE.findall(data)
    )


class Includes:
    """The #include closures of one tree. `arches` are those that generic code is read for (None: all there are)."""

    def __init__(self, tree: SourceTree, known: KnownFiles, arches: tuple[str, ...] | None = None) -> None:
        self._tree = tree
        self._known = known
        self._wanted_arches = arches
        self._closures: dict[tuple[str, str | None], tuple[str, ...]] = {}
        self._asked: dict[str, list[tuple[str, str | None]]] = {}
        self._headers: dict[tuple[str, str | None], tuple[str, ...]] = {}
        self._own_directories: dict[str, tuple[str, ...]] = {}

    def closure(self, path: str, arch: str | None) -> tuple[str, ...]:
        """The file itself, the files it includes, then breadth first; each once, at most 6000.

        With `arch` None an <asm/x.h> stands for that header of every architecture.
        """
        key = (path, arch)
        if key not in self._closures:
            self._closures[key] = self._walk(path, arch)
            self._asked.setdefault(path, []).append(key)
        return self._closures[key]

    def headers(self, path: str, arch: str | None) -> tuple[str, ...]:
        """The closure without the file itself; the same object each time, for those who keep something about it."""
        key = (path, arch)
        if key not in self._headers:
            self._headers[key] = self.closure(path, arch)[1:]
        return self._headers[key]

    def forget(self, path: str) -> None:
        """Let go of what a file sees beside its closures, which `known_closure` goes on telling."""
        for key in self._asked.get(path, ()):
            self._headers.pop(key, None)

    def known_closure(self, path: str) -> frozenset[str]:
        """The files in every closure of the file that was asked for so far."""
        return frozenset().union(*(self._closures[key] for key in self._asked.get(path, ())))

    def direct(self, path: str, arch: str | None) -> tuple[str, ...]:
        """The files that the file includes itself, in order."""
        return self._edges_of(path, arch, self._directories_of(path))

    def _walk(self, path: str, arch: str | None) -> tuple[str, ...]:
        directories = self._directories_of(path)
        seen = {path: None}
        queue = deque([path])
        while queue and len(seen) < _LIMIT:
            current = queue.popleft()
            current_arch = arch or to_arch(current)
            for included in self._edges_of(current, current_arch, directories):
                if included not in seen:
                    seen[included] = None
                    queue.append(included)
        return tuple(seen)

    def _edges_of(self, path: str, arch: str | None, directories: tuple[str, ...]) -> tuple[str, ...]:
        edges = self._known.edges(path, arch, directories)
        if path not in edges:
            found: dict[str, None] = {}
            for is_quoted, name in self._written_in(path):
                found.update(dict.fromkeys(self._find(path, is_quoted, name, arch, directories)))
            found.pop(path, None)
            edges[path] = tuple(found)
        return edges[path]

    def _written_in(self, path: str) -> tuple[Written, ...]:
        return _written(self._tree.read(path) or b"")

    def _find(
        self, path: str, is_quoted: bool, name: str, arch: str | None, directories: tuple[str, ...]
    ) -> tuple[str, ...]:
        beside = (posixpath.dirname(path),) if is_quoted else ()
        found = self._first(name, (*beside, *directories, *_arch_directories(arch), "include", "include/uapi"), path)
        if found is not None:
            return (found,)
        if not name.startswith("asm/"):
            return ()
        generic = self._first(f"asm-generic/{name[4:]}", ("include", "include/uapi"), path)
        if arch is not None:
            return (generic,) if generic else ()
        return (*self._of_every_arch(name), *((generic,) if generic else ()))

    def _first(self, name: str, directories: tuple[str, ...], asker: str) -> str | None:
        for directory in directories:
            candidate = posixpath.normpath(f"{directory}/{name}") if directory else posixpath.normpath(name)
            if candidate in self._paths and candidate != asker:
                return candidate
        return None

    def _of_every_arch(self, name: str) -> tuple[str, ...]:
        found = (self._first(name, _arch_directories(arch), "") for arch in self._arches)
        return tuple(dict.fromkeys(path for path in found if path))

    def _directories_of(self, path: str) -> tuple[str, ...]:
        directory = posixpath.dirname(path)
        if directory not in self._own_directories:
            self._own_directories[directory] = include_directories(self._tree, path)
        return self._own_directories[directory]

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(self._tree.paths())

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
