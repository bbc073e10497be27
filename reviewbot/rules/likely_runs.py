"""Whether a function may make several pairs that one block could replace, told from its text: most need not be read
for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

from reviewbot.csyntax.base_objects import base_object
from reviewbot.csyntax.brackets import brace_end, closing, split_arguments
from reviewbot.csyntax.items import Item, functions_holding
from reviewbot.csyntax.lexing import DIRECTIVE, blank_comments, code_of, lines_of
from reviewbot.csyntax.ways import Ways
from reviewbot.graph.code import CodeReader
from reviewbot.patterns import regex
from reviewbot.rulebook.primitives import Direction, Effect
from reviewbot.rules.copies import FunctionText, TextCall
from reviewbot.rules.pair_helpers import is_limited, may_help
from reviewbot.values import dataclass

_IDENTIFIER = regex(r"[A-Za-z_]\w*")
_CALL = regex(rb"\b([A-Za-z_]\w*)\s*\(")
_NO_LOOPS = frozenset(b"if switch return sizeof else case typeof defined".split())
_BRACES = regex(rb"[{}]")
_DEFINE = regex(rb"\s*#\s*define(?:\s|\\\r?\n)+([A-Za-z_]\w*)(?:\(([^)]*)\))?")
_REST_OF_ARGUMENTS = regex(rb",\s*##")
MAX_MACRO_DEPTH = 8
MAX_COMPARED = 100  # accesses of one object: each is compared with each

_Way = tuple[Direction, str]
"""The direction of an access, and the name that its base object begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """An access, or (without one) the call of a helper that may make one, at an offset in the function."""

    way: _Way
    offset: int
    access: TextCall | None = None


class LikelyRuns:
    """Answers for the functions of one file."""

    def __init__(self, reader: CodeReader, path: str) -> None:
        self._reader = reader
        self._path = path

    def may_run(self, text: FunctionText) -> bool:
        """Whether the text leaves it open that the function has a run: two accesses (or helpers that access for it) the
        same way to one object, or an access in a loop, each of which has a form for a block. Where a macro of the file
        may make accesses that the text does not show, it is open anyway."""
        accesses = tuple(self._accesses(text))
        if self._is_hidden(text, accesses):
            return True
        if not accesses or not (
            len(accesses) > 1 or self._calls_any(text, self._accessors) or _in_loops(text, accesses)
        ):
            return False
        likely = [each for each in accesses if _has_form_in_block(text, each)]
        return self._may_follow(text, likely) or any(_is_limited(text, each) for each in _in_loops(text, likely))

    def users_of_macros(self) -> tuple[Item, ...]:
        """The functions that name no primitive, but a macro of the file that makes accesses."""
        uses = self._reader.uses(self._path)
        if uses.names.isdisjoint(self._reader.access_names):
            return ()
        macros = self._naming(self._reader.access_names)
        if not macros:
            return ()
        data = self._reader.data(self._path)
        offsets = [match.start() for match in _WORDS.finditer(code_of(data)) if match[0] in macros]
        known = {item.start for item in uses.items}
        return tuple(item for item in functions_holding(data, offsets) if item.start not in known)

    def _may_follow(self, text: FunctionText, likely: Collection[TextCall]) -> bool:
        """Whether an access, or a call of a helper, may follow on another one of the same object."""
        uses = [_Use(way=_way(call), offset=call.offset - text.item.start, access=call) for call in likely]
        uses += _calls_of(text, self._helpers - {text.item.name})
        uses = _sharing(uses, None)
        if not uses:
            return False
        ways = _ways(text)
        uses = [each for each in _sharing(uses, ways) if each.access is None or _is_limited(text, each.access)]
        return bool(_sharing(uses, ways))

    def _accesses(self, text: FunctionText) -> Iterator[TextCall]:
        for call in text.calls(self._reader.access_calls):
            index = call.primitive.pointer_arg
            if call.primitive.effect is Effect.ACCESS and index is not None and index < len(call.arguments):
                yield call

    @cached_property
    def _accessors(self) -> frozenset[bytes]:
        return frozenset(name.encode() for name in self._reader.uses(self._path).accessors)

    @cached_property
    def _helpers(self) -> frozenset[str]:
        accessors = self._reader.uses(self._path).accessors
        return frozenset(name for name in accessors if may_help(self._reader, self._path, name))

    def _calls_any(self, text: FunctionText, names: Collection[bytes]) -> bool:
        own = text.item.name.encode()
        return any(match[1] in names and match[1] != own for match in _CALL.finditer(text.clean, _body(text)))

    def _is_hidden(self, text: FunctionText, accesses: Iterable[TextCall]) -> bool:
        """Whether a macro of the file may make other accesses in the function, or an access in its arguments twice."""
        macros, hiding = self._macros
        if not macros:
            return False
        if not hiding.isdisjoint(_WORDS.findall(text.clean, _body(text))):
            return True
        offsets = [each.offset - text.item.start for each in accesses]
        for match in _CALL.finditer(text.clean, _body(text)):
            end = closing(text.clean, match.end() - 1) if match[1] in macros else None
            if end is not None and any(match.end() <= offset < end for offset in offsets):
                return True
        return False

    @cached_property
    def _macros(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """The macros of the file, and those among them that may stand for an access, for a function that makes one, or
        for any name at all."""
        made = frozenset(name for name, every in self._bodies.items() if any(_makes_names(*each) for each in every))
        return frozenset(self._bodies), made | self._naming(self._reader.access_names | self._accessors | made)

    @cached_property
    def _bodies(self) -> dict[bytes, list[tuple[bytes, list[bytes]]]]:
        """Macro of the file -> the body and the parameters of each definition."""
        bodies: dict[bytes, list[tuple[bytes, list[bytes]]]] = {}
        for directive in lines_of(DIRECTIVE, code_of(self._reader.data(self._path))):
            match = _DEFINE.match(directive[0])
            if match is not None:
                parameters = (match[2] or b"").split(b",")
                bodies.setdefault(match[1], []).append((directive[0][match.end() :], parameters))
        return bodies

    def _naming(self, names: frozenset[bytes]) -> frozenset[bytes]:
        """The macros of the file that name one of these, or a macro that does."""
        words = {
            macro: {word for body, _ in every for word in _WORDS.findall(body)} for macro, every in self._bodies.items()
        }
        found: set[bytes] = set()
        for _ in range(MAX_MACRO_DEPTH):
            new = {macro for macro, used in words.items() if macro not in found and not used.isdisjoint(names | found)}
            if not new:
                break
            found |= new
        return frozenset(found)


_WORDS = regex(rb"[A-Za-z_]\w*")


def _makes_names(body: bytes, parameters: Iterable[bytes]) -> bool:
    """Whether a macro pastes names together, or calls what it is given."""
    if b"##" in body and b"##" in _REST_OF_ARGUMENTS.sub(b"", body):
        return True
    given = {parameter.strip() for parameter in parameters} - {b""}
    return bool(given) and any(match[1] in given for match in _CALL.finditer(body))


def _body(text: FunctionText) -> int:
    return text.item.body - text.item.start


def _calls_of(text: FunctionText, names: Collection[str]) -> Iterator[_Use]:
    """For every call of one of these functions the ways in which it may access its arguments."""
    if not names:
        return
    wanted = {name.encode() for name in names}
    for match in _CALL.finditer(text.clean, _body(text)):
        end = closing(text.clean, match.end() - 1) if match[1] in wanted else None
        if end is not None:
            spans = split_arguments(text.clean, match.end(), end)
            for root in sorted({_root(text.clean[begin:stop]) for begin, stop in spans}):
                for direction in (Direction.READ, Direction.WRITE):
                    yield _Use(way=(direction, root), offset=match.start())


@lru_cache(maxsize=1024)
def _root(pointer: bytes) -> str:
    """The name that the base object of a pointer begins with: the same for pointers of one base."""
    found = _IDENTIFIER.search(base_object(pointer))
    return found.group() if found else ""


def _has_form_in_block(text: FunctionText, call: TextCall) -> bool:
    primitive = call.primitive
    is_pair = primitive.switches > 0 and primitive.direction is not Direction.READ_WRITE
    return is_pair and text.reader.book.has_form_in_block(primitive, text.arch)


def _is_limited(text: FunctionText, call: TextCall) -> bool:
    index = call.primitive.size_arg
    if index is None:
        return True
    if index >= len(call.arguments):
        return False
    argument = call.arguments[index]
    return b"#" in argument.text or is_limited(text, argument)


def _ways(text: FunctionText) -> Ways:
    return Ways(blank_comments(text.item.text, literals=True), _body(text))


def _sharing(uses: Sequence[_Use], ways: Ways | None) -> list[_Use]:
    """Those that may go the way of another of them: of places that are apart none follows on the other."""
    by_way: dict[_Way, list[_Use]] = {}
    for use in uses:
        by_way.setdefault(use.way, []).append(use)
    return [
        use
        for same in by_way.values()
        for use in same
        if len(same) > MAX_COMPARED
        or any(each is not use and not (ways and ways.are_apart(each.offset, use.offset)) for each in same)
    ]


def _way(call: TextCall) -> _Way:
    return call.primitive.direction, _root(call.arguments[call.primitive.pointer_arg or 0].text)


def _in_loops(text: FunctionText, calls: Collection[TextCall]) -> list[TextCall]:
    if not calls:
        return []
    loops = tuple(_loops(text, max(call.offset for call in calls) - text.item.start))
    if not loops:
        return []
    ways = _ways(text)
    return [call for call in calls if ways.comes_round(call.offset - text.item.start, loops)]


def _loops(text: FunctionText, last: int) -> Iterator[tuple[int, int]]:
    """The extents of the loops that begin before the offset `last`, rather too long than too short: any macro may head
    one, and what has no braces is taken to go on to the end of what is around it."""
    clean = text.clean
    for match in _HEADS.finditer(clean, _body(text), last):
        name = match.group(1)
        if name is None:
            yield match.start(), _extent(clean, match.end())
            continue
        if name in _NO_LOOPS:
            continue
        end = closing(clean, match.end() - 1)
        if end is None:
            yield match.start(), len(clean)
        elif name in (b"for", b"while") or _is_head(text, name) or clean[end + 1 : end + 200].lstrip()[:1] == b"{":
            yield match.start(), _extent(clean, end + 1)


_HEADS = regex(rb"\bdo\b(?!\s*\()|\b([A-Za-z_]\w*)\s*\(")


def _is_head(text: FunctionText, name: bytes) -> bool:
    return _heads_of(text.reader.book.words.loop_patterns).fullmatch(name.decode()) is not None


@lru_cache(maxsize=8)
def _heads_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)")


def _extent(clean: bytes, start: int) -> int:
    """Where the statement that begins there ends at the latest."""
    if clean[start : start + 200].lstrip()[:1] == b"{":
        return brace_end(clean, clean.index(b"{", start)) or len(clean)
    depth = 0
    for match in _BRACES.finditer(clean, start):
        depth += 1 if match.group() == b"{" else -1
        if depth < 0:
            return match.start()
    return len(clean)
