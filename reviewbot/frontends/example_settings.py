"""A settings file with every key, its default and what it is for, made from the sections themselves."""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from reviewbot.frontends import settings

_HEAD = """\
# Settings of reviewbot. Every key is shown with its default; take away the `#` in front of those that you change.
# `reviewbot config` prints what is in force and where it comes from.
"""
_WAIVERS = """\
# Accepted findings. All that is named must be true of the finding; `reason` is required, `until` is the last day.
# [[waivers]]
# rule = "traced_call"
# path = "arch/powerpc/kernel/*"
# reason = "only called while tracing is off"
# until = 2027-01-31
"""


def example() -> str:
    """The whole file as TOML; as it stands it changes nothing."""
    parts = [_HEAD]
    parts += ["\n".join(_table(name, settings.section(name, [])[0])) + "\n" for name in settings.SECTIONS]
    return "\n".join([*parts, _WAIVERS])


def _table(name: str, value: Any) -> Iterator[str]:
    """One section, and behind it the tables below it, with an example of each kind of named one."""
    words = " ".join((inspect.getdoc(type(value)) or "").split())
    yield from textwrap.wrap(words, 110, initial_indent="# ", subsequent_indent="# ")
    yield f"[{name}]" if "." not in name else f"# [{name}]"
    hints = typing.get_type_hints(type(value))
    below = []
    for each in dataclasses.fields(value):
        inner = getattr(value, each.name)
        if isinstance(inner, Mapping):
            below.append((f"{name}.{each.name}.NAME", typing.get_args(hints[each.name])[1]()))
        elif dataclasses.is_dataclass(inner):
            below.append((f"{name}.{each.name}", inner))
        else:
            is_number = inner is None and {int, float} & set(typing.get_args(hints[each.name]))
            yield f"# {each.name} = {0 if is_number else _toml(inner)}"
    for inner_name, inner in below:
        yield ""
        yield from _table(inner_name, inner)


def _toml(value: Any) -> str:
    if value is None:
        return '""'
    if isinstance(value, Enum):
        return f'"{value.value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value) if isinstance(value, int | float) else f'"{value}"'
