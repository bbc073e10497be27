"""Steps over kernel annotations and attributes in a declaration, and keeps what they say about layout."""

from __future__ import annotations

from reviewbot.csyntax.abi import AGGREGATES
from reviewbot.csyntax.c_tokens import Tokens, is_identifier, matching, split_at
from reviewbot.csyntax.c_types import (
    NATURAL,
    Alignment,
)
from reviewbot.rulebook.types import TypeTable

ATTRIBUTES = frozenset({"__attribute__", "__attribute", "_Alignas", "__declspec"})


class NotADeclarationError(ValueError):
    """The tokens are no declaration, or one that this reader does not understand."""


class AnnotationReader:
    """A position in the tokens of a declaration."""

    def __init__(self, tokens: Tokens, table: TypeTable) -> None:
        self._tokens = tokens
        self._at = 0
        self._table = table
        self._alignment = NATURAL
        self._odd = ""
        self._depth = 0
        self._is_const = False
        self._is_typedef = False

    def _skip_annotations(self) -> None:
        while self._skip_annotation() or self._skip_unknown_word():
            pass

    def _skip_unknown_word(self) -> bool:
        """Behind a declarator any other word is an annotation, with its arguments if it has some
        (`__counted_by(n)`).
        """
        token = self._peek()
        if token is None or not is_identifier(token) or self._at == 0 or self._tokens[self._at - 1] in AGGREGATES:
            return False
        if self._peek(1) == "{" or self._tokens[self._at - 1] == ":":
            return False
        self._at += 1
        if self._peek() == "(":
            self._parenthesised()
        return True

    def _skip_annotation(self) -> bool:
        """Steps over one annotation and keeps what it says about layout."""
        token = self._peek()
        if token is None:
            return False
        table = self._table
        if token in ATTRIBUTES:
            self._at += 1
            self._attribute(self._parenthesised())
        elif token in table.packed:
            self._at += 1
            self._align(packed=True)
        elif token in table.aligned:
            self._at += 1
            self._align(aligned=self._parenthesised() if self._peek() == "(" else ())
        elif token in table.words.annotations:
            self._at += 1
        elif token in table.words.attributes_with_arguments and self._peek(1) == "(":
            self._at += 1
            self._parenthesised()
        else:
            return False
        return True

    def _attribute(self, tokens: Tokens) -> None:
        if len(tokens) > 1 and tokens[0] == "(" and tokens[-1] == ")":
            tokens = tokens[1:-1]
        for piece in split_at(tokens, ","):
            word = piece[0].strip("_") if piece else ""
            if word == "packed":
                self._align(packed=True)
            elif word == "aligned":
                self._align(aligned=piece[2:-1])
            elif word in ("mode", "vector_size", "scalar_storage_order"):
                self._odd = f"attribute {word}"

    def _align(self, *, packed: bool = False, aligned: Tokens | None = None) -> None:
        more = () if aligned is None else (aligned,)
        self._alignment = Alignment(packed=self._alignment.packed or packed, aligned=self._alignment.aligned + more)

    def _peek(self, ahead: int = 0) -> str | None:
        index = self._at + ahead
        return self._tokens[index] if index < len(self._tokens) else None

    def _accept(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._at += 1
        return True

    def _parenthesised(self) -> Tokens:
        end = matching(self._tokens, self._at) if self._peek() == "(" else None
        if end is None:
            raise NotADeclarationError("a parenthesis is missing")
        inside = self._tokens[self._at + 1 : end]
        self._at = end + 1
        return inside

    def _take_until(self, stops: tuple[str, ...]) -> Tokens:
        start, depth = self._at, 0
        while (token := self._peek()) is not None and (depth or token not in stops):
            depth += (token in "([{") - (token in ")]}")
            self._at += 1
        return self._tokens[start : self._at]
