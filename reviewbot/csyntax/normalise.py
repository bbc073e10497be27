"""Kernel C made digestible for a C parser without moving a byte: what it cannot read becomes blanks or a keyword of C.

Raw kernel functions are full of ERROR nodes; annotations, macro loops, typeof, case ranges and types given as arguments
are the reasons. All rewriting keeps lengths, so that every offset in the result is an offset in the source.
"""

from __future__ import annotations

import re
from functools import lru_cache

from reviewbot.csyntax.brackets import closing, split_arguments
from reviewbot.csyntax.variants import blank
from reviewbot.csyntax.whole_words import whole_words
from reviewbot.patterns import regex
from reviewbot.rulebook.policy import Words
from reviewbot.values import dataclass

# `(name(x) *)` can be nothing but a cast, whatever macro makes the type: no expression ends with a `*`.
_CAST_HEAD = regex(rb"\((?=\s*(\w+)\s*(\())")
_CAST_TAIL = regex(rb"[\s\w]*\*[\s*]*\)")
_MAX_TYPE_BYTES = 300

_TYPEOF = regex(rb"\b_*typeof(?:_unqual)?_*[ \t]*\(")
_OFFSETOF = regex(rb"\b(?:offsetof|__builtin_offsetof)[ \t]*\(")
# Macros that are string literals, glued to their neighbours: `LEVEL "text"`, `"text" FORMAT`, `LEVEL prefix("text")`.
_WORD_BEFORE_STRING = regex(rb"(?<=[(,\s])([A-Za-z_]\w*)(?=\s*\")(?<!return)(?<!case)(?<!asm)(?<!volatile)")
_LEVEL_BEFORE_CALL = regex(rb"(?<=[(,])\s*([A-Z][A-Z0-9_]+)(?=\s+[a-z_]\w*\s*\(\s*\")")
_CASE_RANGE = regex(rb"(\bcase\b(?:(?!\.\.\.)[^:;{}\n]){0,400}+)(\.\.\.[^:;{}\n]{0,400}+)(?=:)")
_TYPE = rb"(?:(?:const|volatile|unsigned|signed|long|short|int|char|_Bool|(?:struct|union|enum)\s++\w++)\s*+)++\**+\s*+"
_TYPE_FIRST = regex(rb"(?<=\w\()\s*(" + _TYPE + rb")(?=,)")
_TYPE_LATER = regex(rb"(?<=,)(\s*" + _TYPE + rb")(?=[,)])")
_LOCAL_LABEL = regex(rb"\b__label__\b[^;]{0,400}+;")
_ASM_GOTO = regex(rb"\basm_\w*goto(?=\s*\()")
_ASM_INLINE = regex(rb"\basm_inline\b(?=[\s\w]*\()")
_ASM = regex(rb"\b(?:asm|__asm__|__asm|asm_inline)\b((?:\s*\b(?:__)?(?:volatile|goto|inline)(?:__)?\b)*)\s*(\()")
_ASM_STOPS = regex(rb"[()\[\]:]")
_HEAD = regex(rb"\b([A-Za-z_]\w*)[ \t\n]*\(")
_KEYWORDS = frozenset(b"if while for switch return sizeof do else case goto asm __asm__ typeof defined".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalised:
    """`text` is what to parse. `heads` maps the offset of a macro head that was turned into `while` to the macro's
    name."""

    text: bytes
    heads: dict[int, str]


def normalise(
    text: bytes, words: Words, statement_heads: frozenset[str] = frozenset(), type_makers: frozenset[str] = frozenset()
) -> Normalised:
    """Rewrite a function body or an expansion whose literals are blanked already. `statement_heads` are macros that
    take the next statement as their body even without braces (loops, scoped accesses); `type_makers` stand for
    typeof()."""
    result = bytearray(text)
    _blank_all(result, _annotations(words), text)
    if b"__label__" in text:
        _blank_all(result, _LOCAL_LABEL, bytes(result))
    _blank_attributes(result, words)
    if b"typeof" in text:
        _replace_typeof(result, _TYPEOF)
    if type_makers:
        names = b"|".join(re.escape(name.encode()) for name in sorted(type_makers))
        _replace_typeof(result, re.compile(rb"\b(?:" + names + rb")\s*\("))
    _replace_made_types(result)
    if b"offsetof" in text:
        _replace_offsetof(result)
    if b'"' in text:
        for pattern in (_WORD_BEFORE_STRING, _LEVEL_BEFORE_CALL):
            _blank_all(result, pattern, bytes(result), group=1)
    if b"..." in text:
        _blank_all(result, _CASE_RANGE, bytes(result), group=2)
    for pattern in (_TYPE_FIRST, _TYPE_LATER):
        for match in pattern.finditer(bytes(result)):
            result[match.start(1) : match.end(1)] = b"0".ljust(match.end(1) - match.start(1))
    if b"asm" in text:
        _rewrite_assembly(result)
    heads = _replace_heads(result, words, statement_heads)
    return Normalised(text=bytes(result), heads=heads)


@lru_cache(maxsize=8)
def _annotations(words: Words) -> re.Pattern[bytes]:
    names = words.annotations | words.notrace | words.noinstr | words.inline | words.always_inline
    return re.compile(whole_words(names) + rb"\b(?![ \t]*\()")


@lru_cache(maxsize=8)
def _attribute_heads(words: Words) -> re.Pattern[bytes]:
    return re.compile(whole_words(words.attributes_with_arguments | {"__attribute__", "__attribute"}) + rb"\s*\(")


@lru_cache(maxsize=8)
def _loops(words: Words) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in words.loop_patterns) or r"(?!)")


def _blank_all(result: bytearray, pattern: re.Pattern[bytes], text: bytes, group: int = 0) -> None:
    for match in pattern.finditer(text):
        result[match.start(group) : match.end(group)] = blank(match.group(group))


def _blank_attributes(result: bytearray, words: Words) -> None:
    text = bytes(result)
    for match in _attribute_heads(words).finditer(text):
        end = closing(text, match.end() - 1)
        if end is not None:
            result[match.start() : end + 1] = blank(text[match.start() : end + 1])


def _replace_typeof(result: bytearray, pattern: re.Pattern[bytes]) -> None:
    text = bytes(result)
    for match in pattern.finditer(text):
        end = closing(text, match.end() - 1)
        if end is not None:
            result[match.start() : end + 1] = b"int" + blank(text[match.start() + 3 : end + 1])


def _replace_made_types(result: bytearray) -> None:
    text = bytes(result)
    for match in _CAST_HEAD.finditer(text):
        end = closing(text[match.start(2) : match.start(2) + _MAX_TYPE_BYTES], 0)
        if end is not None and _CAST_TAIL.match(text, match.start(2) + end + 1) is not None:
            stop = match.start(2) + end + 1
            result[match.start(1) : stop] = b"int" + blank(text[match.start(1) + 3 : stop])


def _replace_offsetof(result: bytearray) -> None:
    """A constant, whatever its member argument looks like (`offsetof(struct x, list[n])`)."""
    text = bytes(result)
    for match in _OFFSETOF.finditer(text):
        end = closing(text, match.end() - 1)
        if end is not None:
            result[match.start() : end + 1] = b"0" + blank(text[match.start() + 1 : end + 1])


def _rewrite_assembly(result: bytearray) -> None:
    for match in _ASM_GOTO.finditer(bytes(result)):
        result[match.start() : match.end()] = b"asm goto".ljust(match.end() - match.start())
    for match in _ASM_INLINE.finditer(bytes(result)):
        result[match.start() : match.end()] = b"asm".ljust(match.end() - match.start())
    _blank_templates(result)


def _blank_templates(result: bytearray) -> None:
    """The template of an asm statement is no C: string pieces glued with macros become one empty string."""
    text = bytes(result)
    for match in _ASM.finditer(text):
        result[match.start(1) : match.end(1)] = re.sub(
            rb"__(volatile|goto|inline)__|__(volatile|goto|inline)\b",
            lambda m: (m.group(1) or m.group(2)).ljust(len(m.group())),
            match.group(1),
        )
        end = closing(text, match.start(2))
        if end is not None:
            _blank_operands(result, text, match.end(2), end)


def _blank_operands(result: bytearray, text: bytes, start: int, end: int) -> None:
    """Template, outputs, inputs, clobbers, labels: constraints may be macros too, only the values are C."""
    for number, (begin, stop) in enumerate(_sections(text, start, end)):
        if number == 0:
            _put_string(result, text, begin, stop)
        elif number in (1, 2):
            for first, last in split_arguments(text, begin, stop):
                value = text.rfind(b"(", first, last) if text[last - 1 : last] == b")" else -1
                while value > first and closing(text, value) != last - 1:
                    value = text.rfind(b"(", first, value)
                _put_string(result, text, first, value if value > first else last)
        elif number == 3 and text[begin:stop].strip():
            _put_string(result, text, begin, stop)


def _put_string(result: bytearray, text: bytes, begin: int, stop: int) -> None:
    if stop - begin >= 2:
        result[begin:stop] = b'""' + blank(text[begin + 2 : stop])


def _sections(text: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """The parts of an asm statement between its colons (`::` is an empty one)."""
    found: list[tuple[int, int]] = []
    depth, begin = 0, start
    for match in _ASM_STOPS.finditer(text, start, end):
        char = match.group()
        if char in b"([":
            depth += 1
        elif char in b")]":
            depth -= 1
        elif depth == 0:
            found.append((begin, match.start()))
            begin = match.end()
    return [*found, (begin, end)]


def _replace_heads(result: bytearray, words: Words, statement_heads: frozenset[str]) -> dict[int, str]:
    """`name(args) {` in statement position, and `name(args) statement` for known heads, become `while(args) …`."""
    text = bytes(result)
    loops = _loops(words)
    heads: dict[int, str] = {}
    for match in _HEAD.finditer(text):
        name = match.group(1)
        if name in _KEYWORDS or len(name) < len(b"while") or not _is_statement_start(text, match.start()):
            continue
        end = closing(text, match.end() - 1)
        if end is None:
            continue
        spelled = name.decode()
        following = text[end + 1 : end + 200].lstrip()
        is_head = spelled in statement_heads or loops.fullmatch(spelled) is not None
        if following[:1] == b"{" or (is_head and following[:1] != b";"):
            result[match.start(1) : match.end(1)] = b"while".ljust(len(name))
            heads[match.start(1)] = spelled
    return heads


def _is_statement_start(text: bytes, offset: int) -> bool:
    before = text[max(0, offset - 400) : offset].rstrip()
    return not before or before[-1:] in b";{}:)" or before.endswith((b"else", b"do"))
