"""Perl expressions for `git grep` that find whole words fast.

An expression that begins with `\\b` is tried at every word of a tree. One that begins with letters is not: PCRE leaps
from one place with these letters to the next. So a pattern here begins with a few letters that many of the words have
in common, and then looks back for what stands before them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection

_CORE_LENGTH = 4
_FEW_WORDS = 8  # so many are found as fast one by one
_MOST_CORES = 8  # with more of them there is hardly a place to leap over


def any_of(words: Collection[str]) -> str:
    """An expression that matches in a text if and only if one of the words stands in it as a whole; which one it
    was, and where it begins, the match does not say."""
    cores = _cores(words) if len(words) > _FEW_WORDS else {}
    if not cores or len(cores) > _MOST_CORES:
        return rf"\b(?:{'|'.join(map(re.escape, sorted(words)))})\b"
    return "|".join(_around(core, held) for core, held in cores.items())


def _cores(words: Collection[str]) -> dict[str, list[str]]:
    """Letters in a row -> the words that are found by them; the letters that most words have first."""
    found: dict[str, list[str]] = {}
    left = set(words)
    while left:
        counts = Counter(piece for word in left for piece in _pieces(word))
        begun = {core[:1] for core in found}  # few letters to begin with are quicker to find than many
        core = min(counts, key=lambda piece: (-counts[piece], piece[:1] not in begun, "_" in piece, piece))
        found[core] = sorted(word for word in left if core in word)
        left.difference_update(found[core])
    return found


def _pieces(word: str) -> set[str]:
    return {word[at : at + _CORE_LENGTH] for at in range(max(1, len(word) - _CORE_LENGTH + 1))}


def _around(core: str, words: Collection[str]) -> str:
    """The core, what must stand before it, and what behind it."""
    befores: dict[str, set[str]] = defaultdict(set)
    for word in words:
        before, _, after = word.partition(core)
        befores[after].add(before)
    afters: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for after in sorted(befores):
        afters[tuple(sorted(befores[after]))].append(after)
    return f"{re.escape(core)}(?:{'|'.join(_way(core, before, after) for before, after in afters.items())})"


def _way(core: str, befores: Collection[str], afters: Collection[str]) -> str:
    before = "|".join(r"\b" + re.escape(each + core) for each in befores)
    after = "|".join(map(re.escape, afters))
    return rf"(?<={before})(?:{after})\b"
