"""Where a report goes: a file, a pager, or stdout, in the encoding that the place can take."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from reviewbot.errors import DeliveryError

PIPE_WIDTH = 80
FOR_PEOPLE = ("terminal", "text", "mail", "patchwork")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_CANNOT_RUN = (126, 127)  # what a shell says of a command that it cannot run


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
        write_file("the report", text, output)
    elif for_people and _is_long(text):
        _page(text)
    else:
        _write_stdout(text, for_people)


def write_file(what: str, text: str, output: Path) -> None:
    """Through a neighbour and a rename, so that neither a full disk nor a signal leaves half of it; devices are written
    as they are. Raises DeliveryError."""
    target = output
    if not output.is_symlink() and (output.is_file() or not output.exists()):
        target = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    try:
        target.write_bytes(text.encode("utf-8", "surrogateescape"))
        if target != output:
            target.replace(output)
    except OSError as error:
        raise DeliveryError(f"{output}: {what} cannot be written: {error.strerror}.") from error
    finally:
        if target != output:
            target.unlink(missing_ok=True)


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
    """Whether it is more than the terminal can show at once."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return False
    size = shutil.get_terminal_size()
    rows = sum(max(1, -(-len(_STYLE.sub("", line)) // size.columns)) for line in text.splitlines())
    return rows >= size.lines


def _page(text: str) -> None:
    """Through the pager, which may leave early. One that cannot be run is passed over."""
    command = _pager()
    if command in ("", "cat"):
        return _write_stdout(text, for_people=True)
    sys.stdout.flush()
    # what git gives its pager: colour as it is, end when all fits, leave the screen as it was
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)  # as git does
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager
    try:
        process.communicate(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
        status = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if status in _CANNOT_RUN:
        _write_stdout(text, for_people=True)
    return None


def _pager() -> str:
    """As git chooses it: $GIT_PAGER, core.pager, $PAGER, less; $REVIEWBOT_PAGER before all. The core.pager of a
    repository does not count: it is a program, and the tree may be a stranger's."""
    from reviewbot.git.user import own_setting

    for name in ("REVIEWBOT_PAGER", "GIT_PAGER"):
        if name in os.environ:
            return os.environ[name].strip()
    configured = own_setting("core.pager")
    return configured.strip() if configured else os.environ.get("PAGER", "less").strip()
