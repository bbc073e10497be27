"""How far long work is: told by the stages, shown by whoever listens."""

from __future__ import annotations


class Progress:
    """Is told how far the work is; by itself it does nothing."""

    def start(self, what: str, total: int | None = None) -> None:
        """A stage begins: a few words on what is done, and of how many steps it has, where that is known."""

    def advance(self, done: int) -> None:
        """So many steps are done."""

    def tick(self) -> None:
        """The work goes on; told now and then by whoever waits for it."""

    def stop(self) -> None:
        """The work is over, or something else is to be shown. May be told twice."""
