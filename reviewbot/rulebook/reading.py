"""Strict reading of one TOML file: every complaint names the file and the key, and no key is left unread."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from reviewbot.errors import RulebookError
from reviewbot.patterns import regex
from reviewbot.rulebook.parsed import parse
from reviewbot.rulebook.primitives import KernelVersion

_Choice = TypeVar("_Choice", bound=Enum)
_VERSION = regex(r"v(\d+)\.(\d+)")


class Table:
    """A TOML table that remembers where it stands and which of its keys were read.

    The readers return the value or, where the key is absent, their default; a wrong type raises RulebookError.
    `finish()` raises for keys that nobody asked for.
    """

    def __init__(self, values: dict[str, Any], file: str, where: str = "") -> None:
        self._values = values
        self._file = file
        self._where = where
        self._unread = set(values)

    def refuse(self, key: str, why: str) -> NoReturn:
        """Raises RulebookError for `key` of this table."""
        raise RulebookError(f"{self._file}: {self._path(key)}: {why}.")

    def finish(self) -> None:
        """Every key was asked for; raises RulebookError for the first that was not."""
        if self._unread:
            self.refuse(min(self._unread), "unknown key")

    def has(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str, default: str | None = None) -> str:
        """A string that is not blank."""
        value: str = self._take(key, str, "a string", default)
        if not value.strip() and value != default:
            self.refuse(key, "must not be empty")
        return value

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if self.has(key) else None

    def flag(self, key: str, default: bool | None = None) -> bool:
        return bool(self._take(key, bool, "true or false", default))

    def integer(self, key: str, default: int | None = None) -> int:
        return int(self._take(key, int, "a whole number", default))

    def optional_integer(self, key: str) -> int | None:
        return self.integer(key) if self.has(key) else None

    def number(self, key: str, default: float | None = None) -> float:
        return float(self._take(key, (int, float), "a number", default))

    def choice(self, key: str, enum: type[_Choice], default: _Choice | None = None) -> _Choice:
        """A member of `enum`, written as its value."""
        if default is not None and not self.has(key):
            return default
        return self._to_choice(key, self.text(key), enum)

    def choices(self, key: str, enum: type[_Choice]) -> frozenset[_Choice]:
        return frozenset(self._to_choice(key, name, enum) for name in self.names(key))

    def names(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """A list of distinct strings, in order."""
        values = self._take(key, list, "a list of strings", None if default is None else list(default))
        if bad := [value for value in values if not isinstance(value, str) or not value]:
            self.refuse(key, f"must hold strings only, not {bad[0]!r}")
        if len(set(values)) < len(values):
            twice = next(value for value in values if values.count(value) > 1)
            self.refuse(key, f"{twice!r} stands there twice")
        return tuple(values)

    def version(self, key: str) -> KernelVersion | None:
        """A kernel version written as `v6.1`, or None where the key is absent."""
        if not self.has(key):
            return None
        match = _VERSION.fullmatch(self.text(key))
        if match is None:
            self.refuse(key, 'must be a kernel version like "v6.1"')
        return KernelVersion(major=int(match[1]), minor=int(match[2]))

    def table(self, key: str) -> Table:
        return Table(self._take(key, dict, "a table", None), self._file, self._path(key))

    def tables(self, key: str) -> tuple[Table, ...]:
        """An array of tables; absent means none."""
        items = self._take(key, list, "an array of tables", [])
        for item in items:
            if not isinstance(item, dict):
                self.refuse(key, "must be an array of tables")
        return tuple(Table(item, self._file, f"{self._path(key)}[{index}]") for index, item in enumerate(items))

    def named_tables(self, key: str) -> tuple[tuple[str, Table], ...]:
        """The tables below `key`, by name, in order; absent means none."""
        below = self.table(key) if self.has(key) else Table({}, self._file)
        return tuple((name, below.table(name)) for name in below._values)

    def key_names(self) -> tuple[str, ...]:
        """The keys of this table, in order, read or not."""
        return tuple(self._values)

    def _take(self, key: str, kind: Any, what: str, default: Any) -> Any:
        self._unread.discard(key)
        if key not in self._values:
            if default is None:
                self.refuse(key, "is missing")
            return default
        value = self._values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.refuse(key, f"must be {what}")
        return value

    def _to_choice(self, key: str, name: str, enum: type[_Choice]) -> _Choice:
        try:
            return enum(name)
        except ValueError:
            known = ", ".join(str(member.value) for member in enum)
            raise RulebookError(f"{self._file}: {self._path(key)}: {name!r} is not one of {known}.") from None

    def _path(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where else key


def read_table(path: Path, root: Path) -> Table:
    """The top table of `path`; complaints name the file relative to `root`. Raises RulebookError if it is not TOML."""
    label = path.relative_to(root).as_posix()
    try:
        return Table(parse(path.read_bytes()), label)
    except (OSError, UnicodeDecodeError) as error:
        raise RulebookError(f"{label}: cannot be read ({error}).") from error
    except ValueError as error:
        raise RulebookError(f"{label}: is not valid TOML: {error}.") from error
