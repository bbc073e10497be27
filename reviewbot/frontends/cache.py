"""`reviewbot cache`: what is kept from run to run, and how to get rid of it."""

from __future__ import annotations

import sqlite3

import click


@click.command()
@click.argument("action", type=click.Choice(["show", "clear"]), default="show")
def cache(action: str) -> int:
    """Show what is kept from run to run, or clear it. It may be cleared at any time; the next run is slower."""
    from reviewbot.config import cache_dir
    from reviewbot.errors import DeliveryError
    from reviewbot.facts.database import LIMIT_BYTES, TABLES, Database
    from reviewbot.frontends.guard import say

    database = Database(cache_dir(), say)
    size_bytes = database.size_bytes()
    if action == "clear":
        try:
            database.clear()
            for path in (*database.path.parent.glob("rules-*.json"), database.path.with_name("hook-words")):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise DeliveryError(f"{database.path}: the cache cannot be deleted: {error.strerror}.") from error
        click.echo(f"{database.path}: {_megabytes(size_bytes)} deleted")
        return 0
    click.echo(f"{database.path}\n{_megabytes(size_bytes)} of at most {_megabytes(LIMIT_BYTES)}")
    if not size_bytes:
        return 0

    def count(connection: sqlite3.Connection) -> dict[str, int]:
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}

    none: dict[str, int] = {}
    counts = database.attempt(count, none)
    database.close()
    words = {
        "snapshot": "states of a tree",
        "entry": "files inspected",
        "sight": "states of a series",
        "content": "changed files remembered",
    }
    for table, number in counts.items():
        click.echo(f"{number:>8}  {words[table]}")
    return 0


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 20):.1f} MiB"
