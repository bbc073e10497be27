"""Whether a way may lead from one place in a function to a later one, told from the text: none leads from a case or a
branch to another one, nor out of a statement or a block that returns."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from reviewbot.csyntax.brackets import closing
from reviewbot.csyntax.cases import cases_of
from reviewbot.csyntax.heads import without_directives
from reviewbot.patterns import regex
from reviewbot.values import dataclass

_STATEMENT_BYTES = 400  # a longer one is not looked at
_BRACE = regex(rb"[{}]")
_NO_SPACE = regex(rb"\S")
_RETURN = regex(rb"\breturn\b")
_JUMP = regex(rb"\b(?:goto|break|continue)\b")
_OTHER_JUMP = regex(rb"\b(?:goto|continue)\b")
_LAST_STATEMENT = regex(rb"[;{}:]\s*+(return\b[^;{}]*|break\s*+);\s*+\Z")
_IF = regex(rb"\bif\s*+(\()")
_ELSE = regex(rb"\s*+else\b\s*+(?:(?:if\s*+(\())|(?!if\b))")

_Block = tuple[int, int]
"""The offsets of a `{` and of its `}`."""


@dataclass(frozen=True, slots=True)
class _Exits:
    """No way leads from a place to what stands behind `dead_end`, or in one of the stretches `instead`, which are run
    in stead of it."""

    dead_end: int
    instead: tuple[tuple[int, int], ...]


class Ways:
    """Of the function body that begins at the offset `start`; comments and literals are blanked in `code`."""

    def __init__(self, code: bytes, start: int) -> None:
        self._code = code
        self._has_directives = b"#" in code
        self._bare = without_directives(code) if self._has_directives else code
        self._blocks = _Blocks(self._bare, start)
        self._cases = cases_of(code, self._bare, start) if b"switch" in code else None
        self._known: dict[int, _Exits] = {}
        self._ends_by_return: dict[_Block, bool] = {}
        self._ends_of_else: dict[int, int] = {}
        self._last_switch = code.rfind(b"switch")

    def are_apart(self, one: int, other: int) -> bool:
        """Whether no way leads from the first of the two places to the second, but through a loop around both."""
        first, second = min(one, other), max(one, other)
        if self._cases is not None and self._cases.are_apart(first, second):
            return True
        exits = self._exits(first)
        return second > exits.dead_end or any(begin < second < end for begin, end in exits.instead)

    def comes_round(self, at: int, loops: Iterable[tuple[int, int]]) -> bool:
        """Whether a way may lead from the place back to it through one of the loops, of each of which the offsets of
        its head and behind its end are given."""
        loops = [(begin, stop) for begin, stop in loops if begin <= at < stop]
        if not loops or self._end_of_return(at) is not None:
            return False
        inner, end = max(begin for begin, _ in loops), min(stop for _, stop in loops) - 1
        inside = [(open_, close) for open_, close in self._blocks.around(at) if inner < open_ and close < end]
        may_break = len(loops) == 1 and self._last_switch < inner
        return not any(self._returns(block) or (may_break and self._breaks(block)) for block in inside)

    def _exits(self, at: int) -> _Exits:
        if at not in self._known:
            blocks = tuple(self._blocks.around(at))
            ends = [block[1] for block in blocks if self._returns(block)]
            returned = self._end_of_return(at)
            branches = [*(close + 1 for _, close in blocks), *self._end_of_branch(at)]
            self._known[at] = _Exits(
                dead_end=min([*ends, *([] if returned is None else [returned])], default=len(self._code)),
                instead=tuple((end, stop) for end in branches if (stop := self._end_of_else(end)) > end),
            )
        return self._known[at]

    def _end_of_return(self, at: int) -> int | None:
        """The end of the return statement that the place stands in."""
        begin = self._statement(at)
        if b"#" in self._code[begin:at] or _RETURN.search(self._bare, begin, at) is None:
            return None
        return self._end_of_statement(at)

    def _end_of_branch(self, at: int) -> Iterator[int]:
        """Where the statement without braces ends that an if guards, where the place stands in it."""
        begin, end = self._statement(at), self._end_of_statement(at)
        if end is None or b"#" in self._code[begin:at]:
            return
        conditions = [closing(self._bare, head.start(1)) for head in _IF.finditer(self._bare, begin, at)]
        if conditions and all(close is not None and close < at for close in conditions):
            yield end + 1

    def _statement(self, at: int) -> int:
        return max(self._bare.rfind(mark, 0, at) for mark in (b";", b"{", b"}")) + 1

    def _end_of_statement(self, at: int) -> int | None:
        """None where it has a statement in it."""
        end = self._bare.find(b";", at)
        return end if end >= 0 and b"{" not in self._bare[at:end] else None

    def _last(self, block: _Block) -> bytes:
        """The statement that ends a block whatever happens before, if it is a return or a break."""
        open_, close = block
        match = _LAST_STATEMENT.search(self._bare, max(open_, close - _STATEMENT_BYTES), close)
        return b"" if match is None or b"#" in self._code[match.start(1) : close] else match[1]

    def _returns(self, block: _Block) -> bool:
        if block not in self._ends_by_return:
            is_last = self._last(block).startswith(b"return")
            self._ends_by_return[block] = is_last and _JUMP.search(self._bare, *block) is None
        return self._ends_by_return[block]

    def _breaks(self, block: _Block) -> bool:
        return self._last(block).startswith(b"break") and _OTHER_JUMP.search(self._bare, *block) is None

    def _end_of_else(self, at: int) -> int:
        """Where the last of the branches ends that begin there with an else, or a directive stands between them; `at`
        if none does."""
        until = self._code.find(b"#", at) if self._has_directives else -1
        begun: list[int] = []
        while at not in self._ends_of_else and (end := self._end_of_branch_behind(at)) is not None:
            begun.append(at)
            at = end
        at = self._ends_of_else.get(at, at)
        self._ends_of_else.update(dict.fromkeys(begun, at))
        return at if until < 0 else min(at, until)

    def _end_of_branch_behind(self, at: int) -> int | None:
        """Where the branch ends that begins there with an else; None if none does."""
        match = _ELSE.match(self._bare, at)
        if match is None:
            return None
        body = match.end()
        if match[1] is not None:
            close = closing(self._bare, match.start(1))
            if close is None:
                return None
            body = close + 1
        first = _NO_SPACE.search(self._bare, body)
        if first is None:
            return None
        end = self._blocks.ends.get(first.start(), -1) if first[0] == b"{" else self._bare.find(b";", body)
        return end + 1 if end >= 0 else None


class _Blocks:
    """The blocks from an offset on; none where the braces do not fit together, as with an #if that cuts through."""

    def __init__(self, bare: bytes, start: int) -> None:
        opened: list[int] = []
        self.ends: dict[int, int] = {}
        """The offset of each `{` -> that of its `}`."""
        self._outer: dict[int, int] = {}  # the same -> the `{` around it
        for brace in _BRACE.finditer(bare, start):
            if brace[0] == b"{":
                if opened:
                    self._outer[brace.start()] = opened[-1]
                opened.append(brace.start())
            elif opened:
                self.ends[opened.pop()] = brace.start()
            else:
                opened = [-1]
                break
        if opened:
            self.ends.clear()
        self._starts = sorted(self.ends)

    def around(self, at: int) -> Iterator[_Block]:
        """The blocks around the place, the innermost first."""
        index = bisect_left(self._starts, at) - 1
        open_ = self._starts[index] if index >= 0 else None
        while open_ is not None:
            if self.ends[open_] > at:
                yield open_, self.ends[open_]
            open_ = self._outer.get(open_)
