"""Every definition of one name in one file, decided from what stands around each occurrence of the name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.heads import has_type, parenthesis_groups
from reviewbot.csyntax.lexing import DIRECTIVE, LineIndex, code_of
from reviewbot.csyntax.outline import Entry, Outline, outline
from reviewbot.rulebook.policy import NameMaker

_ATTRIBUTE = rb"(?:\s*\b__\w+(?:\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?)*"
_TAG_BEFORE = re.compile(rb"\b(struct|union|enum)" + _ATTRIBUTE + rb"\s*$")
_BODY_AFTER = re.compile(_ATTRIBUTE + rb"\s*\{")
_DECLARATOR_AFTER = re.compile(_ATTRIBUTE + rb"\s*(?:[\[=;,]|:\s*\d)")
_POINTER_BEFORE = re.compile(rb"\(\s*(?:\w+\s+)*\*[\s*]*(?:(?:const|volatile|__\w+)\s+)*$")
_POINTER_AFTER = re.compile(rb"\s*(?:\[[^\]]*\]\s*)*\)\s*\(")
_ENUMERATOR_AFTER = re.compile(_ATTRIBUTE + rb"\s*[=,}]")
_ENUM_HEAD = re.compile(rb"\benum" + _ATTRIBUTE + rb"\s*\w*" + _ATTRIBUTE + rb"\s*$")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_STORAGE = frozenset((b"static", b"extern", b"typedef", b"const", b"volatile", b"register", b"inline"))
_TAGS = {b"struct": DefinitionKind.STRUCT, b"union": DefinitionKind.UNION, b"enum": DefinitionKind.ENUM}


def find_definitions(data: bytes, name: str, path: str, makers: Sequence[NameMaker] = ()) -> tuple[Definition, ...]:
    """Every definition and declaration of `name` in the file, in order, in all #if branches.

    Calls, comments, literals, members, parameters and locals do not count. `makers` are the macros that make names.
    """
    finder = _Finder(data, name, path)
    made = [found for maker in makers for found in finder.made_by(maker)]
    if not may_define(data, name):
        return tuple(sorted(made, key=lambda found: found.start))
    found = [*finder.macros(), *finder.others(), *made]
    return tuple(sorted(found, key=lambda each: (each.line, each.start)))


def may_define(data: bytes, name: str) -> bool:
    """Whether the name occurs where a definition may stand; cheap, and true too often rather than too seldom."""
    word = name.encode()
    return word in data and _likely(word).search(data) is not None


def _likely(word: bytes) -> re.Pattern[bytes]:
    word = re.escape(word)
    return re.compile(
        rb"^[ \t]*#[ \t]*define(?:[ \t]|\\\r?\n)+%b\b|^[A-Za-z_}*(][^\n]*?\b%b\b|^%b\b|^[ \t]+%b[ \t]*(?:[,=}/(]|\r?$)"
        rb"|^[ \t]+(?:struct|union|enum|extern|static|typedef)\b[^\n;(]*?\b%b\b|^[ \t]+[\w \t*]+\b%b[ \t]*[(;\[=]|[{,][ \t]*%b[ \t]*[,=}]"
        rb"|\*[ \t]*%b\b|^[ \t]*\}[^\n]*\b%b\b" % ((word,) * 9),
        re.MULTILINE,
    )


class _Finder:
    def __init__(self, data: bytes, name: str, path: str) -> None:
        self._data, self._name, self._path = data, name, path
        self._word = re.compile(rb"\b%b\b" % re.escape(name.encode()))
        self._lines: LineIndex | None = None

    def macros(self) -> Iterator[Definition]:
        """Its #defines."""
        code = code_of(self._data)
        head = re.compile(
            rb"^[ \t\x0b]*#[ \t\x0b]*define(?:[ \t\x0b]|\\\r?\n)+(%b)\b" % re.escape(self._name.encode()), re.M
        )
        for found in head.finditer(code):
            directive = DIRECTIVE.match(code, found.start())
            if directive is not None:
                yield self._to_definition(DefinitionKind.MACRO, found.start(1), directive.start(), directive.end())

    def others(self) -> Iterator[Definition]:
        """Everything that is no macro."""
        whole = outline(self._data)
        for occurrence in self._word.finditer(whole.bare):
            group = whole.group_around(occurrence.start())
            if group is not None:
                found = self._inside(whole, group, occurrence)
            else:
                found = self._at_top(whole, occurrence)
            if found is not None:
                yield found

    def made_by(self, maker: NameMaker) -> Iterator[Definition]:
        """What a macro call makes, such as `trace_x` of TRACE_EVENT(x, …)."""
        prefix, _, suffix = maker.template.partition("{}")
        if not (self._name.startswith(prefix) and self._name.endswith(suffix)):
            return
        argument = self._name[len(prefix) : len(self._name) - len(suffix)].encode()
        if not argument or argument not in self._data:
            return
        call = re.compile(
            rb"^[A-Za-z_ \t]*\b(?:%b)\s*\((?:[^,()]*,){%d}\s*(%b)\s*[,)]"
            % (maker.pattern.encode(), maker.argument, re.escape(argument)),
            re.MULTILINE,
        )
        for found in call.finditer(outline(self._data).bare):
            yield self._made(DefinitionKind.FUNCTION, found.start(1), found.start())

    def _made(self, kind: DefinitionKind, at: int, start: int) -> Definition:
        entry = outline(self._data).entry_around(at)
        if entry is not None and (entry.body is None or at < entry.body):
            start, end = min(start, entry.start), entry.end
        else:
            end = self._data.find(b"\n", at) + 1 or len(self._data)
        return self._to_definition(kind, at, start, end)

    def _inside(self, whole: Outline, group: tuple[int, int], occurrence: re.Match[bytes]) -> Definition | None:
        """An enumerator, or a structure inside a structure."""
        bare, start, end = whole.bare, occurrence.start(), occurrence.end()
        tag = _TAG_BEFORE.search(bare, max(group[0], start - 200), start)
        if tag is not None:
            body = _BODY_AFTER.match(bare, end)
            if body is None or _is_function(whole, start):
                return None
            return self._to_definition(_TAGS[tag[1]], start, tag.start(), closing_brace(bare, body.end() - 1) + 1)
        if _ENUMERATOR_AFTER.match(bare, end) is None or _last_byte(bare, start) not in b"{,":
            return None
        open_ = _innermost_brace(bare, group[0], start)
        if open_ is None or _ENUM_HEAD.search(bare, max(0, open_ - 300), open_) is None:
            return None
        entry = whole.entry_around(start)
        if entry is None or entry.body is not None:
            return None
        return self._to_definition(DefinitionKind.ENUMERATOR, start, entry.start, entry.end)

    def _at_top(self, whole: Outline, occurrence: re.Match[bytes]) -> Definition | None:
        entry = whole.entry_around(occurrence.start())
        if entry is None:
            return None
        kind = _kind_at_top(whole, entry, occurrence)
        if kind is None:
            return None
        return self._to_definition(kind, occurrence.start(), entry.start, entry.end, _words(whole, entry, occurrence))

    def _to_definition(
        self, kind: DefinitionKind, at: int, start: int, end: int, words: tuple[str, ...] = ()
    ) -> Definition:
        self._lines = self._lines or LineIndex(self._data)
        return Definition(
            kind=kind,
            name=self._name,
            path=self._path,
            line=self._lines.line(at),
            start=start,
            text=self._data[start:end],
            conditions=conditions_at(self._data, at),
            words=words,
        )


def _kind_at_top(whole: Outline, entry: Entry, occurrence: re.Match[bytes]) -> DefinitionKind | None:
    bare, start, end = whole.bare, occurrence.start(), occurrence.end()
    before = _without_groups(whole, entry.start, start)
    tag = _TAG_BEFORE.search(before)
    if tag is not None:
        return _TAGS[tag[1]] if _BODY_AFTER.match(bare, end) else None
    is_typedef = before.lstrip().startswith((b"typedef", b"__extension__ typedef"))
    named = DefinitionKind.TYPEDEF if is_typedef else DefinitionKind.VARIABLE
    depth = before.count(b"(") - before.count(b")")
    if depth == 1 and _POINTER_BEFORE.search(before):
        if _POINTER_AFTER.match(bare, end):
            return named
        returns_pointer = entry.body is not None or not is_typedef
        return _function_kind(entry) if returns_pointer and bare[end : end + 20].lstrip()[:1] == b"(" else None
    if depth or before.count(b"[") != before.count(b"]") or _is_in_initialiser(before):
        return None
    if bare[end : end + 40].lstrip()[:1] == b"(":
        if not has_type(bare[entry.start : entry.end], start - entry.start):
            return None
        return DefinitionKind.TYPEDEF if is_typedef else _function_kind(entry)
    if entry.body is None and _DECLARATOR_AFTER.match(bare, end) and _declares(before):
        return named
    return None


def _function_kind(entry: Entry) -> DefinitionKind:
    return DefinitionKind.PROTOTYPE if entry.body is None else DefinitionKind.FUNCTION


def _declares(before: bytes) -> bool:
    """Whether a type stands before the declarator (at once, or before an earlier declarator of the same declaration)."""
    return before.rstrip()[-1:] not in (b".", b">") and any(word[0] not in _STORAGE for word in _WORD.finditer(before))


def _is_in_initialiser(before: bytes) -> bool:
    equals = before.rfind(b"=")
    return (
        equals >= 0
        and before.count(b"(", 0, equals) == before.count(b")", 0, equals)
        and (before.rfind(b",") < equals or before.count(b"(", equals) != before.count(b")", equals))
    )


def _without_groups(whole: Outline, start: int, end: int) -> bytes:
    """The bytes of an item up to `end` with what stands in braces left out."""
    parts, cursor = [], start
    for open_, close in whole.groups_between(start, end):
        parts.append(whole.bare[cursor:open_])
        parts.append(b" ")
        cursor = close + 1
    parts.append(whole.bare[cursor:end])
    return b"".join(parts)


def _words(whole: Outline, entry: Entry, occurrence: re.Match[bytes]) -> tuple[str, ...]:
    """The words before the name, and those between its parameters and the body or semicolon."""
    start, end = entry.start, entry.end if entry.body is None else entry.body
    head = whole.bare[start:end]
    before = _without_groups(whole, start, occurrence.start())
    words = [word[0].decode() for word in _WORD.finditer(before)]
    for _, name_start, _, close in parenthesis_groups(head):
        if start + name_start == occurrence.start():
            words += [word[0].decode() for word in _WORD.finditer(head, close + 1)]
            break
    return tuple(words)


def _is_function(whole: Outline, offset: int) -> bool:
    entry = whole.entry_around(offset)
    return entry is not None and entry.body is not None


def _last_byte(bare: bytes, end: int) -> bytes:
    """The last byte before `end` that is no blank."""
    window = 64
    while True:
        text = bare[max(0, end - window) : end].rstrip()
        if text or window >= end:
            return text[-1:] or b" "
        window *= 4


def _innermost_brace(bare: bytes, begin: int, end: int) -> int | None:
    """The last `{` before `end` that is still open."""
    depth = 0
    for token in reversed(list(re.finditer(rb"[{}]", bare[begin:end]))):
        depth += 1 if token[0] == b"}" else -1
        if depth < 0:
            return begin + token.start()
    return None


def closing_brace(bare: bytes, open_: int) -> int:
    """The offset of the `}` that closes the `{` at `open_`, or of the last byte."""
    depth = 0
    for token in re.finditer(rb"[{}]", bare[open_:]):
        depth += 1 if token[0] == b"{" else -1
        if depth == 0:
            return open_ + token.start()
    return len(bare) - 1
