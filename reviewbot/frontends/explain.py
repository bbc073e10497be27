"""`reviewbot explain RULE`: what a rule finds, why it matters, what it looks like, how to mend it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reviewbot.frontends.options import unknown

if TYPE_CHECKING:
    from reviewbot.rulebook.catalogue import CatalogueEntry


def _complete(context: click.Context, option: click.Parameter, incomplete: str) -> list[str]:
    from reviewbot.rulebook.book import load_rulebook

    return [slug for slug in load_rulebook().catalogue if slug.startswith(incomplete)]


@click.command()
@click.argument("rule", required=False, shell_complete=_complete)
@click.option("--rules", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another set of rules.")
def explain(rule: str | None, rules: Path | None) -> int:
    """Tell what RULE finds, why it matters, and how to mend it. Without RULE, list them all.

    \b
    Example:
      reviewbot explain traced_call
    """
    from reviewbot.rulebook.book import load_rulebook

    catalogue = load_rulebook(rules).catalogue
    if rule is None:
        width = max(len(slug) for slug in catalogue)
        for slug, entry in sorted(catalogue.items(), key=lambda item: (item[1].level, item[0])):
            click.echo(f"{slug:<{width}}  {entry.title}")
        return 0
    if rule not in catalogue:
        raise unknown("rule", rule, sorted(catalogue))
    click.echo(_page(catalogue[rule]))
    return 0


def _page(entry: CatalogueEntry) -> str:
    parts = [
        f"{entry.slug}: {entry.title}",
        _wrapped("What", entry.what),
        _wrapped("Why", entry.why),
        f"Bad\n{_indented(entry.bad)}",
        f"Good\n{_indented(entry.good)}",
        _wrapped("Fix", entry.fix),
        "Variants\n"
        + "\n".join(_wrapped("", f"{each.name}: {each.when}", "      ") for each in entry.variants.values()),
    ]
    if entry.evidence:
        rows = [_wrapped("", f"{each.ref}  {each.what}", "      ") for each in entry.evidence]
        parts.append("Evidence\n" + "\n".join(rows))
    return "\n\n".join(parts)


def _wrapped(title: str, text: str, hanging: str = "    ") -> str:
    import textwrap

    body = textwrap.fill(" ".join(text.split()), 78, initial_indent="    ", subsequent_indent=hanging)
    return f"{title}\n{body}" if title else body


def _indented(code: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in code.strip("\n").split("\n"))
