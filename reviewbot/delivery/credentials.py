"""Secrets come from the environment or from a file that only its owner can read, and from nowhere else."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from reviewbot.errors import ConfigError
from reviewbot.http import Secret

_LONGEST_BYTES = 4096


def read_secret(variable: str, file: Path | None, environment: Mapping[str, str] = os.environ) -> Secret | None:
    """The secret from the environment variable, else from the file, else None.

    Raises ConfigError when others may read the file, it is not a regular file, cannot be read or is empty.
    """
    if value := environment.get(variable, "").strip():
        return _checked(value, f"the environment variable {variable}")
    return _from_file(file) if file is not None else None


def _from_file(file: Path) -> Secret:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ConfigError(f"{file}: the secret cannot be read: {error.strerror}.") from error
    with os.fdopen(descriptor, "rb") as stream:
        # The rights are those of the opened file, so it cannot be exchanged in between.
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{file}: a secret must be in a regular file.")
        if status.st_mode & 0o077:
            raise ConfigError(f"{file}: others can read this secret; run: chmod 600 {file}")
        if status.st_uid not in (os.geteuid(), 0):
            raise ConfigError(f"{file}: this secret belongs to another user.")
        raw = stream.read(_LONGEST_BYTES + 1)
    return _checked(raw.decode("utf-8", "replace").strip(), str(file))


def _checked(value: str, origin: str) -> Secret:
    if not value or len(value) > _LONGEST_BYTES or not value.isprintable() or not value.isascii():
        raise ConfigError(f"{origin} does not hold a secret (one line of printable ASCII).")
    return Secret(value)
