"""The members of a struct or union body, once for each choice of its #if branches that word size does not settle."""

from __future__ import annotations

import itertools
from functools import lru_cache

from reviewbot.csyntax.abi import Abi
from reviewbot.csyntax.c_tokens import Tokens, split_at
from reviewbot.csyntax.word_size import condition_holds
from reviewbot.rulebook.types import TypeTable
from reviewbot.values import dataclass

MAX_FREE_CONDITIONS = 5
"""A body with more conditions than this (32 variants) has no size that could be told without a .config."""

Item = Tokens
"""The tokens of one member declaration without its `;`, or of one macro that stands for members."""


class TooManyVariantsError(ValueError):
    """The body has more undecided conditions than MAX_FREE_CONDITIONS."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An item and the conditions it stands under: (condition, wanted truth), all of which must hold."""

    item: Item
    under: tuple[tuple[str, bool], ...]


@lru_cache(maxsize=2048)
def member_variants(body: Tokens, abi: Abi, arch: str | None, table: TypeTable) -> tuple[tuple[Item, ...], ...]:
    """The item lists that are possible on `abi`. Raises TooManyVariantsError."""
    entries = _possible(_entries(body), abi, arch, table)
    free = sorted({condition for entry in entries for condition, _ in entry.under})
    if len(free) > MAX_FREE_CONDITIONS:
        raise TooManyVariantsError
    variants = []
    for choice in itertools.product((True, False), repeat=len(free)):
        truth = dict(zip(free, choice, strict=True))
        variants.append(tuple(e.item for e in entries if all(truth[name] is wanted for name, wanted in e.under)))
    return tuple(dict.fromkeys(variants))


@lru_cache(maxsize=2048)
def possible_items(body: Tokens, abi: Abi, arch: str | None, table: TypeTable) -> tuple[Item, ...]:
    """Every item that some variant on `abi` has."""
    return tuple(entry.item for entry in _possible(_entries(body), abi, arch, table))


def _possible(entries: list[_Entry], abi: Abi, arch: str | None, table: TypeTable) -> list[_Entry]:
    """The entries without those that word size rules out, and without the conditions that it settles."""
    kept = []
    for entry in entries:
        truths = [(name, wanted, condition_holds(name, abi, arch, table)) for name, wanted in entry.under]
        if all(truth is None or truth is wanted for _, wanted, truth in truths):
            kept.append(_Entry(entry.item, tuple((name, wanted) for name, wanted, truth in truths if truth is None)))
    return kept


def _entries(body: Tokens) -> list[_Entry]:
    entries: list[_Entry] = []
    levels: list[list[tuple[str, bool]]] = []
    for piece in _pieces(body):
        if piece[0].startswith("#"):
            _step(levels, piece[0])
        else:
            entries.append(_Entry(piece, tuple(literal for level in levels for literal in level)))
    return entries


def _pieces(body: Tokens) -> list[Tokens]:
    """Items and directives in order. A directive within a declaration (rare) belongs to it and spoils it when
    it is read.
    """
    pieces: list[Tokens] = []
    for statement in split_at(body, ";"):
        start = 0
        while start < len(statement) and statement[start].startswith("#"):
            pieces.append(statement[start : start + 1])
            start += 1
        if statement[start:]:
            pieces.append(statement[start:])
    return pieces


def _step(levels: list[list[tuple[str, bool]]], directive: str) -> None:
    """Each level holds the refused earlier branches and, last, the current one."""
    word, _, rest = directive[1:].strip().partition(" ")
    if word == "if" or word in ("ifdef", "ifndef"):
        levels.append([_literal(word, rest)])
    elif word == "elif" and levels:
        levels[-1] = [*_refused(levels[-1]), (rest.strip(), True)]
    elif word == "else" and levels:
        levels[-1] = _refused(levels[-1])
    elif word == "endif" and levels:
        levels.pop()


def _literal(word: str, rest: str) -> tuple[str, bool]:
    rest = rest.strip()
    return (rest, True) if word == "if" else (f"defined({rest.split(' ')[0]})", word == "ifdef")


def _refused(level: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    name, wanted = level[-1]
    return [*level[:-1], (name, not wanted)]
