"""#define as the preprocessor understands it: parameters, `#`, `##`, `__VA_ARGS__`, and where each argument came
from."""

from __future__ import annotations

import re

from reviewbot.csyntax.definition import Definition
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.patterns import regex
from reviewbot.values import dataclass

MAX_EXPANSION_BYTES = 200_000

_DEFINE = regex(rb"\s*#\s*define\s+([A-Za-z_]\w*)(\(([^)]*)\))?")
_WORD = regex(rb'[A-Za-z_]\w*|\.\.\.|##|#|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """`parameters` is None for an object-like macro. `variadic` is the name of the rest parameter (`__VA_ARGS__`,
    `args`)."""

    name: str
    parameters: tuple[str, ...] | None
    variadic: str | None
    body: bytes
    path: str
    line: int
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument as written at the call: `offset` is where it stands in the text that holds the call."""

    text: bytes
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """`segments` are (start, length, offset): these bytes of `text` are an argument that stands at `offset` at the
    call."""

    text: bytes
    segments: tuple[tuple[int, int, int], ...]


def to_macro(definition: Definition) -> Macro | None:
    """Read a MACRO definition; None if it is not well formed."""
    match = _DEFINE.match(definition.text)
    if match is None:
        return None
    parameters: tuple[str, ...] | None = None
    variadic = None
    if match.group(2) is not None:
        listed = [name.strip().replace(b"\\\n", b"").strip() for name in match.group(3).split(b",")]
        names = [name.decode("utf-8", "replace") for name in listed if name]
        if names and names[-1].endswith("..."):
            variadic = names.pop()[:-3].strip() or "__VA_ARGS__"
        parameters = tuple(names)
    body = definition.text[match.end() :].replace(b"\\\n", b"  ").strip()
    return Macro(
        name=match.group(1).decode(),
        parameters=parameters,
        variadic=variadic,
        body=body,
        path=definition.path,
        line=definition.line,
        conditions=definition.conditions,
    )


def expand(macro: Macro, arguments: tuple[Argument, ...]) -> Expansion | None:
    """The body with the arguments in place; None when the number of arguments does not fit or the result grows too
    large.

    Arguments are put in as written: macros within them are followed when the result is read, which is the same for
    code.
    """
    values = _bind(macro, arguments)
    if values is None:
        return None
    writer = _Writer()
    tokens = list(_WORD.finditer(macro.body))
    position = 0
    paste = False
    for index, token in enumerate(tokens):
        word = token.group()
        gap = macro.body[position : token.start()]
        position = token.end()
        if word == b"##":
            writer.plain(gap)
            writer.strip_end(drop_comma=_is_empty(tokens, index + 1, values))
            paste = True
            continue
        if word == b"#" and macro.parameters is not None and _names_parameter(tokens, index + 1, values):
            writer.plain(gap)
            continue
        writer.plain(gap.lstrip() if paste else gap)
        paste = False
        name = word.decode("utf-8", "replace")
        if name in values:
            if index and tokens[index - 1].group() == b"#":
                writer.plain(b'"' + _quoted(values[name]) + b'"')
            else:
                writer.arguments(values[name])
        else:
            writer.plain(blank_comments(word) if word[:2] in (b"/*", b"//") else word)
        if writer.size > MAX_EXPANSION_BYTES:
            return None
    writer.plain(macro.body[position:])
    return Expansion(text=b"".join(writer.pieces), segments=tuple(writer.segments))


def _bind(macro: Macro, arguments: tuple[Argument, ...]) -> dict[str, tuple[Argument, ...]] | None:
    if macro.parameters is None:
        return {}
    count = len(macro.parameters)
    if count == 1 and not arguments:
        arguments = (Argument(text=b"", offset=0),)
    if len(arguments) < count or (len(arguments) > count and macro.variadic is None):
        return None
    values: dict[str, tuple[Argument, ...]] = {
        name: (argument,) for name, argument in zip(macro.parameters, arguments, strict=False)
    }
    if macro.variadic is not None:
        values[macro.variadic] = arguments[count:]
    return values


def _names_parameter(tokens: list[re.Match[bytes]], index: int, values: dict[str, tuple[Argument, ...]]) -> bool:
    return index < len(tokens) and tokens[index].group().decode("utf-8", "replace") in values


def _is_empty(tokens: list[re.Match[bytes]], index: int, values: dict[str, tuple[Argument, ...]]) -> bool:
    if index >= len(tokens):
        return False
    value = values.get(tokens[index].group().decode("utf-8", "replace"))
    return value is not None and not any(argument.text.strip() for argument in value)


def _quoted(arguments: tuple[Argument, ...]) -> bytes:
    text = b", ".join(argument.text for argument in arguments)
    return text.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b" ")


class _Writer:
    """Collects the expansion and remembers which bytes are arguments."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.segments: list[tuple[int, int, int]] = []
        self.size = 0

    def plain(self, text: bytes) -> None:
        self.pieces.append(text)
        self.size += len(text)

    def arguments(self, arguments: tuple[Argument, ...]) -> None:
        for index, argument in enumerate(arguments):
            if index:
                self.plain(b", ")
            self.segments.append((self.size, len(argument.text), argument.offset))
            self.plain(argument.text)

    def strip_end(self, *, drop_comma: bool) -> None:
        """Take back blanks at the end: `##` glues its neighbours, and `, ##args` with no rest loses its comma."""
        while self.pieces and not self.pieces[-1].strip():
            self.size -= len(self.pieces.pop())
        if self.pieces and not (self.segments and self.segments[-1][0] + self.segments[-1][1] == self.size):
            kept = self.pieces[-1].rstrip()
            kept = kept.removesuffix(b",") if drop_comma else kept
            self.size -= len(self.pieces[-1]) - len(kept)
            self.pieces[-1] = kept
