"""Who calls a function, up to where user space comes in: within the files of its directory, and no further."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from reviewbot.csyntax.items import Item, functions_holding
from reviewbot.csyntax.lexing import code_of
from reviewbot.graph.code import CodeReader
from reviewbot.values import dataclass

MAX_FILES = 250
MAX_LEVELS = 6
MAX_CALLERS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A function that nothing here calls: a system call, an ioctl, the delivery of a signal. `is_certain`: it is headed
    by a macro such as that of a system call."""

    path: str
    item: Item
    is_certain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """`gaps` say where the search ended early."""

    found: tuple[Entry, ...]
    gaps: tuple[str, ...] = ()


def entries_of(reader: CodeReader, functions: Iterable[tuple[str, Item]], directories: Sequence[str]) -> Entries:
    """The entry points that reach these functions through calls within the directories."""
    files, count = _files_of(reader, directories)
    gaps = []
    if count > len(files):
        gaps.append(
            f"callers were looked for in {len(files)} of the {count} files beside those that the series changes"
        )
    search = _Search(reader, files)
    start = [(path, item) for path, item in functions]
    queue = deque((path, item, 0) for path, item in start)
    seen = {(path, item.start) for path, item in start}
    found: dict[tuple[str, int], Entry] = {}
    while queue:
        path, item, level = queue.popleft()
        callers = search.callers(path, item)
        if not callers:
            found[path, item.start] = Entry(path=path, item=item, is_certain="(" in item.name)
        for caller_path, caller in callers:
            key = (caller_path, caller.start)
            if key in seen:
                continue
            if level >= MAX_LEVELS or len(seen) >= MAX_CALLERS:
                gaps.append(f"not every caller of {item.name}() was followed")
                break
            seen.add(key)
            queue.append((caller_path, caller, level + 1))
    return Entries(found=tuple(found[key] for key in sorted(found)), gaps=tuple(dict.fromkeys(gaps)))


def _files_of(reader: CodeReader, directories: Sequence[str]) -> tuple[list[str], int]:
    """The files of these directories in which to search, a fair share of each where they are too many, and how many
    there are."""
    by_directory: dict[str, list[str]] = {directory: [] for directory in directories}
    for path in reader.tree.paths():
        if path.endswith(".c") and (directory := path.rpartition("/")[0]) in by_directory:
            by_directory[directory].append(path)
    left, chosen = MAX_FILES, list[str]()
    smallest_first = sorted(by_directory.values(), key=len)
    for index, files in enumerate(smallest_first):
        share = files[: left // (len(smallest_first) - index)]
        left -= len(share)
        chosen += share
    return sorted(chosen), sum(map(len, by_directory.values()))


class _Search:
    def __init__(self, reader: CodeReader, files: Sequence[str]) -> None:
        self._reader = reader
        self._files = files

    def callers(self, path: str, item: Item) -> list[tuple[str, Item]]:
        if "(" in item.name:
            return []
        is_static = b"static" in item.text[: item.body - item.start].split()
        files = (path,) if is_static else dict.fromkeys((path, *self._files))
        return [(each, caller) for each in files for caller in self._in_file(each, item, is_own=each == path)]

    def _in_file(self, path: str, item: Item, *, is_own: bool) -> list[Item]:
        data = self._reader.data(path)
        if item.name.encode() not in data:
            return []
        code = code_of(data)
        offsets = [
            match.start()
            for match in self._reader.word(item.name).finditer(code)
            if code[match.end() : match.end() + 40].lstrip().startswith(b"(")
        ]
        return [
            caller
            for caller in functions_holding(data, offsets)
            if not (is_own and caller.start == item.start) and caller.name != item.name
        ]
