"""Which files a patch makes worth inspecting: changed code that touches user memory, and users of what changed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import field
from functools import lru_cache

from reviewbot.csyntax.definition import DefinitionKind
from reviewbot.csyntax.items import Item, function_at, macro_at
from reviewbot.csyntax.lexing import code_of
from reviewbot.findings.finding import Gap
from reviewbot.findings.focus import functions_in_focus
from reviewbot.patterns import regex
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.primitives import Effect
from reviewbot.source.c_files import C_SUFFIXES, is_included, may_be_c
from reviewbot.source.states import PatchState, Ranges
from reviewbot.source.tree import SourceTree
from reviewbot.source.unread import REASON, is_unread
from reviewbot.source.words import words_in
from reviewbot.values import dataclass

_MAX_LEVELS = 3
# With more users than this, every file with a block is inspected instead of looking for the way from one to the other.
_MAX_USERS = 48
_OPENING = frozenset({Effect.OPEN, Effect.SCOPED, Effect.RESTORE})
_CLOSING = frozenset({Effect.CLOSE, Effect.SCOPED, Effect.SAVE})
_CALLED = regex(rb"(\w+)\s*\(")
_INCLUDE = regex(rb"\s*#\s*include\b")
_FUNCTION_LIKE = regex(rb"\s*#\s*define\s+\w+\(")


@dataclass(slots=True)
class Scope:
    """`paths` to inspect before and after the patch, each where it exists; `functions` are the (path, name) whose own
    text the patch changes, by the path after it; `gaps` are users of changed code that cannot be known. `focus`: by the
    path after the patch, the functions beyond which it changes nothing in that file; a path that is not there may be
    changed anywhere."""

    paths: set[str] = field(default_factory=set)
    focus: dict[str, frozenset[str]] = field(default_factory=dict)
    functions: set[tuple[str, str]] = field(default_factory=set)
    gaps: list[Gap] = field(default_factory=list)


def find_scope(state: PatchState, book: Rulebook) -> Scope:
    """The scope of one patch. Asks the tree for users only when what changed can matter inside a block elsewhere."""
    scope = Scope()
    old_paths = {new: old for old, new in state.renames}
    used_elsewhere: set[str] = set()
    for path in sorted(state.changed):
        touched = state.changed[path]
        if not _is_c(state, path, old_paths.get(path, path), book):
            continue
        before = _look_at(state.before.read(old_paths.get(path, path)), touched.removed, book)
        after = _look_at(state.after.read(path), touched.added, book)
        scope.functions |= {(path, item.name) for item in (*before.items, *after.items)}
        # the policies that count for a file depend on where it lies
        is_moved = path in old_paths and bool(words_in(state.after.read(path) or b"", book.primitive_names))
        if before.is_of_interest or after.is_of_interest or is_moved:
            scope.paths.add(path)
            focus = None if is_moved else _focus(state, path, old_paths.get(path, path), before, after)
            if focus is not None:
                scope.focus[path] = focus
        names = before.names | after.names
        used_elsewhere |= {name for name, is_local in names if not (is_local and path.endswith(".c"))}
        if not state.after.is_complete:
            scope.gaps += _unknown_users(path, before.items, after.items, book)
    if used_elsewhere:
        users = _users(state.after, used_elsewhere, book)
        lost = (path for path in sorted(users) if is_unread(state.after, path))
        scope.gaps += [Gap(path=path, line=0, function="", reason=REASON) for path in lost]
        scope.paths |= users
        scope.focus = {path: focus for path, focus in scope.focus.items() if path not in users}
    return scope


def _is_c(state: PatchState, path: str, old_path: str, book: Rulebook) -> bool:
    """Whether a changed file is C. One of another name is asked for only where it holds the name of a primitive."""
    if may_be_c(path):
        return True
    sides = [tree.read(name) or b"" for tree, name in _sides(state, path, old_path)]
    return any(words_in(text, book.primitive_names) for text in sides) and is_included(state.after, path)


def _focus(state: PatchState, path: str, old_path: str, before: _Side, after: _Side) -> frozenset[str] | None:
    """The functions that a change of whole functions and macros concerns; None where lines outside of them change."""
    if before.has_loose or after.has_loose or not state.after.is_complete:
        return None
    touched = {item.name for item in (*before.items, *after.items)}
    sides = [functions_in_focus(tree.read(name) or b"", touched) for tree, name in _sides(state, path, old_path)]
    return None if None in sides else frozenset().union(*(side for side in sides if side))


def _sides(state: PatchState, path: str, old_path: str) -> tuple[tuple[SourceTree, str], ...]:
    return (state.before, old_path), (state.after, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One file on one side of a patch: what it touches there, and whether that makes the file worth inspecting."""

    items: tuple[Item, ...] = ()
    names: frozenset[tuple[str, bool]] = frozenset()
    is_of_interest: bool = False
    has_loose: bool = False


def _look_at(content: bytes | None, ranges: Ranges, book: Rulebook) -> _Side:
    if content is None or not ranges:
        return _Side()
    items, loose = _touched_items(content, ranges)
    names = _names_that_matter(items, loose, book)
    # a changed declaration or macro may matter to any access in the file, a changed function to itself
    is_of_interest = any(words_in(item.text, book.primitive_names) for item in items) or (
        bool(names or loose) and bool(words_in(content, book.primitive_names))
    )
    return _Side(items=tuple(items), names=frozenset(names), is_of_interest=is_of_interest, has_loose=bool(loose))


def _unknown_users(path: str, before: Iterable[Item], after: Iterable[Item], book: Rulebook) -> Iterator[Gap]:
    """Without a tree nobody can tell whether a function that loses its annotation is called inside a block."""
    old = {item.name: item for item in before}
    for item in after:
        if item.name in old and (lost := _marks_of(old[item.name], book) - _marks_of(item, book)):
            words = ", ".join(sorted(lost))
            reason = f"{item.name}() loses {words}, and without the tree its callers are unknown"
            yield Gap(path=path, line=item.line, function=item.name, reason=reason)


def _marks_of(item: Item, book: Rulebook) -> set[str]:
    return words_in(item.text[: item.body - item.start], _marks(book))


def _touched_items(content: bytes, ranges: Ranges) -> tuple[list[Item], list[bytes]]:
    """The functions and macros that hold touched lines, and the touched lines that are in none."""
    starts, code = _line_starts(content), code_of(content)
    items: list[Item] = []
    loose: list[bytes] = []
    for first, last in ranges:
        for line in range(first, min(last, len(starts) - 1) + 1):
            start, end = starts[line - 1], starts[line]
            text = code[start:end]  # a comment or an #include decides nothing
            if not text.strip() or _INCLUDE.match(text) or (items and items[-1].start <= start < items[-1].end):
                continue
            offset = start + len(text) - len(text.lstrip())
            item = function_at(content, offset) or macro_at(content, offset)
            if item:
                items.append(item)
            else:
                loose.append(text)
    return items, loose


def _names_that_matter(items: Iterable[Item], loose: Iterable[bytes], book: Rulebook) -> set[tuple[str, bool]]:
    """(name, whether only its own file can use it) of changed things that a block elsewhere may depend on: macros, and
    functions whose body runs in the block or whose annotations say that it may. A change in the body of any other
    function alters nothing for its callers: one that opens and closes its own block, or that nobody calls by name."""
    marks = _marks(book)
    names: set[tuple[str, bool]] = set()
    for item in items:
        if item.kind is DefinitionKind.MACRO:
            if _FUNCTION_LIKE.match(item.text):
                names.add((item.name, True))
            continue
        head = item.text[: item.body - item.start]
        is_local = bool(words_in(head, ("static",)))
        if item.name.isidentifier() and (words_in(head, marks) or _is_part_of_block(item.text, book)):
            names.add((item.name, is_local))
    for line in loose:
        if words_in(line, marks) and (declared := _CALLED.search(line)):
            names.add((declared[1].decode(), False))
    return names


def _is_part_of_block(text: bytes, book: Rulebook) -> bool:
    """Whether the text has to do with a block that is not all its own."""
    if not words_in(text, _block_words(book)):
        return False
    return not (words_in(text, _words_of(book, _OPENING)) and words_in(text, _words_of(book, _CLOSING)))


def _users(tree: SourceTree, names: Collection[str], book: Rulebook) -> set[str]:
    """The files with blocks that use one of the names, directly or through macros and functions that run in a block."""
    blocks = _block_words(book)
    found: set[str] = set()
    asked: set[str] = set()
    level = set(names)
    for _ in range(_MAX_LEVELS):
        asked |= level
        answer = tree.search(level | blocks, C_SUFFIXES)
        block_files = {path for word in blocks for path in answer[word]}
        users = {path for name in level for path in answer[name]}
        found |= users & block_files
        if len(users - block_files) > _MAX_USERS:
            return found | block_files
        level = {name for path in users - block_files for name in _definitions_using(tree, path, level, book)} - asked
        if not level:
            break
    return found


def _definitions_using(tree: SourceTree, path: str, names: Collection[str], book: Rulebook) -> Iterator[str]:
    content = tree.read(path) or b""
    pattern = re.compile(rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\b")
    end = 0
    for match in pattern.finditer(content):
        if match.start() < end:
            continue
        item = function_at(content, match.start()) or macro_at(content, match.start())
        if item is None:
            continue
        end = item.end
        head = item.text[: item.body - item.start]
        if item.name not in names and (item.kind is DefinitionKind.MACRO or words_in(head, _marks(book))):
            yield item.name


@lru_cache(maxsize=4)
def _block_words(book: Rulebook) -> frozenset[str]:
    """Primitives that stand in or around blocks, in any architecture."""
    return _words_of(book, frozenset(Effect) - {Effect.ACCESS, Effect.NEUTRAL})


@lru_cache(maxsize=16)
def _words_of(book: Rulebook, effects: frozenset[Effect]) -> frozenset[str]:
    """The primitives with one of the effects, in any architecture."""
    every = (each for arch in book.architectures.values() for entries in arch.entries.values() for each in entries)
    return frozenset(each.name for each in every if each.effect in effects)


@lru_cache(maxsize=4)
def _marks(book: Rulebook) -> frozenset[str]:
    """Annotations that decide whether a call inside a block is safe."""
    words = book.words
    return words.notrace | words.noinstr | words.inline | words.always_inline


@lru_cache(maxsize=8)
def _line_starts(content: bytes) -> tuple[int, ...]:
    """Offsets of the lines, and the length at the end."""
    starts = [0, *(match.end() for match in re.finditer(rb"\n", content))]
    if starts[-1] != len(content):
        starts.append(len(content))
    return tuple(starts)
