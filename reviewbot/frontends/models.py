"""`reviewbot models`: the CPU models, their figures, and where each figure comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reviewbot.frontends.options import complete_cpu

if TYPE_CHECKING:
    from reviewbot.rulebook.cpu_models import CpuModel, Figure


@click.command()
@click.argument("cpu", required=False, shell_complete=complete_cpu)
@click.option("--plot", is_flag=True, help="Draw the intervals of the model.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="With --plot: write an SVG picture here."
)
@click.option("--rules", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another set of rules.")
def models(cpu: str | None, plot: bool, output: Path | None, rules: Path | None) -> int:
    """List the CPU models that costs are estimated for; with CPU, every figure of that model and its source.

    \b
    Examples:
      reviewbot models power9
      reviewbot models power9 --plot
      reviewbot models power9 --plot -o power9.svg
    """
    from reviewbot.cost.environment import list_models
    from reviewbot.frontends.options import unknown
    from reviewbot.rulebook.book import load_rulebook

    if output is not None and not plot:
        raise click.UsageError("--output is for the picture of --plot.")
    if plot and cpu is None:
        raise click.UsageError("--plot draws one model; name it, as in: reviewbot models POWER9 --plot")
    known = list_models(load_rulebook(rules))
    if cpu is None:
        width = max(len(model.name) for model in known)
        for model in known:
            default = f"  (default for {', '.join(model.default_for)})" if model.default_for else ""
            click.echo(f"{model.name:<{width}}  {model.title}{default}")
        return 0
    names = {name.lower(): model for model in known for name in (model.name, *model.aliases)}
    if cpu.lower() not in names:
        raise unknown("CPU model", cpu, [model.name for model in known])
    model = names[cpu.lower()]
    if plot:
        _plot(model, output)
    else:
        click.echo(_page(model))
    return 0


def _plot(model: CpuModel, output: Path | None) -> None:
    from reviewbot.frontends.output import emit, width
    from reviewbot.report.model_plot import plot_svg, plot_text

    if output is not None:
        emit(plot_svg(model), output, for_people=False)
    else:
        emit(plot_text(model, width()), None, for_people=True)


def _page(model: CpuModel) -> str:
    rows = [f"{model.name}: {model.title}"]
    if model.aliases:
        rows.append(f"  also called   {', '.join(model.aliases)}")
    rows.append(f"  runs code of  {', '.join(model.arches) or 'every architecture'}")
    if model.default_for:
        rows.append(f"  default for   {', '.join(model.default_for)}")
    clock = f"{model.clock_ghz:g} GHz ({model.clock_source})" if model.clock_ghz else "no clock known, so no times"
    rows.append(f"  clock         {clock}")
    low, high = model.noise_percent
    rows.append(f"  noise         {low:g} to {high:g} % of an operation; less than that cannot be measured")
    rows += [_wrapped(note, "  ") for note in model.notes]
    return "\n".join([*rows, "", "Figures (cycles: typical, low to high)", *map(_figure, model.figures)])


def _figure(figure: Figure) -> str:
    holds = [f"since {figure.since}" if figure.since else "", f"until {figure.until}" if figure.until else ""]
    holds.append("with mitigations on" if figure.mitigation else "")
    when = ", ".join(part for part in holds if part)
    value = f"{figure.typ:g} ({figure.low:g} to {figure.high:g})"
    head = f"  {figure.event.value:<15} {value:<22} {figure.origin.value}, {figure.trust.value} trust  [{figure.fact}]"
    details = [f"only {when}" if when else "", figure.note, figure.source]
    return "\n".join([head, *(_wrapped(part, "      ") for part in details if part)])


def _wrapped(text: str, indent: str) -> str:
    import textwrap

    return textwrap.fill(" ".join(text.split()), 78, initial_indent=indent, subsequent_indent=indent)
