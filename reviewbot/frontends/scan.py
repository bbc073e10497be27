"""`reviewbot scan`: every function of a tree that touches user memory, ranked by what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reviewbot.frontends.options import review_options, to_wish

if TYPE_CHECKING:
    from reviewbot.facts.cache import FactCache
    from reviewbot.findings.review import Base
    from reviewbot.rulebook.book import Rulebook
    from reviewbot.source.tree import SourceTree

_RANKED = ("terminal", "text", "html", "mail", "patchwork")


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option(
    "-C",
    "--tree",
    "directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The tree: a git work tree, a bare repository (with --rev) or a folder of sources.  [default: here]",
)
@click.option("--rev", metavar="REV", help="Scan this commit, not the files of the work tree.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Report the N dearest findings alone.")
@review_options
def scan(
    paths: tuple[str, ...],
    directory: Path,
    rev: str | None,
    jobs: int,
    limit: int | None,
    **values: Any,
) -> int:
    """Review everything below PATH, or the whole tree: all that touches user memory, on every architecture.

    A report for people is in the order of cost, one for programs in the order of places. What is below the thresholds
    is held back; --all reports it, too.

    \b
    Examples:
      reviewbot scan arch/powerpc fs --cpu power9
      reviewbot scan --rev v6.1 --format json -o scan.json
    """
    from reviewbot.frontends import settings
    from reviewbot.frontends.progress import command_progress
    from reviewbot.frontends.reviewing import acceptance, conclude, prepare
    from reviewbot.scanning import ScanOptions
    from reviewbot.scanning import scan as scan_tree

    wish = to_wish(values)
    layers = settings.developer_layers(wish.config, directory)
    ready = prepare(wish, layers, command_progress(quiet=wish.quiet, forks=True))
    tree, origin = _tree(directory, rev)
    options = ScanOptions(
        review=replace(ready.options, with_edits=wish.wants_edits_of_tree),
        paths=tuple(_in_tree(path, directory, tree) for path in paths),
        jobs=jobs,
        limit=limit,
        is_ranked=wish.format in _RANKED,
        is_accepted=acceptance(wish, layers),
    )
    with _cache(ready.book, wanted=not wish.no_cache) as cache:
        return conclude(lambda: scan_tree(tree, options, ready.book, origin, cache), wish, ready, layers)


def _tree(directory: Path, rev: str | None) -> tuple[SourceTree, Base]:
    from reviewbot.errors import GitError, InputError
    from reviewbot.findings.review import Base
    from reviewbot.git import Repository
    from reviewbot.scanning import tree_of
    from reviewbot.source.folder_tree import FolderTree

    try:
        repository = Repository.open(directory)
    except GitError as error:
        if "not in a git repository" not in str(error):
            raise
        if rev is not None:
            raise InputError(f"{directory} is not in a git repository, so it has no {rev}") from None
        folder = directory.resolve()
        return FolderTree(folder), Base(rev="", how="a folder of sources without git")
    return tree_of(repository, rev)


def _in_tree(path: str, directory: Path, tree: SourceTree) -> str:
    """A path as the user means it, from the directory it was called in, as one from the top of the tree."""
    from reviewbot.errors import InputError

    root: Path | None = getattr(tree, "root", None)
    if root is None:
        return path
    full = (directory / path).resolve()
    if not full.is_relative_to(root):
        raise InputError(f"{path}: it is outside of the tree {root}")
    return full.relative_to(root).as_posix()


@contextmanager
def _cache(book: Rulebook, *, wanted: bool) -> Iterator[FactCache | None]:
    from reviewbot.config import cache_dir
    from reviewbot.facts.cache import FactCache
    from reviewbot.facts.database import Database
    from reviewbot.facts.version import stamp
    from reviewbot.frontends.guard import say

    if not wanted:
        yield None
        return
    database = Database(cache_dir(), say)
    try:
        yield FactCache(database, stamp(book))
    finally:
        database.close()
