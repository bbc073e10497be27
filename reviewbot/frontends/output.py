"""Where a report goes: a file, a pager, or stdout, in the encoding that the place can take."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from reviewbot.errors import DeliveryError

PIPE_WIDTH = 80
FOR_PEOPLE = ("terminal", "text", "mail", "patchwork")


def wants_colour(asked: bool | None) -> bool:
    """--color and --no-color win; else colour is for terminals, and not under NO_COLOR (no-color.org) or TERM=dumb."""
    if asked is not None:
        return asked
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Columns of the terminal, or 80 in a pipe; $COLUMNS wins."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns
    return PIPE_WIDTH


def emit(text: str, output: Path | None, *, for_people: bool) -> None:
    """Write the report. A file is replaced only by a whole report. Raises DeliveryError when it cannot be written."""
    if output is not None and str(output) != "-":
        _write_file(text, output)
    elif for_people and _is_long(text):
        _page(text)
    else:
        _write_stdout(text, for_people)


def _write_file(text: str, output: Path) -> None:
    """Through a neighbour and a rename, so that a full disk leaves no half report; devices are written as they are."""
    target = output
    if not output.is_symlink() and (output.is_file() or not output.exists()):
        target = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    try:
        target.write_text(text, encoding="utf-8")
        if target != output:
            target.replace(output)
    except OSError as error:
        if target != output:
            target.unlink(missing_ok=True)
        raise DeliveryError(f"{output}: the report cannot be written: {error.strerror}.") from error


def _write_stdout(text: str, for_people: bool) -> None:
    """What machines read is UTF-8 in every locale; what people read loses no character that their terminal lacks."""
    encoding = (sys.stdout.encoding or "utf-8") if for_people else "utf-8"
    raw = text.encode(encoding, "backslashreplace")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DeliveryError(f"the report cannot be written to stdout: {error.strerror}.") from error


def _is_long(text: str) -> bool:
    if not sys.stdout.isatty() or os.environ.get("REVIEWBOT_PAGER", os.environ.get("PAGER")) in ("", "cat"):
        return False
    return text.count("\n") >= shutil.get_terminal_size().lines


def _page(text: str) -> None:
    """The user's pager; `less` gets git's own defaults, so that it shows colour and leaves when all fits."""
    import click

    os.environ.setdefault("LESS", "FRX")
    if os.environ.get("REVIEWBOT_PAGER"):
        os.environ["PAGER"] = os.environ["REVIEWBOT_PAGER"]
    click.echo_via_pager(text, color=True)
