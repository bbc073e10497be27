"""What the files of a tree asked of it, so that a later run can tell whether the answers still hold.

Answers are remembered in many places, and a remembered answer asks nothing again. So questions are noted by the file
that they are asked for (`from_path`), and where an answer lies in another file, that it led there: whatever was asked
for that file then counts for the first one as well.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable

from reviewbot.csyntax.definition import Definition
from reviewbot.graph.includes import Includes
from reviewbot.values import dataclass

_MAKEFILES = ("Makefile", "Kbuild")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What an inspection of one file depends on. `whole`: paths of which every change counts, whether they are there or
    not. `seen`: files in which the words `asked` matter. `searched`: words that matter wherever they stand."""

    whole: frozenset[str]
    seen: frozenset[str]
    asked: frozenset[str]
    searched: frozenset[str]


class Asked:
    """The questions of one tree, by the file that they were asked for."""

    def __init__(self) -> None:
        self._asked: dict[str, set[str]] = {}
        self._searched: dict[str, set[str]] = {}
        self._led_to: dict[str, set[str]] = {}

    def note(self, words: Iterable[str], from_path: str) -> None:
        """The file asked what these words mean in itself and its headers."""
        self._asked.setdefault(from_path, set()).update(words)

    def note_search(self, words: Iterable[str], from_path: str) -> None:
        """The file asked for these words in the whole tree."""
        self._searched.setdefault(from_path, set()).update(words)

    def lead(self, from_path: str, definitions: Iterable[Definition]) -> None:
        """An answer for the file lies there, and may be read on from there."""
        self._led_to.setdefault(from_path, set()).update(found.path for found in definitions)

    def dependencies(self, path: str, includes: Includes) -> Dependencies:
        """Everything that was asked for the file, and for the files that this led to."""
        reached = self._reached(path)
        seen = includes.known_closure(reached) | reached
        return Dependencies(
            whole=frozenset((path, *_makefiles(reached))),
            seen=seen,
            asked=_union(self._asked, reached),
            searched=_union(self._searched, reached),
        )

    def _reached(self, path: str) -> set[str]:
        found, waiting = {path}, [path]
        while waiting:
            new = self._led_to.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found


def _union(sets: dict[str, set[str]], paths: Collection[str]) -> frozenset[str]:
    return frozenset().union(*(sets[path] for path in paths if path in sets))


def _makefiles(paths: Iterable[str]) -> set[str]:
    """Every Makefile that says something about these files, there or not."""
    directories = {""}
    for path in paths:
        directory = posixpath.dirname(path)
        while directory and directory not in directories:
            directories.add(directory)
            directory = posixpath.dirname(directory)
    return {posixpath.join(directory, name) for directory in directories for name in _MAKEFILES}
