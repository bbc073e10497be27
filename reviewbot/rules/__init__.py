"""Blocks and accesses come in; Observations of one kind of mistake go out (RULES: slug -> module)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

from reviewbot.findings.finding import Observation
from reviewbot.rules import (
    mismatched_end,
    nested_block,
    redundant_end,
    repeated_pair,
    sleep_in_block,
    small_copy,
    traced_call,
    unchecked_begin,
    unclosed_block,
    unsafe_outside_block,
    wrong_direction,
)
from reviewbot.rules.context import Context
from reviewbot.rules.copies import FunctionText

_ON_PATHS = (
    traced_call,
    repeated_pair,
    unclosed_block,
    mismatched_end,
    redundant_end,
    nested_block,
    unsafe_outside_block,
    wrong_direction,
    sleep_in_block,
    unchecked_begin,
)

RULES: dict[str, ModuleType] = {module.SLUG: module for module in (*_ON_PATHS, small_copy)}

PATH_RULES: dict[str, Callable[[Context], Iterator[Observation]]] = {module.SLUG: module.find for module in _ON_PATHS}
"""Rules that look at one #if variant of a function with its paths."""

BLOCK_RULES = frozenset(PATH_RULES) - {repeated_pair.SLUG}
"""Rules whose word depends on where exactly a block ends."""

TEXT_RULES: dict[str, Callable[[FunctionText], Iterator[Observation]]] = {small_copy.SLUG: small_copy.find}
"""Rules that look at the text of a function; they need no control flow and are cheap."""
