"""Every definition of one name in one file, decided from what stands around each occurrence of the name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.heads import has_type, parenthesis_groups
from reviewbot.csyntax.lexing import DIRECTIVE, code_of, line_of, occurrences
from reviewbot.csyntax.outline import Entry, Outline, outline
from reviewbot.patterns import regex
from reviewbot.rulebook.policy import NameMaker

_ATTRIBUTE = rb"(?:\s*\b__\w+(?:\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?)*"
_TAG_BEFORE = regex(rb"\b(struct|union|enum)" + _ATTRIBUTE + rb"\s*$")
_BODY_AFTER = regex(_ATTRIBUTE + rb"\s*\{")
_DECLARATOR_AFTER = regex(_ATTRIBUTE + rb"\s*(?:[\[=;,]|:\s*\d)")
_POINTER_BEFORE = regex(rb"\(\s*(?:\w+\s+)*\*[\s*]*(?:(?:const|volatile|__\w+)\s+)*$")
_POINTER_AFTER = regex(rb"\s*(?:\[[^\]]*\]\s*)*\)\s*\(")
_ENUMERATOR_AFTER = regex(_ATTRIBUTE + rb"\s*[=,}]")
_ENUM_HEAD = regex(rb"\benum" + _ATTRIBUTE + rb"\s*\w*" + _ATTRIBUTE + rb"\s*$")
_DEFINE_BEFORE = regex(rb"[ \t\x0b]*#[ \t\x0b]*define(?:[ \t\x0b]|\\\r?\n)*")
_NESTED_TAG = regex(rb"(?:\w+\s+)*(?:struct|union|enum)(?:\s+__\w+(?:\(.*\))?)*")
_INDENTED = (b"extern", b"static", b"typedef", b"}")
_AFTER_ENUMERATOR = frozenset((b",", b"=", b"}", b"/", b"\n", b"\r", b""))
_AFTER_DECLARATOR = frozenset((b"(", b"[", b";"))
_PARENTHESIS = regex(rb"[()]")
_WORD = regex(rb"[A-Za-z_]\w*")
_STORAGE = frozenset((b"static", b"extern", b"typedef", b"const", b"volatile", b"register", b"inline"))
_TAGS = {b"struct": DefinitionKind.STRUCT, b"union": DefinitionKind.UNION, b"enum": DefinitionKind.ENUM}


def find_definitions(data: bytes, name: str, path: str, makers: Sequence[NameMaker] = ()) -> tuple[Definition, ...]:
    """Every definition and declaration of `name` in the file, in order, in all #if branches.

    Calls, comments, literals, members, parameters and locals do not count. `makers` are the macros that make names.
    """
    finder = _Finder(data, name, path)
    found = [each for maker in makers for each in finder.made_by(maker)]
    places = [at for at in occurrences(data, finder.word) if _may_define_at(data, at, at + len(finder.word))]
    if places:
        found += finder.macros()
    if not all(_is_in_directive(data, at) for at in places):
        found += finder.others()
    return tuple(sorted(found, key=lambda each: (each.line, each.start)))


def find_macros(data: bytes, name: str, path: str) -> tuple[Definition, ...]:
    """Its #defines alone, which need no outline."""
    return tuple(_Finder(data, name, path).macros()) if may_define(data, name) else ()


def may_define(data: bytes, name: str) -> bool:
    """Whether the name occurs where a definition may stand; cheap, and true too often rather than too seldom."""
    word = name.encode()
    return any(_may_define_at(data, at, at + len(word)) for at in occurrences(data, word))


def _may_define_at(data: bytes, start: int, end: int) -> bool:
    """Judged by the line and the one before it: most uses of a common name are ruled out without an outline."""
    line = data.rfind(b"\n", 0, start) + 1
    before = data[line:start]
    stripped = before.strip()
    if stripped.startswith(b"#"):
        return _DEFINE_BEFORE.fullmatch(stripped) is not None
    if before[:1] not in (b" ", b"\t"):  # in parentheses only behind a `*`: `int (*name)(void)`
        return before.count(b"(") <= before.count(b")") or b"(*" in before.replace(b" ", b"")
    after = data[end : end + 80].lstrip(b" \t")[:1]
    if stripped in (b"", b"*", b"**"):
        return after in _AFTER_ENUMERATOR or (after in _AFTER_DECLARATOR and _is_type_line(data, line))
    if stripped.endswith((b"{", b",")):
        return after in _AFTER_ENUMERATOR and b"(" not in stripped
    return stripped.startswith(_INDENTED) or _is_hardly_indented(before) or _NESTED_TAG.fullmatch(stripped) is not None


def _is_in_directive(data: bytes, offset: int) -> bool:
    return data[data.rfind(b"\n", 0, offset) + 1 : offset].lstrip().startswith(b"#")


def _is_type_line(data: bytes, line: int) -> bool:
    """Whether the line before is the beginning of a declaration that goes on: a type in column 0."""
    previous = data[data.rfind(b"\n", 0, max(0, line - 1)) + 1 : line].rstrip()
    return (previous[:1].isalpha() and previous[-1:] not in (b";", b"{", b"}", b":", b"\\")) or previous[:1] == b"_"


def _is_hardly_indented(before: bytes) -> bool:
    """Some files indent what stands below an #if by a blank or two."""
    return before[:1] == b" " and before[1:2] not in (b"*", b"\t", b"/") and before[:3] != b"   " and b"(" not in before


class _Finder:
    def __init__(self, data: bytes, name: str, path: str) -> None:
        self._data, self._name, self._path = data, name, path
        self.word = name.encode()

    def macros(self) -> Iterator[Definition]:
        """Its #defines."""
        code = code_of(self._data)
        for start in occurrences(code, self.word):
            line = code.rfind(b"\n", 0, start) + 1
            if line == start:  # `#define \`, and the name on the next line
                line = code.rfind(b"\n", 0, max(0, line - 1)) + 1
            directive = DIRECTIVE.match(code, line) if _DEFINE_BEFORE.fullmatch(code, line, start) else None
            if directive is not None:
                yield self._to_definition(DefinitionKind.MACRO, start, directive.start(), directive.end())

    def others(self) -> Iterator[Definition]:
        """Everything that is no macro."""
        whole = outline(self._data)
        for start in occurrences(whole.bare, self.word):
            group = whole.group_around(start)
            end = start + len(self.word)
            found = self._at_top(whole, start, end) if group is None else self._inside(whole, group, start, end)
            if found is not None:
                yield found

    def made_by(self, maker: NameMaker) -> Iterator[Definition]:
        """What a macro call makes, such as `trace_x` of TRACE_EVENT(x, …)."""
        prefix, _, suffix = maker.template.partition("{}")
        if not (self._name.startswith(prefix) and self._name.endswith(suffix)):
            return
        argument = self._name[len(prefix) : len(self._name) - len(suffix)].encode()
        if not argument:
            return
        call = _call_before(maker.pattern, maker.argument)
        for start in occurrences(self._data, argument):
            head = call.search(self._data, max(0, start - 200), start)
            after = self._data[start + len(argument) : start + len(argument) + 40].lstrip()[:1]
            if head is not None and after in (b",", b")") and outline(self._data).bare[start : start + 1].strip():
                made = self._made(DefinitionKind.FUNCTION, start, head.start())
                yield replace(made, words=tuple(dict.fromkeys((*made.words, *maker.words))))

    def _made(self, kind: DefinitionKind, at: int, start: int) -> Definition:
        entry = outline(self._data).entry_around(at)
        if entry is not None and (entry.body is None or at < entry.body):
            start, end = min(start, entry.start), entry.end
        else:
            end = self._data.find(b"\n", at) + 1 or len(self._data)
        return self._to_definition(kind, at, start, end)

    def _inside(self, whole: Outline, group: tuple[int, int], start: int, end: int) -> Definition | None:
        """An enumerator, or a structure inside a structure."""
        bare = whole.bare
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
        if bare.count(b"(", open_, start) != bare.count(b")", open_, start):
            return None
        entry = whole.entry_around(start)
        if entry is None or entry.body is not None:
            return None
        return self._to_definition(DefinitionKind.ENUMERATOR, start, entry.start, entry.end)

    def _at_top(self, whole: Outline, start: int, end: int) -> Definition | None:
        entry = whole.entry_around(start)
        if entry is None:
            return None
        kind = _kind_at_top(whole, entry, start, end)
        if kind is None:
            return None
        return self._to_definition(kind, start, entry.start, entry.end, _words(whole, entry, start))

    def _to_definition(
        self, kind: DefinitionKind, at: int, start: int, end: int, words: tuple[str, ...] = ()
    ) -> Definition:
        return Definition(
            kind=kind,
            name=self._name,
            path=self._path,
            line=line_of(self._data, at),
            start=start,
            text=self._data[start:end],
            conditions=conditions_at(self._data, at),
            words=words,
        )


def _kind_at_top(whole: Outline, entry: Entry, start: int, end: int) -> DefinitionKind | None:
    bare = whole.bare
    before = _without_groups(whole, entry.start, start)
    tag = _TAG_BEFORE.search(before)
    if tag is not None:
        body = _BODY_AFTER.match(bare, end)  # for `enum e __f(void) {` it is the body of a function
        return _TAGS[tag[1]] if body is not None and body.end() - 1 != entry.body else None
    is_typedef = before.lstrip().startswith((b"typedef", b"__extension__ typedef"))
    named = DefinitionKind.TYPEDEF if is_typedef else DefinitionKind.VARIABLE
    depth = _open_parentheses(before)
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


def _open_parentheses(before: bytes) -> int:
    """How many parentheses are open at the end; -1 if the bytes begin inside some (a macro call with statements)."""
    depth = 0
    for token in _PARENTHESIS.finditer(before):
        depth += 1 if token[0] == b"(" else -1
        if depth < 0:
            return -1
    return depth


def _function_kind(entry: Entry) -> DefinitionKind:
    return DefinitionKind.PROTOTYPE if entry.body is None else DefinitionKind.FUNCTION


def _declares(before: bytes) -> bool:
    """Whether a type stands before the declarator (or before an earlier one of the same declaration)."""
    if not any(word[0] not in _STORAGE for word in _WORD.finditer(before)):
        return False
    return has_type(before, len(before)) or b"," in before[before.rfind(b")") :]


def _is_in_initialiser(before: bytes) -> bool:
    equals = before.rfind(b"=")
    return (
        equals >= 0
        and before.count(b"(", 0, equals) == before.count(b")", 0, equals)
        and (before.rfind(b",") < equals or before.count(b"(", equals) != before.count(b")", equals))
    )


def _without_groups(whole: Outline, start: int, end: int) -> bytes:
    """The bytes of an item up to `end` with what stands in braces left out, the braces kept."""
    parts, cursor = [], start
    for open_, close in whole.groups_between(start, end):
        parts.append(whole.bare[cursor:open_])
        parts.append(b" {} ")  # marks that a body stood here: `struct {…} name` is not `struct name`
        cursor = close + 1
    parts.append(whole.bare[cursor:end])
    return b"".join(parts)


def _words(whole: Outline, entry: Entry, name_start: int) -> tuple[str, ...]:
    """The words before the name, and those between its parameters and the body or semicolon."""
    head = whole.bare[entry.start : entry.end if entry.body is None else entry.body]
    before = _without_groups(whole, entry.start, name_start)
    words = [word[0].decode() for word in _WORD.finditer(before)]
    for _, start, _, close in parenthesis_groups(head):
        if entry.start + start == name_start:
            words += [word[0].decode() for word in _WORD.finditer(head, close + 1)]
            break
    return tuple(words)


@lru_cache(maxsize=64)
def _call_before(pattern: str, argument: int) -> re.Pattern[bytes]:
    """A call of a macro up to its argument of that index, at the beginning of a line."""
    return re.compile(rb"^[A-Za-z_ \t]*\b(?:%b)\s*\((?:[^,()]*,){%d}\s*\Z" % (pattern.encode(), argument), re.MULTILINE)


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
