"""Inspections as bytes and back; only our own values can come out of them, whatever the bytes are."""

from __future__ import annotations

import io
import pickle
from typing import Any

from reviewbot.findings import finding
from reviewbot.rules import inspection
from reviewbot.rules.inspection import Inspection

_ALLOWED = {finding.__name__: finding, inspection.__name__: inspection}


def pack(value: Inspection) -> bytes:
    return pickle.dumps(value, protocol=5)


def unpack(data: bytes) -> Inspection:
    """Raises pickle.UnpicklingError for anything that `pack` did not make."""
    try:
        value = _Unpickler(io.BytesIO(data)).load()
    except (EOFError, AttributeError, TypeError, ValueError, IndexError, KeyError) as error:
        raise pickle.UnpicklingError(str(error)) from None
    if not isinstance(value, Inspection):
        raise pickle.UnpicklingError("no inspection")
    return value


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        kind = getattr(_ALLOWED.get(module), name, None)
        if not isinstance(kind, type) or kind.__module__ != module:
            raise pickle.UnpicklingError(f"{module}.{name} is no value of an inspection")
        return kind
