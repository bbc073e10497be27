"""What is known of a kernel configuration, and whether an #if condition holds in it: yes, no, or not known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field

from reviewbot.patterns import regex
from reviewbot.values import dataclass

_TOKEN = regex(
    r"\s*(&&|\|\||!(?!=)|\(|\)|(?:IS_ENABLED|IS_BUILTIN|IS_REACHABLE|defined)\s*\(\s*\w+\s*\)|defined\s+\w+)"
)
_NAME = regex(r"(\w+)\s*\)?$")
_REST = regex(r"(?:(?!&&|\|\|)[^()]|\([^()]*\))+")
_MAX_TOKENS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """`defined` and `undefined` are names such as CONFIG_VSX that are on, or off; every other one may be either."""

    defined: frozenset[str] = field(default_factory=frozenset)
    undefined: frozenset[str] = field(default_factory=frozenset)

    def truth(self, condition: str) -> bool | None:
        """Whether an expression of `defined(X)`, `IS_ENABLED(X)`, !, &&, || and parentheses holds; None: not known."""
        tokens = _tokens(condition)
        if not tokens or len(tokens) > _MAX_TOKENS:
            return None
        return _Reader(tokens, self).either()

    def assuming(self, conditions: Iterable[tuple[str, bool]]) -> Configuration:
        """With what a choice of #if branches, as (condition, truth), says about single names on top."""
        on, off = set(self.defined), set(self.undefined)
        for condition, truth in conditions:
            match = re.fullmatch(r"defined\((\w+)\)", condition)
            if match is not None:
                (on if truth else off).add(match.group(1))
        return Configuration(defined=frozenset(on), undefined=frozenset(off))

    def allows(self, conditions: Iterable[tuple[str, bool]]) -> bool:
        """Whether a choice of #if branches contradicts nothing that is known."""
        return all(self.truth(condition) in (None, truth) for condition, truth in conditions)

    def of_name(self, name: str) -> bool | None:
        return True if name in self.defined else False if name in self.undefined else None


def _tokens(condition: str) -> list[str]:
    found: list[str] = []
    position = 0
    while position < len(condition):
        match = _TOKEN.match(condition, position) or _REST.match(condition, position)
        if match is None:
            return []
        if match.group().strip():
            found.append(match.group().strip())
        position = match.end()
    return found


class _Reader:
    """Recursive descent over three values; what is not understood is not known."""

    def __init__(self, tokens: list[str], configuration: Configuration) -> None:
        self._tokens = tokens
        self._at = 0
        self._configuration = configuration

    def either(self) -> bool | None:
        found = self._both()
        while self._take("||"):
            other = self._both()
            found = True if found or other else None if None in (found, other) else False
        return found

    def _both(self) -> bool | None:
        found = self._one()
        while self._take("&&"):
            other = self._one()
            found = False if False in (found, other) else None if None in (found, other) else True
        return found

    def _one(self) -> bool | None:
        if self._take("!"):
            inner = self._one()
            return None if inner is None else not inner
        if self._take("("):
            inner = self.either()
            self._take(")")
            return inner
        if self._at >= len(self._tokens):
            return None
        token = self._tokens[self._at]
        self._at += 1
        if token in ("0", "1"):
            return token == "1"
        match = _NAME.search(token)
        is_test = token.startswith(("defined", "IS_")) or token.startswith("CONFIG_")
        return self._configuration.of_name(match.group(1)) if match is not None and is_test else None

    def _take(self, token: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == token:
            self._at += 1
            return True
        return False
