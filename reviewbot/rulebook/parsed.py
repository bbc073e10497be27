"""What the files of rules/ hold, as parsed in an earlier run and kept in the user's cache.

A table is known by the digest of its file's bytes, so it can be of no other state of that file; it is checked by the
readers each time like one that was parsed just now. What is kept is read only if nobody else can have written it, and
whole. Parsing takes ten times as long.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reviewbot.own_file import read_own, write_own

_FORMAT = b"reviewbot-rules 1"
_MAX_BYTES = 16 << 20
_MAX_KEPT = 4  # several versions of reviewbot may take turns
_tables: dict[str, dict[str, Any]] = {}


def parse(data: bytes) -> dict[str, Any]:
    """The table that a TOML file holds; nobody may change it. Raises UnicodeDecodeError and tomllib.TOMLDecodeError."""
    if _tables and (known := _tables.get(_digest(data))) is not None:
        return known
    import tomllib

    return tomllib.loads(data.decode("utf-8"))


def use_kept(files: Iterable[bytes], version: str, directory: Path) -> None:
    """From now on `parse` knows these files, which make up the rules of that version: from `directory`, where they are
    parsed and kept if they are not there. Nothing happens where a file is broken or `directory` cannot be used."""
    path = directory / f"rules-{version[:32]}.json"
    wanted = {_digest(data): data for data in files}
    known = _read(path)
    if known is None or known.keys() != wanted.keys():
        try:
            known = {digest: parse(data) for digest, data in wanted.items()}
            _write(path, known)
        except (ValueError, TypeError, OSError):  # no TOML, which its reader will say; a date, which JSON lacks
            return
    _tables.update(known)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(path: Path) -> dict[str, dict[str, Any]] | None:
    """None where there is none, where another user may have written it, and where it is damaged."""
    try:
        content = read_own(path, _MAX_BYTES)
        if content is None:
            return None
        head, _, text = content.partition(b"\n")
        if head != _head(text):
            return None
        tables = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    is_known = isinstance(tables, dict) and all(isinstance(table, dict) for table in tables.values())
    return tables if is_known else None


def _write(path: Path, tables: dict[str, dict[str, Any]]) -> None:
    """Whole or not at all. Raises OSError, and TypeError for a value that JSON does not have."""
    text = json.dumps(tables, separators=(",", ":")).encode()
    write_own(path, _head(text) + b"\n" + text)
    for other in sorted(path.parent.glob("rules-*.json"), key=lambda each: each.stat().st_mtime)[:-_MAX_KEPT]:
        other.unlink(missing_ok=True)


def _head(text: bytes) -> bytes:
    return _FORMAT + b" " + hashlib.sha256(text).hexdigest().encode()
