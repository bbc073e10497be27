"""`reviewbot backfill`: every series of a mail archive."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reviewbot.frontends.exits import Exit
from reviewbot.frontends.guard import say

if TYPE_CHECKING:
    from reviewbot.backfill.run import Engine
    from reviewbot.backfill.work import Task


def _engine_address(context: click.Context, option: click.Parameter, value: str) -> str:
    if value in ("processes", "dask") or value.startswith(("tcp://", "tls://")):
        return value
    raise click.BadParameter(f"{value!r} is neither processes, nor dask, nor the tcp:// address of a scheduler.")


@click.command()
@click.argument("archive", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The kernel tree that the series are for; each is reviewed on the commit that fits it.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The SQLite file with the results.  [default: ARCHIVE.backfill.sqlite, in the current directory]",
)
@click.option(
    "--jsonl", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write every result as JSON lines."
)
@click.option("-j", "--jobs", type=click.IntRange(1, 256), help="Number of workers.  [default: one for each CPU]")
@click.option(
    "--engine",
    callback=_engine_address,
    default="processes",
    show_default=True,
    metavar="processes|dask|tcp://…",
    help="Local processes, a local Dask cluster, or an existing Dask scheduler.",
)
@click.option("--timeout", type=click.FloatRange(1), default=600.0, show_default=True, help="Seconds for one series.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="End after the first N mails.")
@click.option("-q", "--quiet", is_flag=True, help="Tell no progress.")
def backfill(
    archive: Path,
    tree: Path | None,
    state: Path | None,
    jsonl: Path | None,
    jobs: int | None,
    engine: str,
    timeout: float,
    limit: int | None,
    quiet: bool,
) -> int:
    """Review every series of an archive: a public-inbox git repository, or a folder of mailboxes.

    It may be ended at any time; the next run goes on where this one was. A series that breaks its worker twice, or
    takes too long, is set aside with the reason, and the exit code is 3 then.

    \b
    Examples:
      reviewbot backfill linuxppc-dev.git --tree ~/linux
      reviewbot backfill mailboxes/ --jsonl results.jsonl --jobs 8
      reviewbot backfill lkml/ --engine tcp://scheduler:8786
    """
    from reviewbot.backfill.archive import open_archive
    from reviewbot.backfill.run import Run
    from reviewbot.backfill.store import Store, write_lines
    from reviewbot.backfill.summary import summarise
    from reviewbot.backfill.work import Task
    from reviewbot.frontends.settings import limits_in_force

    limits = limits_in_force()
    task = Task(tree=str(tree.resolve()) if tree else None, timeout_s=timeout, limits=limits.input, code=limits.code)
    opened = open_archive(archive, limits.input)
    store = Store(
        state or Path(f"{archive.resolve().name}.backfill.sqlite"), f"{archive.resolve()} on {task.tree or 'no tree'}"
    )
    workers = _engine(engine, task, jobs or os.cpu_count() or 1)
    run = Run(opened, store, workers, (lambda sentence: None) if quiet else say, limit)
    try:
        run.go()
        if jsonl:
            write_lines(store, jsonl)
        sys.stdout.write(summarise(store))
        failed = bool(store.set_aside(1)) or store.without_outcome() > 0
    finally:
        workers.close()
        store.close()
    if not quiet:
        say(run.summary())
    return Exit.NOT_REVIEWED if failed else Exit.CLEAN


def _engine(name: str, task: Task, count: int) -> Engine:
    if name == "processes":
        from reviewbot.backfill.processes import LocalProcesses

        return LocalProcesses(task, count)
    from reviewbot.backfill.cluster import DaskCluster

    return DaskCluster(task, name, count)
