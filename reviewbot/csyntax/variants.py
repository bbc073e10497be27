"""#if inside a function means several functions: each variant is the text with one choice of branches, the rest
blanked.

Without a .config every branch is reviewed. Equal conditions are chosen alike, so code that opens under one #ifdef and
closes under the next is read as its author meant it. Offsets stay exact: what is left out becomes blanks.
"""

from __future__ import annotations

import itertools
import re

from reviewbot.patterns import regex
from reviewbot.values import dataclass

MAX_FREE_CONDITIONS = 4
"""Up to this many conditions all combinations are built (16); beyond, all-true, all-false and one change from each."""

MAX_VARIANTS = 40
MAX_VARIANTS_BYTES = 1_000_000
"""Of a long function fewer variants are built."""

_LONGEST_CONDITION = 1_000

_DIRECTIVE = regex(rb"^[ \t]*#[ \t]*(\w+)[ \t]*((?:[^\n\\]|\\\n|\\.)*)", re.MULTILINE)
_NOT_NEWLINE = regex(rb"[^\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """`text` has the length of the original. `conditions` are (condition, chosen truth), sorted; empty when there is no
    #if. `is_exhaustive`: each combination was built; `is_cut_off`: not even each condition was tried both ways."""

    text: bytes
    conditions: tuple[tuple[str, bool], ...]
    is_exhaustive: bool
    is_cut_off: bool = False


@dataclass(frozen=True, slots=True)
class _Directive:
    start: int
    end: int
    word: str
    condition: str


def blank(text: bytes) -> bytes:
    """The same number of bytes and lines, all of them blanks."""
    return _NOT_NEWLINE.sub(b" ", text)


def split_variants(text: bytes, enclosing: tuple[str, ...] = ()) -> tuple[Variant, ...]:
    """Every variant of a function text whose comments are blanked. `enclosing` are conditions that hold around the
    function."""
    if b"#" not in text:
        return (Variant(text=text, conditions=(), is_exhaustive=True),)
    directives = [_to_directive(match) for match in _DIRECTIVE.finditer(text)]
    if not directives:
        return (Variant(text=text, conditions=(), is_exhaustive=True),)
    fixed = dict(map(to_literal, enclosing))
    free = sorted({to_literal(d.condition)[0] for d in directives if d.condition} - set(fixed) - {"0", "1"})
    choices, is_exhaustive = _choices(free)
    most = min(MAX_VARIANTS, max(2, MAX_VARIANTS_BYTES // len(text)))
    choices = choices if is_exhaustive else choices[:most]
    found: dict[bytes, Variant] = {}
    for choice in choices:
        kept = _select(text, directives, fixed | choice)
        if kept not in found:
            found[kept] = Variant(
                text=kept,
                conditions=tuple(sorted(choice.items())[:MAX_VARIANTS]),
                is_exhaustive=is_exhaustive,
                is_cut_off=2 * len(free) + 2 > most and not is_exhaustive,
            )
    return tuple(found.values())


def condition_of(present: list[tuple[tuple[str, bool], ...]], absent: list[tuple[tuple[str, bool], ...]]) -> str | None:
    """The condition that tells the variants which have a finding from those which have it not; None if all have it."""
    if not absent or not present:
        return None
    shared = set(present[0]).intersection(*map(set, present[1:]))
    telling = sorted(literal for literal in shared if any(literal not in other for other in absent))
    return " && ".join(name if truth else f"!{_parenthesised(name)}" for name, truth in telling) or None


def _parenthesised(name: str) -> str:
    return name if re.fullmatch(r"\w+(\(\w+\))?", name) else f"({name})"


def _to_directive(match: re.Match[bytes]) -> _Directive:
    word = match.group(1).decode("ascii", "replace")
    rest = " ".join(match.group(2).replace(b"\\\n", b" ").decode("utf-8", "replace").split())
    condition = ""
    if word in ("ifdef", "ifndef"):
        condition = f"defined({rest.split(' ')[0]})"
        condition = condition if word == "ifdef" else f"!{condition}"
    elif word in ("if", "elif"):
        condition = rest
    return _Directive(match.start(), match.end(), word, condition)


_NEGATED = regex(r"!\s*(?:defined\s+\w+|\w+\s*(?:\(\s*\w+\s*\))?)")
_ENABLED = regex(r"\b(?:IS_ENABLED|IS_BUILTIN|defined)\s*\(\s*(\w+)\s*\)|\bdefined\s+(\w+)")


def to_literal(condition: str) -> tuple[str, bool]:
    """('defined(X)', False) for '!defined(X)', '!(defined(X))' or '#ifndef X': one name for one fact."""
    truth, text = True, condition.strip()
    while len(text) < _LONGEST_CONDITION:
        if text.startswith("!") and (_NEGATED.fullmatch(text) or _is_wrapped(text[1:].strip())):
            truth, text = not truth, text[1:].strip()
        elif _is_wrapped(text):
            text = text[1:-1].strip()
        else:
            break
    return _ENABLED.sub(lambda m: f"defined({m.group(1) or m.group(2)})", text), truth


def _is_wrapped(text: str) -> bool:
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return index == len(text) - 1
    return False


def _choices(free: list[str]) -> tuple[list[dict[str, bool]], bool]:
    if len(free) <= MAX_FREE_CONDITIONS:
        combinations = itertools.product((True, False), repeat=len(free))
        return [dict(zip(free, values, strict=True)) for values in combinations], True
    result = []
    for start in (True, False):
        base = dict.fromkeys(free, start)
        result.append(base)
        result.extend(base | {name: not start} for name in free[:MAX_VARIANTS])
    return result[:MAX_VARIANTS], False


def _select(text: bytes, directives: list[_Directive], truths: dict[str, bool]) -> bytes:
    pieces: list[bytes] = []
    position = 0
    # One entry per open #if: (this branch is taken, some branch of it was taken, the surroundings are taken).
    stack: list[tuple[bool, bool, bool]] = []

    def is_taken() -> bool:
        return stack[-1][0] if stack else True

    for directive in directives:
        between = text[position : directive.start]
        pieces.append(between if is_taken() else blank(between))
        pieces.append(blank(text[directive.start : directive.end]))
        position = directive.end
        if directive.word in ("if", "ifdef", "ifndef"):
            outer = is_taken()
            taken = outer and _holds(directive.condition, truths)
            stack.append((taken, taken, outer))
        elif directive.word == "elif" and stack:
            _, any_taken, outer = stack[-1]
            taken = outer and not any_taken and _holds(directive.condition, truths)
            stack[-1] = (taken, any_taken or taken, outer)
        elif directive.word == "else" and stack:
            _, any_taken, outer = stack[-1]
            stack[-1] = (outer and not any_taken, True, outer)
        elif directive.word == "endif" and stack:
            stack.pop()
    pieces.append(text[position:] if is_taken() else blank(text[position:]))
    return b"".join(pieces)


def _holds(condition: str, truths: dict[str, bool]) -> bool:
    name, wanted = to_literal(condition)
    if name in ("0", "1"):
        return (name == "1") is wanted
    return truths.get(name, True) is wanted
