"""Structured logs: one JSON object a line on stderr, so that journald and friends can pick fields out."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import TextIO

from reviewbot.delivery.clock import Clock

Value = str | int | float | bool | None


class Log:
    """Writes events. Text from mails is escaped by JSON (ASCII only), so it cannot drive a terminal."""

    def __init__(self, clock: Clock, stream: TextIO | None = None) -> None:
        self._clock = clock
        self._stream = stream

    def info(self, event: str, **fields: Value) -> None:
        """Something that happened as it should."""
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Value) -> None:
        """Something that mends itself, or that people should know of."""
        self._write("warning", event, fields)

    def error(self, event: str, **fields: Value) -> None:
        """Something that people have to mend."""
        self._write("error", event, fields)

    def _write(self, level: str, event: str, fields: dict[str, Value]) -> None:
        time = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="seconds")
        line = json.dumps({"time": time, "level": level, "event": event, **fields})
        print(line.replace("\x7f", "\\u007f"), file=self._stream or sys.stderr, flush=True)
