"""What a remembered fact depends on beside the tree: the rules and the program itself."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache

from reviewbot import __version__
from reviewbot.rulebook.book import Rulebook

# Stages that decide what is found and counted. Wording and formats may change without making it wrong.
_STAGES = ("cost", "csyntax", "facts", "findings", "graph", "rulebook", "rules", "source")


def stamp(book: Rulebook) -> str:
    """Differs between two programs or rule sets that may see different things in the same source."""
    return hashlib.sha256(f"{book.version} {book.limits} {_program()} {sys.version_info[:2]}".encode()).hexdigest()[:32]


@cache
def _program() -> str:
    """The version, and the sizes and times of the modules: in a checkout they change without a new version."""
    root = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    rows = [__version__]
    for stage in _STAGES:
        rows += sorted(_modules(os.path.join(root, stage), stage))  # noqa: PTH118 - pathlib takes five times as long
    return "\n".join(rows)


def _modules(folder: str, name: str) -> Iterator[str]:
    """A row for each file below the folder that is part of the program."""
    for entry in os.scandir(folder):
        if entry.name.endswith((".py", ".scm")):
            status = entry.stat()
            yield f"{name}/{entry.name} {status.st_size} {status.st_mtime_ns}"
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _modules(entry.path, f"{name}/{entry.name}")
