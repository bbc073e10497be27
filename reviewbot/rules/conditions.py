"""The #if conditions that a finding holds under: what to say of them, and which word sizes they leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from reviewbot.csyntax.abi import Abi
from reviewbot.csyntax.word_size import condition_holds
from reviewbot.rulebook.types import TypeTable


def worth_saying(conditions: Sequence[str], arch: str | None, types: TypeTable) -> str | None:
    """The conditions joined, without those that hold in every kernel; None where nothing remains."""
    told = [each for each in dict.fromkeys(conditions) if not _always_holds(each, arch, types)]
    return " && ".join(told) or None


def allows(conditions: Sequence[str], abi: Abi, arch: str | None, types: TypeTable) -> bool:
    """Whether the code can be compiled with this word size."""
    return all(condition_holds(each, abi, arch, types) is not False for each in conditions)


def is_for_aligned_words(conditions: Sequence[str], arch: str | None, types: TypeTable) -> bool:
    """Whether the code is compiled only where a word may not stand at any address."""
    anywhere = _with_unaligned(types)
    return any(
        condition_holds(each, abi, arch, anywhere) is False and condition_holds(each, abi, arch, types) is None
        for each in conditions
        for abi in Abi
    )


@lru_cache(maxsize=8)
def _with_unaligned(types: TypeTable) -> TypeTable:
    return replace(types, always=types.always | types.unaligned)


def _always_holds(condition: str, arch: str | None, types: TypeTable) -> bool:
    return all(condition_holds(condition, abi, arch, types) is True for abi in Abi)
