"""Tokens -> declarations and type names: a recursive-descent reader of C's declarators that steps over kernel
annotations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from reviewbot.csyntax.abi import AGGREGATES, BASIC_KEYWORDS, QUALIFIERS, STORAGE, TYPEOF, basic_type
from reviewbot.csyntax.annotations import ATTRIBUTES, AnnotationReader, NotADeclarationError
from reviewbot.csyntax.c_tokens import Tokens, is_identifier, matching, split_at, tokenise
from reviewbot.csyntax.c_types import (
    NATURAL,
    Alignment,
    Array,
    Basic,
    CType,
    Declared,
    Enumeration,
    Function,
    Named,
    Odd,
    Pointer,
    Realigned,
    Record,
    Typeof,
    Void,
)
from reviewbot.csyntax.literals import string_bytes
from reviewbot.rulebook.types import TypeTable

__all__ = ["NotADeclarationError", "parse_declaration", "parse_text", "parse_type"]

MAX_NESTING = 60
"""Declarators deeper than this are refused; the deepest in the kernel has four levels."""

_CONST = frozenset({"const", "__const", "__const__"})
_Wrap = Callable[[CType], CType]


@lru_cache(maxsize=8192)
def parse_declaration(tokens: Tokens, table: TypeTable) -> tuple[Declared, ...]:
    """The names that one declaration (without its `;`) declares; one with an empty name for `struct {…}` alone.
    `table` says which words are annotations. Raises NotADeclarationError.
    """
    return _Reader(tokens, table).declaration()


@lru_cache(maxsize=4096)
def parse_type(tokens: Tokens, table: TypeTable) -> CType:
    """The type that a type name (what stands in a cast or in sizeof) means. Raises NotADeclarationError."""
    reader = _Reader(tokens, table)
    declared = reader.declaration()
    if len(declared) != 1 or declared[0].name or declared[0].initialiser is not None:
        raise NotADeclarationError("no type name")
    return declared[0].type


def parse_text(text: bytes, table: TypeTable) -> tuple[Declared, ...]:
    """Like parse_declaration, for the text of a definition with or without its `;`."""
    tokens = tokenise(text)
    end = len(tokens) - 1 if tokens and tokens[-1] == ";" else len(tokens)
    return parse_declaration(tokens[:end], table)


class _Reader(AnnotationReader):
    def declaration(self) -> tuple[Declared, ...]:
        base = self._specifiers()
        shared, self._alignment = self._alignment, NATURAL
        is_const = self._is_const
        found = []
        while True:
            self._is_const = is_const
            found.append(self._declarator(base, shared))
            if self._peek() != ",":
                break
            self._at += 1
        if self._at < len(self._tokens):
            raise NotADeclarationError(f"stray {self._peek()!r}")
        return tuple(found)

    def _declarator(self, base: CType, shared: Alignment) -> Declared:
        name, wrap, is_pointer = self._direct()
        if is_pointer:
            self._is_const = self._is_pointer_const
        ctype = wrap(base)
        self._skip_annotations()
        width = self._take_until(("=", ",")) if self._accept(":") else None
        self._skip_annotations()
        initialiser = self._take_until((",",)) if self._accept("=") else None
        if isinstance(ctype, Array) and ctype.bound is None and initialiser:
            ctype = Array(of=ctype.of, bound=_bound_of(initialiser))
        own, self._alignment = self._alignment, NATURAL
        alignment = Alignment(packed=shared.packed or own.packed, aligned=shared.aligned + own.aligned)
        if self._odd:
            ctype = Odd(why=self._odd)
        if alignment and self._is_typedef:
            ctype, alignment = Realigned(of=ctype, alignment=alignment), NATURAL
        return Declared(
            name=name,
            type=ctype,
            is_const=self._is_const,
            is_typedef=self._is_typedef,
            initialiser=initialiser,
            width=width,
            alignment=alignment,
        )

    def _specifiers(self) -> CType:
        keywords: list[str] = []
        found: CType | None = None
        while (token := self._peek()) is not None:
            if token in QUALIFIERS or token in STORAGE:
                self._is_const |= token in _CONST
                self._is_typedef |= token == "typedef"
                self._at += 1
            elif token in BASIC_KEYWORDS:
                keywords.append(token)
                self._at += 1
            elif token in AGGREGATES:
                self._at += 1
                found = self._aggregate(token)
            elif token in TYPEOF:
                self._at += 1
                found = Typeof(operand=self._parenthesised())
            elif self._skip_annotation():
                continue
            elif is_identifier(token) and not keywords and found is None:
                self._at += 1
                if self._is_annotation_before_type(token):
                    continue
                found = Named(name=token)
            elif is_identifier(token) and self._is_word_before_declarator():
                self._at += 1
            else:
                break
        return self._finished(found, keywords)

    def _finished(self, found: CType | None, keywords: list[str]) -> CType:
        if keywords and found is None:
            basic = basic_type(keywords)
            if basic is None:
                raise NotADeclarationError("no such type")
            return Void() if basic == "void" else Basic(name=basic)
        if found is None or keywords:
            raise NotADeclarationError("no type")
        if isinstance(found, Record) and found.body is not None and self._alignment:
            alignment, self._alignment = self._alignment, NATURAL
            both = Alignment(
                packed=found.alignment.packed or alignment.packed, aligned=found.alignment.aligned + alignment.aligned
            )
            return Record(keyword=found.keyword, tag=found.tag, body=found.body, alignment=both)
        if isinstance(found, Enumeration) and found.body is not None and self._alignment.packed:
            return Enumeration(tag=found.tag, body=found.body, packed=True)
        return found

    def _aggregate(self, keyword: str) -> CType:
        outer, self._alignment = self._alignment, NATURAL
        while self._skip_annotation():
            pass
        tag = ""
        token = self._peek()
        if token is not None and is_identifier(token):
            tag, self._at = token, self._at + 1
            while self._skip_annotation():
                pass
        body = None
        if self._peek() == "{":
            end = matching(self._tokens, self._at)
            if end is None:
                raise NotADeclarationError("a brace is missing")
            body = self._tokens[self._at + 1 : end]
            self._at = end + 1
        elif not tag:
            raise NotADeclarationError("a tag is missing")
        own, self._alignment = self._alignment, outer
        if keyword == "enum":
            return Enumeration(tag=tag, body=body, packed=own.packed)
        return Record(keyword=keyword, tag=tag, body=body, alignment=own)

    _is_pointer_const = False

    def _direct(self) -> tuple[str, _Wrap, bool]:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise NotADeclarationError("nested too deeply")
        stars = self._pointers()
        name = ""
        inner: _Wrap = _same
        is_pointer = stars > 0
        token = self._peek()
        if token == "(" and self._is_nested_declarator():
            self._at += 1
            name, inner, nested = self._direct()
            is_pointer |= nested
            if not self._accept(")"):
                raise NotADeclarationError("a parenthesis is missing")
        elif token is not None and is_identifier(token):
            name, self._at = token, self._at + 1
        suffixes = self._suffixes()
        self._depth -= 1

        def wrap(base: CType) -> CType:
            for _ in range(stars):
                base = Pointer(to=base)
            for bound in reversed(suffixes):
                base = Function(returns=base) if bound == _CALL else Array(of=base, bound=bound)
            return inner(base)

        return name, wrap, is_pointer

    def _pointers(self) -> int:
        stars = 0
        while (token := self._peek()) is not None:
            if token == "*":
                stars += 1
                self._is_pointer_const = False
            elif token in QUALIFIERS:
                self._is_pointer_const |= token in _CONST
            elif self._skip_annotation():
                continue
            elif not (stars and is_identifier(token) and self._is_word_before_declarator()):
                break
            self._at += 1
        return stars

    def _suffixes(self) -> list[Tokens | None]:
        found: list[Tokens | None] = []
        while self._peek() in ("[", "("):
            end = matching(self._tokens, self._at)
            if end is None:
                raise NotADeclarationError("a bracket is missing")
            inside = self._tokens[self._at + 1 : end]
            found.append(_CALL if self._peek() == "(" else inside or None)
            self._at = end + 1
        return found

    def _is_nested_declarator(self) -> bool:
        """Whether the `(` begins a declarator in parentheses and not a list of parameters."""
        following = self._peek(1)
        if following is None or following in (")", "void"):
            return False
        return (
            following in ("*", "(", "[") or following in self._table.words.annotations or self._is_name_in_parentheses()
        )

    def _is_name_in_parentheses(self) -> bool:
        return self._peek(2) == ")" and self._peek(3) in (None, "[", "(", "=", ";", ",") and self._at > 0

    def _is_word_before_declarator(self) -> bool:
        """Whether an identifier that comes after the type is an annotation: the declarator still follows."""
        following = self._peek(1)
        return following is not None and (
            following == "*"
            or (is_identifier(following) and following not in ATTRIBUTES and not self._table.is_annotation(following))
        )

    def _is_annotation_before_type(self, word: str) -> bool:
        """Whether a word in front of the type is an unlisted annotation: a keyword of a type follows, as in
        `__foo int x`.
        """
        following = self._peek()
        if following is None or word in self._table.fixed_width:
            return False
        return following in BASIC_KEYWORDS or following in AGGREGATES or following in self._table.fixed_width


_CALL: Tokens = ("()",)


def _same(base: CType) -> CType:
    return base


def _bound_of(initialiser: Tokens) -> Tokens | None:
    """The bound of `x[] = initialiser` where counting is safe: a string, or a list without designators."""
    if all(token.endswith('"') for token in initialiser):
        size = string_bytes(initialiser)
        return None if size is None else (str(size),)
    if initialiser[0] != "{":
        return None
    entries = [piece for piece in split_at(initialiser[1:-1], ",") if piece]
    if any(piece[0] in ("[", "#") or piece[0].startswith("#") for piece in entries) or not entries:
        return None
    return (str(len(entries)),)
