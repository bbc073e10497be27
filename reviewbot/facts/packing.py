"""Inspections and budgets as bytes and back; only our own values can come out of them, whatever the bytes are."""

from __future__ import annotations

import io
import pickle
from typing import Any, TypeVar

from reviewbot.cost import predictions
from reviewbot.cost.predictions import SeriesBudgets
from reviewbot.findings import finding, review
from reviewbot.rules import inspection
from reviewbot.rules.inspection import Inspection

_ALLOWED = {module.__name__: module for module in (finding, review, inspection, predictions)}

Value = TypeVar("Value", Inspection, SeriesBudgets)


def pack(value: Inspection | SeriesBudgets) -> bytes:
    return pickle.dumps(value, protocol=5)


def unpack(data: bytes, kind: type[Value]) -> Value:
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
