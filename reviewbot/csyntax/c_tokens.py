"""C text -> a flat tuple of token strings: comments gone, a preprocessor line kept as one token that begins
with `#`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from reviewbot.patterns import regex

Tokens = tuple[str, ...]

MAX_TEXT_BYTES = 400_000
"""Longer pieces of text are not C that somebody wrote by hand; they read as no tokens."""

_COMMENT = r"/\*.*?(?:\*/|\Z)|//(?:[^\n\\]|\\.)*"
_LITERAL = r"""(?:L|u8|u|U)?\"(?:\\.|[^\"\\])*\"|(?:L|u|U)?'(?:\\.|[^'\\\n])*'"""
_TOKEN = regex(
    rf"""
    ({_LITERAL}
      | \.?[0-9](?:[eEpP][+-]|[\w.])*
      | [A-Za-z_$][\w$]*
      | \.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\#\#|[-+*/%&|^]=
      | \S)
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = regex(r"^[ \t]*\#(?:\\\n|[^\n])*", re.MULTILINE)
_COMMENT_OR_LITERAL = regex(f"({_COMMENT})|{_LITERAL}", re.DOTALL)
_IDENTIFIER = regex(r"[A-Za-z_$][\w$]*")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


def tokenise(text: bytes | str) -> Tokens:
    """The tokens of `text`. Never fails: a character that C does not know is a token of its own."""
    if len(text) > MAX_TEXT_BYTES:
        return ()
    return _tokenise(text if isinstance(text, str) else text.decode("latin-1"))


@lru_cache(maxsize=4096)
def _tokenise(text: str) -> Tokens:
    if "#" in text or "/*" in text or "//" in text:
        text = without_comments(text)
    if "#" not in text:
        return tuple(_TOKEN.findall(text.replace("\\\n", "  ")))
    tokens: list[str] = []
    position = 0
    for directive in _DIRECTIVE.finditer(text):
        tokens += _TOKEN.findall(text[position : directive.start()].replace("\\\n", "  "))
        tokens.append(" ".join(directive.group().replace("\\\n", " ").split()))
        position = directive.end()
    return (*tokens, *_TOKEN.findall(text[position:].replace("\\\n", "  ")))


def without_comments(text: str) -> str:
    """Comments become one blank, or as many line ends as they had."""
    return _COMMENT_OR_LITERAL.sub(_blank_comment, text)


def _blank_comment(match: re.Match[str]) -> str:
    return "\n" * match[1].count("\n") or " " if match[1] is not None else match[0]


def is_identifier(token: str) -> bool:
    return _IDENTIFIER.fullmatch(token) is not None


def matching(tokens: Tokens, start: int) -> int | None:
    """The index of the bracket that closes the one at `start`, or None."""
    closer, opener, depth = _CLOSERS[tokens[start]], tokens[start], 0
    for index in range(start, len(tokens)):
        if tokens[index] == opener:
            depth += 1
        elif tokens[index] == closer:
            depth -= 1
            if depth == 0:
                return index
    return None


def split_at(tokens: Tokens, separator: str) -> list[Tokens]:
    """The pieces between separators that stand outside all brackets; no tokens are no pieces."""
    pieces: list[Tokens] = []
    depth, begin = 0, 0
    for index, token in enumerate(tokens):
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        elif token == separator and depth == 0:
            pieces.append(tokens[begin:index])
            begin = index + 1
    if tokens:
        pieces.append(tokens[begin:])
    return pieces


def joined(tokens: Tokens) -> str:
    """The tokens as readable C: blanks only where they are usual."""
    text = " ".join(tokens)
    text = re.sub(r"\s*(->|\.(?!\.))\s*", r"\1", text)
    text = re.sub(r"\s+([)\],;])|([(\[])\s+", lambda m: m.group(1) or m.group(2), text)
    return re.sub(r"([\w$\])])\s+([(\[])", r"\1\2", text)
