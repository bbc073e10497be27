"""Words for tests that need only some of them."""

from __future__ import annotations

from collections.abc import Collection

from reviewbot.rulebook.policy import NameMaker, Words


def words(*, assembler_definers: Collection[str] = (), makers: tuple[NameMaker, ...] = ()) -> Words:
    """Words that know nothing but what is given."""
    none: frozenset[str] = frozenset()
    return Words(
        annotations=none,
        attributes_with_arguments=none,
        notrace=none,
        noinstr=none,
        inline=none,
        always_inline=none,
        definers=(),
        builtins=none,
        safe_macros=none,
        loop_patterns=(),
        sleeping=none,
        assembler_definers=frozenset(assembler_definers),
        condition_wrappers=none,
        makers=makers,
    )
