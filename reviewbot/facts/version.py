"""What a remembered fact depends on beside the tree: the rules and the program itself."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

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
    root = Path(__file__).parent.parent
    rows = [__version__]
    for stage in _STAGES:
        for path in sorted((root / stage).glob("**/*.[ps][yc]*")):
            if path.suffix in (".py", ".scm"):
                status = path.stat()
                rows.append(f"{stage}/{path.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(rows)
