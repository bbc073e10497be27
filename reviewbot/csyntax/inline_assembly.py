"""What the template of an asm statement calls: symbols by their names, or what an operand names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import lru_cache

from reviewbot.csyntax.brackets import closing, split_arguments
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.macros import Argument, Macro, expand
from reviewbot.csyntax.meaning import Meaning
from reviewbot.patterns import regex
from reviewbot.values import dataclass

MAX_MACRO_DEPTH = 4
MAX_TEMPLATE_BYTES = 20_000

_PIECE = regex(rb'"((?:[^"\\]|\\.)*)"|([A-Za-z_]\w*)\s*(\()?', re.DOTALL)
_ESCAPE = regex(r"\\(.)", re.DOTALL)
_COMMENT = regex(r"/\*.*?\*/|(?:#|//|@).*")
_LABEL = regex(r"\s*(?:\w+|%=|\.\w+(?:%=)?)\s*:")
_SYMBOL = regex(r"\.?([A-Za-z_]\w*)(?:@\w+|\(PLT\))?")
_OPERAND = regex(r"%[a-zA-Z]?(?:(\d+)|\[(\w+)\])(?:@\w+)?")
_LOCAL = regex(r"\d+[fb]|\.?L\w*|%l\w*(?:\[\w+\])?")
_STOPS = regex(rb"[():]")
_HAS_CALL = regex(rb"call|bl|jal|bra|jsr|bsr|\bb,l")


@dataclass(frozen=True, slots=True, kw_only=True)
class AsmCall:
    """A call in a template. One of `symbol`, `operand` (the number or the name of the operand that names the callee)
    and `unknown` (the instruction, where neither is) is set."""

    symbol: str = ""
    operand: str = ""
    unknown: str = ""


def template_calls(written: bytes, meaning: Meaning) -> tuple[AsmCall, ...]:
    """The calls in the template of an asm statement, whose text from there on is `written`: string literals, and macros
    that stand for some."""
    template = _up_to_operands(blank_comments(written[:MAX_TEMPLATE_BYTES]))
    found: dict[AsmCall, None] = {}
    for text in _texts(template, meaning, MAX_MACRO_DEPTH):
        if _HAS_CALL.search(text):
            found.update(dict.fromkeys(_calls(text.decode("utf-8", "replace"), meaning.call_instructions)))
    return tuple(found)


def _up_to_operands(text: bytes) -> bytes:
    depth = 0
    for match in _STOPS.finditer(blank_comments(text, literals=True)):
        char = match.group()
        depth += {b"(": 1, b")": -1}.get(char, 0)
        if depth < 0 or (depth == 0 and char == b":"):
            return text[: match.start()]
    return text


def _texts(template: bytes, meaning: Meaning, depth: int) -> Iterator[bytes]:
    """The literals glued together, with the texts that macros make; what a macro makes apart from the rest, where it
    makes several."""
    glued, position = b"", 0
    while (piece := _PIECE.search(template, position)) is not None:
        position = piece.end()
        if piece[1] is not None:
            glued += piece[1]
            continue
        end = closing(template, piece.start(3)) if piece[3] else None
        spans = split_arguments(template, piece.end(), end) if end is not None else []
        position = end + 1 if end is not None else position
        made = list(
            _made_by(piece[2].decode(), [template[a:b] for a, b in spans], meaning, depth, is_call=end is not None)
        )
        yield from made[1:]
        glued += b"".join(made[:1])
    yield glued


def _made_by(name: str, arguments: list[bytes], meaning: Meaning, depth: int, *, is_call: bool) -> Iterator[bytes]:
    """The texts of a macro in a template. Of one that is not known its arguments are all there is to see: the literals
    in them, or what it may turn into a literal."""
    macros = meaning.macros(name, is_call=True) if depth else ()
    values = tuple(Argument(text=text, offset=0) for text in arguments)
    for macro in macros:
        made = expand(macro if is_call else _plain(macro), values)
        if made is not None:
            yield from _texts(made.text, meaning, depth - 1)
    if not macros:
        for text in arguments or [name.encode()]:
            if b'"' in text:
                yield from _texts(text, meaning, depth)
            else:
                yield text


def _plain(macro: Macro) -> Macro:
    """Without the empty call that a macro without parameters gets where it is used as one."""
    body = macro.body.removesuffix(b"(__VA_ARGS__)")
    return replace(macro, parameters=None, variadic=None, body=body)


def _calls(text: str, instructions: Collection[str]) -> Iterator[AsmCall]:
    pattern = _call_pattern(frozenset(instructions))
    for statement in re.split(r"\\n|\n|;", text):
        statement = _ESCAPE.sub(" ", statement)
        while (label := _LABEL.match(statement)) is not None:
            statement = statement[label.end() :]
        match = pattern.match(_COMMENT.sub("", statement))
        if match is None:
            continue
        target = match[1].split(",")[-1].strip()
        if (operand := _OPERAND.fullmatch(target)) is not None:
            yield AsmCall(operand=operand[1] or operand[2])
        elif _LOCAL.fullmatch(target):
            continue
        elif (symbol := _SYMBOL.fullmatch(target)) is not None:
            yield AsmCall(symbol=symbol[1])
        else:
            yield AsmCall(unknown=" ".join(match[0].split()))


@lru_cache(maxsize=16)
def _call_pattern(instructions: frozenset[str]) -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in sorted(instructions, key=len, reverse=True))
    return re.compile(rf"\s*(?:{names})\s+(\S.*?)\s*$" if names else r"(?!)")
