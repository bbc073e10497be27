"""TOML settings -> frozen dataclasses, strictly checked, with the origin of every value.

A section of the file is a frozen dataclass; its annotations are the check. Supported are bool, int, float, str, date,
Path, Enum (by value), `X | None`, `tuple[X, ...]`, a nested dataclass (a table) and `Mapping[str, X]` (named tables).
Limits on values belong into `__post_init__`, which raises ValueError with half a sentence ("port must be at least 1").
A stage that has settings owns its dataclass; frontends/settings.py lists all sections.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from reviewbot.errors import ConfigError
from reviewbot.values import dataclass

Section = TypeVar("Section")

MAX_CONFIG_BYTES = 1_000_000
DEFAULT_ORIGIN = "default"
HIDDEN = "(hidden)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One source of settings: `origin` names it for people (a file, `git config`), `table` is nested TOML."""

    origin: str
    table: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value in force, for people: dotted key, the value as text (hidden when secret), and where it comes from."""

    key: str
    value: str
    origin: str


def secret(default: str | None = None) -> Any:
    """A dataclass field whose value is never shown."""
    return field(default=default, metadata={"secret": True}, repr=False)


def config_file() -> Path:
    """The user's own settings file; it need not exist."""
    return _own_directory("config", "XDG_CONFIG_HOME", ".config") / "config.toml"


def cache_dir() -> Path:
    """Where facts about blobs are kept; it may be deleted at any time."""
    return _own_directory("cache", "XDG_CACHE_HOME", ".cache")


def state_dir() -> Path:
    """Where the ledger of what was sent is kept; it must not be deleted."""
    return _own_directory("state", "XDG_STATE_HOME", ".local/state")


def _own_directory(kind: str, variable: str, below_home: str) -> Path:
    """As platformdirs says; it takes time to import, and is asked only where the answer is not plain. Raises
    ConfigError for a user without a home directory."""
    given, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
    if sys.platform == "linux" and given.startswith("/"):
        return Path(given, "reviewbot")
    if sys.platform == "linux" and home.startswith("/"):
        return Path(home, below_home, "reviewbot")
    import platformdirs

    try:
        return Path(getattr(platformdirs, f"user_{kind}_dir")("reviewbot", appauthor=False))
    except RuntimeError:  # neither HOME nor the system's list of users knows one
        raise ConfigError(f"there is no home directory: set HOME or {variable} to an absolute path.") from None


def read_layer(path: Path) -> Layer:
    """The settings of one file. Raises ConfigError that names the file, and the line where TOML is broken."""
    import tomllib  # most runs have no settings file

    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}.") from error
    if len(raw) > MAX_CONFIG_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_CONFIG_BYTES} bytes, so it is not a settings file.")
    try:
        return Layer(origin=str(path), table=tomllib.loads(raw.decode("utf-8")))
    except RecursionError:
        raise ConfigError(f"{path}: not valid TOML: it nests too deep.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}.") from error


def check_sections(layer: Layer, known: Iterable[str]) -> None:
    """Raises ConfigError when the layer has a section that nothing reads (a spelling mistake would else be silent)."""
    names = sorted(known)
    for name in layer.table:
        if name not in names:
            raise ConfigError(f"{layer.origin}: unknown section [{name}]{_did_you_mean(name, names)}.")


def resolve(section: str, kind: type[Section], layers: Sequence[Layer]) -> tuple[Section, tuple[Setting, ...]]:
    """The section as a value of `kind`, later layers winning key by key, and every value with its origin.

    Raises ConfigError that names file and key for an unknown key, a wrong type, a value out of range or a missing key.
    """
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        table = layer.table.get(section, {})
        if not isinstance(table, Mapping):
            raise ConfigError(f"{layer.origin}: [{section}] must be a table, not {_type_name(table)}.")
        _check_keys(table, kind, section, layer.origin)
        _merge(merged, table, section, layer.origin, origins)
    value = _to_dataclass(merged, kind, section, lambda key: _origin_of(key, origins))
    return value, tuple(_settings(value, section, origins))


def resolve_tables(name: str, kind: type[Section], layers: Sequence[Layer]) -> tuple[Section, ...]:
    """The entries of an array of tables (`[[name]]`), those of all layers one after the other. Raises ConfigError."""
    entries: list[Section] = []
    for layer in layers:
        tables = layer.table.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(each, Mapping) for each in tables):
            raise ConfigError(f"{layer.origin}: {name} must be written as [[{name}]].")
        for at, table in enumerate(tables, start=1):
            entries.append(_to_dataclass(table, kind, f"{name}[{at}]", _always(layer.origin)))
    return tuple(entries)


def _always(origin: str) -> Callable[[str], str]:
    return lambda key: origin


def _merge(into: dict[str, Any], table: Mapping[str, Any], key: str, origin: str, origins: dict[str, str]) -> None:
    for name, value in table.items():
        dotted = f"{key}.{name}"
        if isinstance(value, Mapping):
            inner = into.setdefault(name, {})
            if isinstance(inner, dict):
                _merge(inner, value, dotted, origin, origins)
                origins[dotted] = origin
                continue
        into[name] = value
        origins[dotted] = origin


def _origin_of(key: str, origins: Mapping[str, str]) -> str:
    """The origin of the key, else those of the keys below it, else that of the nearest table around it."""
    key = key.partition("[")[0]
    below = dict.fromkeys(origin for each, origin in origins.items() if each == key or each.startswith(f"{key}."))
    if below:
        return " and ".join(below)
    return _origin_of(key.rpartition(".")[0], origins) if "." in key else "settings"


def _check_keys(table: Mapping[str, Any], kind: type[Any], key: str, origin: str) -> None:
    """Unknown keys are refused per layer, so that the message names the right file."""
    hints = typing.get_type_hints(kind)
    for name, value in table.items():
        if name not in hints:
            raise ConfigError(f"{origin}: unknown key {key}.{name}{_did_you_mean(name, hints)}.")
        inner = _without_none(hints[name])
        if isinstance(value, Mapping) and dataclasses.is_dataclass(inner):
            _check_keys(value, typing.cast("type[Any]", inner), f"{key}.{name}", origin)


def _to_dataclass(table: Mapping[str, Any], kind: type[Section], key: str, origin: Callable[[str], str]) -> Section:
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in hints:
            raise ConfigError(f"{origin(f'{key}.{name}')}: unknown key {key}.{name}{_did_you_mean(name, hints)}.")
        values[name] = _to_value(value, hints[name], f"{key}.{name}", origin)
    for each in dataclasses.fields(typing.cast(Any, kind)):
        is_required = each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
        if is_required and each.name not in values:
            raise ConfigError(f"{origin(key)}: {key}.{each.name} is missing.")
    try:
        return kind(**values)
    except ValueError as error:
        raise ConfigError(f"{origin(key)}: [{key}] {error}.") from error


def _to_value(value: Any, hint: Any, key: str, origin: Callable[[str], str]) -> Any:
    hint = _without_none(hint)
    kind = typing.get_origin(hint) or hint
    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return _to_dataclass(value, typing.cast("type[Any]", hint), key, origin)
    if kind is tuple and isinstance(value, list | tuple):
        inner = typing.get_args(hint)[0]
        return tuple(_to_value(each, inner, f"{key}[{at}]", origin) for at, each in enumerate(value))
    if isinstance(kind, type) and issubclass(kind, Mapping) and isinstance(value, Mapping):
        inner = typing.get_args(hint)[1]
        return {name: _to_value(each, inner, f"{key}.{name}", origin) for name, each in value.items()}
    if isinstance(kind, type) and issubclass(kind, Enum) and isinstance(value, str):
        return _to_choice(value, kind, key, origin)
    if kind is Path and isinstance(value, str):
        return Path(value).expanduser()
    if kind is float and type(value) in (int, float):
        return float(value)
    if type(value) is kind:
        return value
    raise ConfigError(f"{origin(key)}: {key} must be {_wanted(hint)}, not {_type_name(value)}.")


def _to_choice(value: str, kind: type[Enum], key: str, origin: Callable[[str], str]) -> Enum:
    choices = [str(member.value) for member in kind]
    if value not in choices:
        raise ConfigError(f"{origin(key)}: {key} is {value!r}; it can be {', '.join(choices)}.")
    return kind(value)


def _settings(value: Any, key: str, origins: Mapping[str, str]) -> Iterable[Setting]:
    for each in dataclasses.fields(value):
        dotted = f"{key}.{each.name}"
        inner = getattr(value, each.name)
        if dataclasses.is_dataclass(inner):
            yield from _settings(inner, dotted, origins)
        elif isinstance(inner, Mapping) and all(dataclasses.is_dataclass(table) for table in inner.values()):
            for name, table in inner.items():
                yield from _settings(table, f"{dotted}.{name}", origins)
        else:
            shown = HIDDEN if each.metadata.get("secret") and inner is not None else _shown(inner)
            yield Setting(key=dotted, value=shown, origin=origins.get(dotted, DEFAULT_ORIGIN))


def _shown(value: Any) -> str:
    if value is None:
        return "(unset)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ", ".join(_shown(each) for each in value) or "(none)"
    return str(value)


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(each for each in typing.get_args(hint) if each is not type(None))
    return hint


def _wanted(hint: Any) -> str:
    names = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
        Path: "a path",
        date: "a date",
    }
    if typing.get_origin(hint) is tuple:
        return f"a list (of {_wanted(typing.get_args(hint)[0])})"
    return names.get(hint, "a table" if not (isinstance(hint, type) and issubclass(hint, Enum)) else "a text")


def _type_name(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a table"}
    return names.get(type(value), type(value).__name__)


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    import difflib  # what is well spelled needs none

    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
