"""Progress on stderr, for people at a terminal alone: never in a pipe, gone without a trace when the work is done."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from reviewbot.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

DELAY_S = 0.7
"""Work that is done by then shows none, and does not load what draws it."""


@contextmanager
def progress(*, quiet: bool, forks: bool = False) -> Iterator[Progress]:
    """What stages tell of their progress, drawn where stderr is a terminal. `forks`: the work makes processes of its
    own, so that it is drawn without a thread, whenever there is news."""
    if quiet or not _is_terminal():
        yield Progress()
        return
    shown = Bar(forks=forks)
    try:
        yield shown
    finally:
        shown.stop()


def command_progress(*, quiet: bool, forks: bool = False) -> Progress:
    """`progress` until the click command that is running ends."""
    import click

    return click.get_current_context().with_resource(progress(quiet=quiet, forks=forks))


def _is_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


class Bar(Progress):
    """One line that is drawn over and over."""

    def __init__(self, *, forks: bool) -> None:
        self._forks = forks
        self._lock = threading.Lock()
        self._bar: RichProgress | None = None
        self._task: Any = None
        self._what, self._done = "", 0
        self._total: int | None = None
        self._timer: threading.Timer | None = None
        if not forks:
            self._timer = threading.Timer(DELAY_S, self._show)
            self._timer.daemon = True
            self._timer.start()

    def start(self, what: str, total: int | None = None) -> None:
        with self._lock:
            self._what, self._total, self._done = what, total, 0
            if self._bar is not None:
                self._bar.reset(self._task, description=what, total=total, completed=0)
        if self._forks:
            self._show()
            self.tick()

    def advance(self, done: int) -> None:
        with self._lock:
            self._done = done
            if self._bar is not None:
                self._bar.update(self._task, completed=done, refresh=self._forks and done % 8 == 0)

    def tick(self) -> None:
        if self._bar is not None:
            self._bar.refresh()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._timer = None
            bar, self._bar = self._bar, None
            if bar is not None:
                bar.stop()

    def _show(self) -> None:
        made = _rich_bar(forks=self._forks)
        with self._lock:
            if self._bar is not None or (self._timer is None and not self._forks):
                return
            self._task = made.add_task(self._what, total=self._total, completed=self._done)
            self._bar = made
            made.start()


def _rich_bar(*, forks: bool) -> RichProgress:
    """The line: what is done, how far it is, and since when. What is printed meanwhile is not rich's business."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress
    from rich.table import Column

    class Steps(MofNCompleteColumn):
        """Nothing where the number of steps is not known."""

        def render(self, task: Any) -> Any:
            return super().render(task) if task.total is not None else ""

    return RichProgress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        BarColumn(bar_width=20),
        Steps(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=not forks,
        refresh_per_second=5,
        redirect_stdout=False,
        redirect_stderr=False,
    )
