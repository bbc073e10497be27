"""Runs commands and takes their time and their memory, interleaved with the yardstick of each."""

from __future__ import annotations

import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table. `ratio` is that of the medians; `note` holds the seconds, for scale."""

    job: str
    yardstick: str
    target: str
    ratio: str
    note: str


@dataclass(frozen=True, kw_only=True)
class Command:
    """What is run. `prepare` runs before each time, untimed; `accept` are the exit codes that mean it worked."""

    arguments: Sequence[str | Path]
    directory: Path
    environment: Mapping[str, str]
    prepare: Callable[[], None] = lambda: None
    accept: Sequence[int] = (0,)

    def seconds(self) -> float:
        self.prepare()
        began = time.perf_counter()
        done = subprocess.run(
            [str(each) for each in self.arguments],
            cwd=self.directory,
            env=dict(self.environment),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        took = time.perf_counter() - began
        if done.returncode not in self.accept:
            raise SystemExit(f"{self.arguments} gave {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
        return took


def compare(job: str, yardstick: str, target: str, ours: Command, theirs: Command, times: int) -> Row:
    """Run both in turn, `times` times, and compare the medians."""
    pairs = [(theirs.seconds(), ours.seconds()) for _ in range(times)]
    base, own = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Row(
        job=job,
        yardstick=yardstick,
        target=target,
        ratio=f"{own / base:.2f}x",
        note=f"{own:.2f} s against {base:.2f} s",
    )


def compare_sizes(job: str, target: str, small: Command, large: Command, times: int) -> Row:
    """How the time grows from one input to one that is twice as large."""
    return compare(job, "half of it", target, large, small, times)


def peak_bytes(command: Command) -> int:
    """The most memory that a command and its children had at one time, pages that they share counted once (PSS)."""
    command.prepare()
    process = subprocess.Popen(
        [str(each) for each in command.arguments],
        cwd=command.directory,
        env=dict(command.environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    most = 0
    ended = threading.Event()
    waiting = threading.Thread(target=lambda: (process.wait(), ended.set()))
    waiting.start()
    while not ended.wait(0.2):
        most = max(most, sum(_shared_out_bytes(each) for each in _family(process.pid)))
    waiting.join()
    return most


def _family(root: int) -> list[int]:
    found, waiting = [root], [root]
    while waiting:
        parent = waiting.pop()
        try:
            listed = Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split()
        except OSError:
            continue
        found += map(int, listed)
        waiting += map(int, listed)
    return found


def _shared_out_bytes(process: int) -> int:
    try:
        rows = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(row.split()[1]) << 10 for row in rows if row.startswith("Pss:")), 0)
