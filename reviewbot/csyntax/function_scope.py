"""Parameters and local declarations of one function, and which of them a name means at an offset.

Only statement starts are looked at, by regular expression; a declaration is read when somebody asks for one of
its names.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache

from reviewbot.csyntax.abi import AGGREGATES, BASIC_KEYWORDS, QUALIFIERS, STATEMENTS, STORAGE, TYPEOF
from reviewbot.csyntax.c_declarations import NotADeclarationError, parse_declaration
from reviewbot.csyntax.c_tokens import Tokens, is_identifier, matching, split_at, tokenise
from reviewbot.csyntax.c_types import Array, CType, Declared, Function, Pointer, Record
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.patterns import regex
from reviewbot.rulebook.policy import Words
from reviewbot.rulebook.types import TypeTable, shipped_types, types_with
from reviewbot.values import dataclass

MAX_DECLARATION_BYTES = 20_000

_KEYWORD = "|".join(sorted(BASIC_KEYWORDS | QUALIFIERS | AGGREGATES | TYPEOF | STORAGE | {"__auto_type"}))
_NOT_A_TYPE = "|".join(sorted(STATEMENTS))
_DECLARATION = regex(
    rf"""\s*(?:
        (?:{_KEYWORD})\b
      | (?!(?:{_NOT_A_TYPE})\b)[A-Za-z_]\w*
        (?: \s*\*[\s*]*(?:(?:const|volatile|__\w+)\s+)*[A-Za-z_]\w*\s*(?:[=;,\[]|__\w+)
          | \s+(?:[A-Za-z_]\w*[\s*]+)*[A-Za-z_]\w*\s*[=;,\[] 
          | \s*\(\s*\*+\s*\w+ )
    )""".encode(),
    re.VERBOSE,
)
_MACRO_CALL = regex(rb"\s*([A-Z_]\w*)\s*\(\s*([A-Za-z_]\w*)\s*[,)]")
_MARK = regex(rb"[{};]|\bfor\s*\(|^[ \t]*\#(?:\\\n|[^\n])*", re.MULTILINE)
_STATEMENT_MARKS = regex(rb"[(){}\[\];]")
_CONDITIONAL = regex(rb"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b")


@dataclass(frozen=True, slots=True)
class Local:
    """A declaration of a name: it holds from `start` (its own offset) to `end`, the end of its block.
    `is_parameter`: its value comes from the caller.
    """

    declared: Declared
    start: int
    end: int
    is_parameter: bool = False


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement that looks like a declaration, not yet read."""

    start: int
    end: int
    block_end: int


@dataclass(slots=True)
class FunctionScope:
    """The names of one function. Offsets are those of the text it was made from."""

    source: bytes
    text: bytes  # the source without comments and without what stands in literals
    table: TypeTable
    _parameters: tuple[Local, ...] = ()
    _body: int = 0
    _statements: list[_Statement] | None = None
    _read: dict[_Statement, tuple[Declared, ...]] = field(default_factory=dict)
    _known: dict[str, list[Local]] = field(default_factory=dict)

    @classmethod
    def from_text(cls, function_text: bytes, words: Words | None = None) -> FunctionScope:
        """The scope of a function given with its head. Comments need not be blanked; `words` are those of the
        rulebook, by default of the rules that come with reviewbot. Never fails: what is no declaration declares
        nothing.
        """
        table = shipped_types() if words is None else types_with(words)
        text = blank_comments(function_text, literals=True)
        body = _body_start(text)
        return cls(function_text, text, table, _read_parameters(text[:body], table), body)

    @classmethod
    def empty(cls) -> FunctionScope:
        """The scope at file level."""
        return cls(b"", b"", shipped_types())

    def locals_named(self, name: str, at: int) -> tuple[Local, ...]:
        """The declarations that `name` may mean at an offset: those of the innermost block that has one
        (several only under #if), else the parameter; empty if it is no local name.
        """
        if name not in self._known:
            self._known[name] = self._find(name)
        visible = [local for local in self._known[name] if local.start <= at < local.end]
        if visible:
            innermost = min(local.end for local in visible)
            return tuple(local for local in visible if local.end == innermost)
        return tuple(local for local in self._parameters if local.declared.name == name)

    def record(self, keyword: str, tag: str, at: int) -> Record | None:
        """The body of a struct or union that the function itself defines."""
        for statement in self._mentioning(tag):
            if statement.start > at:
                continue
            for declared in self._declarations(statement):
                ctype = declared.type
                if (
                    isinstance(ctype, Record)
                    and (ctype.keyword, ctype.tag) == (keyword, tag)
                    and ctype.body is not None
                ):
                    return ctype
        return None

    def macro_declaring(self, name: str, at: int) -> Tokens | None:
        """The macro call at a statement start whose first argument is `name` (`DECLARE_BITMAP(name, 8)`), if
        one is there.
        """
        for statement in self._all():
            if statement.start <= at < statement.block_end:
                match = _MACRO_CALL.match(self.text, statement.start)
                if match and match[2].decode() == name:
                    return tokenise(self.source[statement.start : statement.end])
        return None

    def is_modified(self, local: Local) -> bool:
        """Whether the function may change the variable after its declaration: assigned, stepped, or its address
        taken.
        """
        name = re.escape(local.declared.name.encode())
        changes = re.compile(
            rb"(?<![\w.>])%b\s*(?:=(?!=)|[-+*/%%&|^]=|<<=|>>=|\+\+|--)|(?:\+\+|--|(?<!&)&)\s*%b\b|\[%b\]"
            % (name, name, name)
        )
        end = self._end_of(local.start)
        return changes.search(self.text, end, local.end) is not None

    def _end_of(self, start: int) -> int:
        return next((each.end for each in self._all() if each.start == start), start)

    def _find(self, name: str) -> list[Local]:
        return [
            Local(declared, statement.start, statement.block_end)
            for statement in self._mentioning(name)
            for declared in self._declarations(statement)
            if declared.name == name and not declared.is_typedef
        ]

    def _mentioning(self, name: str) -> list[_Statement]:
        word = re.compile(rb"\b%b\b" % re.escape(name.encode("latin-1", "replace")))
        return [each for each in self._all() if word.search(self.text, each.start, each.end)]

    def _declarations(self, statement: _Statement) -> tuple[Declared, ...]:
        if _DECLARATION.match(self.text, statement.start) is None:
            return ()  # a macro call, `WARN_ON(x);` declares no x
        if statement not in self._read:
            self._read[statement] = _read_declaration(self.source[statement.start : statement.end], self.table)
        return self._read[statement]

    def _all(self) -> list[_Statement]:
        if self._statements is None:
            self._statements = _scan(self.text, self._body)
        return self._statements


def _read_declaration(text: bytes, table: TypeTable) -> tuple[Declared, ...]:
    if len(text) > MAX_DECLARATION_BYTES:
        return ()
    try:
        return parse_declaration(tokenise(text), table)
    except NotADeclarationError:
        return ()


def _body_start(text: bytes) -> int:
    """The offset of the `{` of the body: the first one that no parenthesis holds."""
    depth = 0
    for mark in _STATEMENT_MARKS.finditer(text):
        depth += (mark[0] in b"([") - (mark[0] in b")]")
        if mark[0] == b"{" and depth <= 0:
            return mark.start()
    return len(text)


def _scan(text: bytes, body: int) -> list[_Statement]:
    """Statements that look like declarations, with the end of the block they stand in."""
    found: list[tuple[int, int, int]] = []  # start, end, index of the block
    block_ends: list[int] = [len(text)]
    open_blocks = [0]
    before_if: list[list[int]] = []
    loops: list[_Statement] = []
    position = body
    while (mark := _MARK.search(text, position)) is not None:
        position = mark.end()
        token = mark[0]
        if token == b"{":
            block_ends.append(len(text))
            open_blocks.append(len(block_ends) - 1)
        elif token == b"}" and len(open_blocks) > 1:
            block_ends[open_blocks.pop()] = mark.start()
        elif (directive := _CONDITIONAL.match(token)) is not None:
            open_blocks = _after_directive(directive[1], open_blocks, before_if)
        if token.startswith(b"for"):
            loops += _loop_declaration(text, mark.end())
        elif (end := _declaration_end(text, position)) is not None:
            found.append((_first(text, position), end, open_blocks[-1]))
            position = end
    statements = [_Statement(start, end, block_ends[block]) for start, end, block in found]
    return sorted([*statements, *loops], key=lambda each: each.start)


def _after_directive(word: bytes, open_blocks: list[int], before_if: list[list[int]]) -> list[int]:
    """The open blocks behind a directive: each branch of an #if begins with those before it (`} #else }` is one
    `}`).
    """
    if word.startswith(b"if"):
        before_if.append(list(open_blocks))
    elif word.startswith(b"el") and before_if:
        return list(before_if[-1])
    elif word == b"endif" and before_if:
        before_if.pop()
    return open_blocks


def _first(text: bytes, position: int) -> int:
    while text[position : position + 1].isspace():
        position += 1
    return position


def _declaration_end(text: bytes, position: int) -> int | None:
    """The offset of the `;` if a declaration, or a macro call that may be one, begins here."""
    if _DECLARATION.match(text, position) is None and _MACRO_CALL.match(text, position) is None:
        return None
    return _statement_end(text, position)


def _statement_end(text: bytes, position: int) -> int | None:
    depth = 0
    for mark in _STATEMENT_MARKS.finditer(text, position):
        if mark[0] == b";" and depth == 0:
            return mark.start()
        depth += (mark[0] in b"([{") - (mark[0] in b")]}")
        if depth < 0:
            return None
    return None


def _loop_declaration(text: bytes, position: int) -> list[_Statement]:
    """`for (int i = 0; …) statement`: the name holds to the end of the statement."""
    if _DECLARATION.match(text, position) is None:
        return []
    end = _statement_end(text, position)
    if end is None:
        return []
    depth = 1
    for mark in _STATEMENT_MARKS.finditer(text, position):
        depth += (mark[0] in b"([{") - (mark[0] in b")]}")
        if (
            depth == 0 and mark.start() > end and mark[0] in b"};" and text[mark.start() : mark.start() + 1] != b")"
        ) or depth < 0:
            return [_Statement(_first(text, position), end, mark.end())]
    return [_Statement(_first(text, position), end, len(text))]


def _read_parameters(head: bytes, table: TypeTable) -> tuple[Local, ...]:
    """The parameters of a head, arrays as the pointers that they are; also of `DEFINER(name, type, parameter, …)`."""
    tokens = tuple(token for token in tokenise(head) if not token.startswith("#"))
    found: dict[str, Local] = {}
    for name, arguments in _parameter_lists(tokens, table):
        leading = dict(table.words.definers).get(name)
        pieces = split_at(arguments, ",")
        if leading is not None:
            rest = pieces[leading:]
            paired = [(*rest[i], *rest[i + 1]) for i in range(0, len(rest) - 1, 2)]
            pieces = paired if any(len(piece) == 1 for piece in rest[1::2]) else rest
        for piece in pieces:
            for declared in _read_parameter(piece, table):
                found.setdefault(declared.name, Local(declared, 0, len(head), is_parameter=True))
    return tuple(found.values())


def _parameter_lists(tokens: Tokens, table: TypeTable) -> list[tuple[str, Tokens]]:
    """(word before it, its tokens) for each parenthesis of a head that may hold parameters; several only under #if."""
    found = []
    index = 0
    while index < len(tokens):
        if tokens[index] == "(" and (end := matching(tokens, index)) is not None:
            before = tokens[index - 1] if index else ""
            if (
                is_identifier(before) and not table.is_annotation(before) and not before.startswith("__attribute")
            ) or before == ")":
                found.append((before, tokens[index + 1 : end]))
            index = end + 1
        else:
            index += 1
    return found


def _read_parameter(tokens: Tokens, table: TypeTable) -> tuple[Declared, ...]:
    try:
        declared = parse_declaration(tokens, table) if len(tokens) > 1 else ()
    except NotADeclarationError:
        return ()
    return tuple(
        Declared(name=each.name, type=_as_parameter(each.type), is_const=each.is_const)
        for each in declared
        if each.name
    )


def _as_parameter(ctype: CType) -> CType:
    match ctype:
        case Array():
            return Pointer(to=ctype.of)
        case Function():
            return Pointer(to=ctype)
    return ctype


@lru_cache(maxsize=512)
def scope_of(function_text: bytes) -> FunctionScope:
    """FunctionScope.from_text() with the rules that come with reviewbot, kept for the functions in work."""
    return FunctionScope.from_text(function_text)
