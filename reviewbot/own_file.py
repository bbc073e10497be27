"""Files of a cache, which nobody but the user may have written, read and written whole."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from pathlib import Path


def read_own(path: Path, limit_bytes: int) -> bytes | None:
    """The bytes of a regular file; None where another user may have written it, and where it is larger than the limit
    or behind a link. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        is_own = status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not is_own or not stat.S_ISREG(status.st_mode) or status.st_size > limit_bytes:
            return None
        return stream.read()


def write_own(path: Path, content: bytes) -> None:
    """Whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
