"""How much of one input is read: beyond a limit the rest is left out and a sentence says so."""

from __future__ import annotations

from dataclasses import fields
from typing import IO

from reviewbot.values import dataclass

_MIB = 1024 * 1024
_UNITS = {
    "input_bytes": "bytes",
    "messages": "mails",
    "message_bytes": "bytes",
    "header_bytes": "bytes",
    "mime_depth": "deep",
    "mime_parts": "parts",
    "diff_bytes": "bytes",
    "files_per_patch": "files",
    "hunks_per_file": "hunks",
    "hunk_lines": "lines",
    "path_bytes": "bytes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """[limits.input]. Bounds on what strangers may send. The defaults lie far above anything seen on a kernel list.

    `input_bytes`: one mailbox, unpacked. `messages`: mails in one input. `message_bytes`: one mail. `header_bytes`:
    the header block of one mail. `mime_depth`, `mime_parts`: nesting and number of parts of one mail. `diff_bytes`,
    `files_per_patch`, `hunks_per_file`, `hunk_lines`, `path_bytes`: one patch.
    """

    input_bytes: int = 512 * _MIB
    messages: int = 100_000
    message_bytes: int = 32 * _MIB
    header_bytes: int = _MIB // 4
    mime_depth: int = 16
    mime_parts: int = 200
    diff_bytes: int = 32 * _MIB
    files_per_patch: int = 20_000
    hunks_per_file: int = 20_000
    hunk_lines: int = 1_000_000
    path_bytes: int = 4_096

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ValueError(f"{field.name} must be at least 1")

    def told(self, name: str) -> str:
        """The value, and what to raise to read more."""
        return f"{getattr(self, name)} {_UNITS[name]} (limits.input.{name})"


DEFAULT_LIMITS = Limits()
_PIECE_BYTES = _MIB


def read_at_most(stream: IO[bytes], limit_bytes: int) -> bytes:
    """What is in the stream, up to the limit. In pieces: one `read` would set aside memory for all of the limit."""
    pieces: list[bytes] = []
    while limit_bytes > 0 and (piece := stream.read(min(limit_bytes, _PIECE_BYTES))):
        pieces.append(piece)
        limit_bytes -= len(piece)
    return b"".join(pieces)
