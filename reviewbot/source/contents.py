"""The contents last read, up to a number of bytes."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable

CACHE_BYTES = 24 << 20


class ContentCache:
    """path -> bytes (or None), the least recently used dropped first."""

    def __init__(self, load: Callable[[str], bytes | None], limit_bytes: int = CACHE_BYTES) -> None:
        self._load = load
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[str, bytes | None] = OrderedDict()
        self._size_bytes = 0

    def read(self, path: str) -> bytes | None:
        if path in self._kept:
            self._kept.move_to_end(path)
            return self._kept[path]
        content = self._kept[path] = self._load(path)
        self._size_bytes += _weight(path, content)
        while self._size_bytes > self._limit_bytes and len(self._kept) > 1:
            self._size_bytes -= _weight(*self._kept.popitem(last=False))
        return content


def _weight(path: str, content: bytes | None) -> int:
    return len(path) + len(content or b"") + 200


def to_blob_id(content: bytes, id_bytes: int = 20) -> str:
    """git's id of a blob with this content (20: SHA-1, 32: SHA-256)."""
    digest = hashlib.sha256 if id_bytes == 32 else hashlib.sha1
    return digest(b"blob %d\0" % len(content) + content).hexdigest()
