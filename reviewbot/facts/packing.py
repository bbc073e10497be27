"""Inspections and budgets as bytes and back; only our own values can come out of them, whatever the bytes are."""

from __future__ import annotations

import io
import pickle
import sqlite3
import struct
import time
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

from reviewbot.cost import predictions
from reviewbot.cost.predictions import SeriesBudgets
from reviewbot.findings import finding, inspection, review
from reviewbot.findings.inspection import Inspection

_ALLOWED = {module.__name__: module for module in (finding, review, inspection, predictions)}

Value = TypeVar("Value")
Kept = TypeVar("Kept", Inspection, SeriesBudgets)


def pack(value: Inspection | SeriesBudgets) -> bytes:
    return pickle.dumps(value, protocol=5)


def unpack(data: bytes, kind: type[Kept]) -> Kept:
    """The value, of that kind. Raises pickle.UnpicklingError for anything that `pack` did not make."""
    try:
        value = _Unpickler(io.BytesIO(data)).load()
    except (EOFError, AttributeError, TypeError, ValueError, IndexError, KeyError) as error:
        raise pickle.UnpicklingError(str(error)) from None
    if not isinstance(value, kind):
        raise pickle.UnpicklingError(f"no {kind.__name__}")
    return value


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        kind = getattr(_ALLOWED.get(module), name, None)
        if not isinstance(kind, type) or kind.__module__ != module:
            raise pickle.UnpicklingError(f"{module}.{name} is no value that is kept")
        return kind


def checked(make: Callable[[], Value]) -> Value:
    """A value of the cache; sqlite3.DatabaseError, as for a broken file, where it is not what was put there."""
    try:
        return make()
    except (ValueError, struct.error, zlib.error, pickle.UnpicklingError) as error:
        raise sqlite3.DatabaseError(f"a value in it is damaged: {error}") from None


def now() -> int:
    """Seconds since 1970, by which the cache knows what was not used for long."""
    return int(time.time())
