"""`reviewbot budget`: how often one call of a function opens user access, with every place that was counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reviewbot.frontends.options import cpu_option

if TYPE_CHECKING:
    from reviewbot.cost.rate import BaseRate
    from reviewbot.source.tree import SourceTree


@click.command()
@click.argument("functions", metavar="FUNCTION", nargs=-1, required=True)
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The kernel tree: a git work tree, a bare repository or a folder of sources.  [default: here]",
)
@click.option("--rev", metavar="REV", help="A commit of it, instead of the files as they are.")
@click.option("--arch", metavar="ARCH", help="Count for this architecture, a directory below arch/.")
@cpu_option
@click.option("--mitigations", metavar="on|off", help="Whether CPU mitigations are on.")
@click.option("--kernel", metavar="VERSION", help="The kernel version that costs are for.  [default: the tree's]")
@click.option("--define", "defined", multiple=True, metavar="CONFIG_X", help="Count with this option on.")
@click.option("--undef", "undefined", multiple=True, metavar="CONFIG_X", help="Count with this option off.")
@click.option("--base-rate", metavar="RATE", help="Operations a second and the clock, as 158408/s@3.8GHz.")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it here, not to stdout.")
@click.option("--rules", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another set of rules.")
def budget(
    functions: tuple[str, ...],
    tree: Path,
    rev: str | None,
    arch: str | None,
    cpu: str | None,
    mitigations: str | None,
    kernel: str | None,
    defined: tuple[str, ...],
    undefined: tuple[str, ...],
    base_rate: str | None,
    form: str,
    output: Path | None,
    rules: Path | None,
) -> int:
    """Count how many times one call of FUNCTION opens and closes user access: the fewest, the typical and the most
    pairs over its branches, loops as they are written, helpers and macros included. FUNCTION is a name, path:name, or
    a system call.

    \b
    Examples:
      reviewbot budget handle_rt_signal64 --tree ~/linux
      reviewbot budget rt_sigreturn --arch powerpc --undef CONFIG_COMPAT
      reviewbot budget fs/select.c:do_sys_poll --cpu zen2 --format json
    """
    from reviewbot.cost.function_budget import function_budgets
    from reviewbot.cost.rate import parse_base_rate
    from reviewbot.frontends.choices import cpu_of_options, to_configuration
    from reviewbot.frontends.output import emit
    from reviewbot.frontends.progress import command_progress
    from reviewbot.frontends.settings import limits_in_force
    from reviewbot.report.budget import render_json, render_text
    from reviewbot.rulebook.book import load_rulebook
    from reviewbot.source.version import kernel_version

    tell = command_progress(quiet=False)
    tell.start("counting switches")
    book = replace(load_rulebook(rules), limits=limits_in_force().code)
    base: BaseRate | None = parse_base_rate(base_rate) if base_rate else None
    configuration = to_configuration(defined, undefined)
    source = open_tree(tree, rev)
    choice = cpu_of_options(book, cpu, mitigations, kernel)
    if choice.environment.kernel is None:
        choice = replace(choice, environment=replace(choice.environment, kernel=kernel_version(source)))
    budgets = function_budgets(source, functions, book, choice, arch=arch, configuration=configuration)
    text = render_json(budgets, base) if form == "json" else render_text(budgets, base)
    tell.stop()
    emit(text, output, for_people=form == "text")
    return 0


def open_tree(directory: Path, rev: str | None) -> SourceTree:
    """The commit `rev` of the repository, or the files as they are. Raises UsageError."""
    from reviewbot.git import Repository
    from reviewbot.source.folder_tree import FolderTree, is_git
    from reviewbot.source.git_tree import CommitTree, WorkTree

    if not is_git(directory):
        if rev is not None:
            raise click.UsageError(f"{directory} is a folder without git, so it has no {rev!r}.")
        return FolderTree(directory.resolve())
    repository = Repository.open(directory)
    if rev is None and repository.root is not None:
        return WorkTree(repository, repository.root)
    return CommitTree(repository, repository.resolve(rev or "HEAD"), label=rev or "HEAD")
