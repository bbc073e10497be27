"""Which case of which switch a place in a function stands in, told from the text: from a case that ends with a jump no
way leads to the next one. Code under an #if ends no case that began outside of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from reviewbot.csyntax.lexing import CONDITIONAL, lines_of
from reviewbot.patterns import regex
from reviewbot.values import dataclass

_TOKEN = regex(rb"[{}]|\b(?:switch|case|default|break|return|goto|continue)\b")
_LABEL = regex(rb"(?<=[;{}:])\s*+(?!default\b)[A-Za-z_]\w*+\s*+:")
_BEFORE_STATEMENT = frozenset((b":", b";", b"{", b"}"))


@dataclass(frozen=True, slots=True)
class Cases:
    """`places`: for each stretch of the text, which begins at the offset in `starts` of the same index, the switches
    around it, each with the number of the case; cases that one may fall through have one number."""

    starts: tuple[int, ...]
    places: tuple[Mapping[int, int], ...]

    def are_apart(self, first: int, second: int) -> bool:
        """Whether the two offsets stand in different cases of one switch, neither of which falls through to the
        other."""
        there = self.around(second)
        return any(there.get(switch, case) != case for switch, case in self.around(first).items())

    def around(self, offset: int) -> Mapping[int, int]:
        """switch -> case, for the switches around the offset."""
        at = bisect_right(self.starts, offset) - 1
        return self.places[at] if at >= 0 else {}


@dataclass(slots=True)
class _Brace:
    """An open `{`: that of a switch (`switch` is its number, `case` that of the current case, `branches` those of each
    #if around the label that the case begins with, `jump_end` the offset behind the last jump that nothing leads past),
    or one that is run whenever what is around it is (`is_bare`)."""

    switch: int = -1
    case: int = 0
    branches: tuple[int, ...] = ()
    jump_end: int = -1
    is_bare: bool = False


@dataclass(slots=True)
class _Branch:
    """The branch of an #if that is being read: its number, and how many braces were open before."""

    number: int
    depth: int


def cases_of(code: bytes, bare: bytes, start: int) -> Cases | None:
    """The cases in a function body that begins at `start`, its comments and literals blanked, in `bare` its directives
    too; None where a label leads into a switch, a case stands deeper in it, or an #if cuts through braces."""
    reader = _CaseReader(bare)
    tokens = [(token.start(), token.end(), token[0]) for token in _TOKEN.finditer(bare, start)]
    if b"#" in code:
        conditionals = ((each.start(), each.end(), b"#" + each[1]) for each in lines_of(CONDITIONAL, code))
        tokens = sorted([*tokens, *(each for each in conditionals if each[0] >= start)])
    for begin, end, token in tokens:
        if not reader.take(token, begin, end):
            return None
    cases = Cases(starts=tuple(reader.starts), places=tuple(reader.places))
    has_label = any(cases.around(match.end()) for match in _LABEL.finditer(bare, start))
    return None if has_label else cases


class _CaseReader:
    def __init__(self, code: bytes) -> None:
        self._code = code
        self._open: list[_Brace] = []
        self._branches: list[_Branch] = []
        self._branches_begun = 0
        self._is_switch = False
        self._switches = 0
        self.starts: list[int] = []
        self.places: list[Mapping[int, int]] = []

    def take(self, token: bytes, start: int, end: int) -> bool:
        """The next token; False where the cases cannot be told."""
        if token.startswith(b"#"):
            return self._conditional(token)
        before = self._code[max(0, start - 200) : start].rstrip()[-1:]
        if token == b"switch":
            self._is_switch = True
        elif token == b"{":
            self._open_brace(start, before)
        elif token == b"}":
            if self._branches and len(self._open) <= self._branches[-1].depth:
                return False
            if self._open and self._open.pop().switch >= 0:
                self._note(start)
        elif token in (b"case", b"default"):
            return self._case(start)
        elif before in _BEFORE_STATEMENT:
            self._jump(end)
        return True

    def _conditional(self, word: bytes) -> bool:
        """An #if and its kin; False where its branches do not leave the braces as they were."""
        if word.startswith(b"#if"):
            self._branches.append(_Branch(number=0, depth=len(self._open)))
        elif not self._branches or self._branches[-1].depth != len(self._open):
            return False
        elif word == b"#endif":
            self._branches.pop()
            return True
        self._branches_begun += 1
        self._branches[-1].number = self._branches_begun
        return True

    def _around(self) -> tuple[int, ...]:
        return tuple(branch.number for branch in self._branches)

    def _open_brace(self, start: int, before: bytes) -> None:
        if self._is_switch and before == b")":
            self._open.append(_Brace(switch=self._switches, branches=self._around()))
            self._switches += 1
            self._is_switch = False
            self._note(start)
        else:
            self._open.append(_Brace(is_bare=before in _BEFORE_STATEMENT))

    def _case(self, start: int) -> bool:
        if not self._open or self._open[-1].switch < 0:
            return False
        brace = self._open[-1]
        if brace.jump_end >= 0 and not self._code[brace.jump_end : start].strip(b" \t\r\n\f\v}"):
            brace.case += 1
            brace.branches = self._around()
            self._note(start)
        return True

    def _jump(self, end: int) -> None:
        """A statement that leaves the case, if no condition stands before it."""
        for brace in reversed(self._open):
            if brace.switch >= 0 and brace.branches == self._around():
                brace.jump_end = self._code.find(b";", end) + 1
            if not brace.is_bare:
                return

    def _note(self, offset: int) -> None:
        self.starts.append(offset)
        self.places.append({brace.switch: brace.case for brace in self._open if brace.switch >= 0})
