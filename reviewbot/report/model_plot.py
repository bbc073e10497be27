"""A CPU model's figures as pictures: each interval on one scale of cycles, in text or as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from reviewbot.rulebook.cpu_models import CpuModel, Event, Figure

_NO_CYCLES = frozenset((Event.LATER_SHARE,))
_BAR, _END, _TYPICAL = "─", "│", "●"
_SVG_WIDTH, _LABEL_WIDTH, _ROW_HEIGHT = 720, 190, 26
_MARGIN = 46


def figures_to_plot(model: CpuModel) -> tuple[Figure, ...]:
    """Those that are prices in cycles, in the order of the model."""
    return tuple(figure for figure in model.figures if figure.event not in _NO_CYCLES)


def plot_text(model: CpuModel, width: int) -> str:
    """One row for each figure: `│───●──│` from low to high, the typical value marked. `width` in columns."""
    figures = figures_to_plot(model)
    if not figures:
        return f"{model.title}: there is no figure in cycles.\n"
    labels = [_label(figure) for figure in figures]
    values = [_value(figure) for figure in figures]
    label_width, value_width = max(map(len, labels)), max(map(len, values))
    room = max(width - label_width - value_width - 4, 12)
    scale = _Scale(figures, room - 1)
    rows = [model.title, "cycles: low, typical, high" + (" (logarithmic scale)" if scale.is_logarithmic else "")]
    for label, value, figure in zip(labels, values, figures, strict=True):
        rows.append(f"{label:<{label_width}}  {_bar(figure, scale, room)}  {value}".rstrip())
    rows.append(f"{'':<{label_width}}  {_axis(scale, room)}".rstrip())
    return "\n".join(rows) + "\n"


def _bar(figure: Figure, scale: _Scale, room: int) -> str:
    low, typical, high = (round(scale.at(value)) for value in (figure.low, figure.typ, figure.high))
    cells = [" "] * room
    for at in range(low, high + 1):
        cells[at] = _BAR
    cells[low] = cells[high] = _END
    cells[typical] = _TYPICAL
    return "".join(cells)


def _axis(scale: _Scale, room: int) -> str:
    left, right = f"{scale.first:g}", f"{scale.last:g}"
    return f"{left}{right.rjust(room - len(left))}"


def plot_svg(model: CpuModel) -> str:
    """The same as one SVG picture, for light and dark pages; the numbers stand beside the bars as text."""
    figures = figures_to_plot(model)
    room = _SVG_WIDTH - _LABEL_WIDTH - _MARGIN - 150
    scale = _Scale(figures, room) if figures else None
    height = _ROW_HEIGHT * (len(figures) + 2)
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SVG_WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="currentColor" color="#345">',
        f"<title>{escape(model.title)}: cycles, low, typical and high</title>",
        f'<text x="8" y="18" font-weight="bold">{escape(model.title)}: cycles, low to high, '
        f"the dot is typical{' (logarithmic)' if scale and scale.is_logarithmic else ''}</text>",
    ]
    for at, figure in enumerate(figures, start=1):
        assert scale is not None
        rows.append(_svg_row(figure, scale, _ROW_HEIGHT * at + _ROW_HEIGHT))
    return "\n".join([*rows, "</svg>"]) + "\n"


def _svg_row(figure: Figure, scale: _Scale, y: int) -> str:
    low, typical, high = (round(_LABEL_WIDTH + scale.at(v), 1) for v in (figure.low, figure.typ, figure.high))
    middle = y - 4
    return (
        f'<text x="8" y="{y}">{escape(_label(figure))}</text>'
        f'<line x1="{low}" x2="{high}" y1="{middle}" y2="{middle}" stroke="currentColor" stroke-width="3"/>'
        f'<path d="M{low} {middle - 6}v12M{high} {middle - 6}v12" stroke="currentColor" stroke-width="1.5"/>'
        f'<circle cx="{typical}" cy="{middle}" r="4.5"/>'
        f'<text x="{_SVG_WIDTH - 160}" y="{y}">{escape(_value(figure))}</text>'
    )


class _Scale:
    """Cycles to places on a line; logarithmic where the figures differ by more than a hundred times."""

    def __init__(self, figures: Sequence[Figure], length: int) -> None:
        highest = max(figure.high for figure in figures)
        smallest = min((v for f in figures for v in (f.low, f.typ, f.high) if v > 0), default=1.0)
        self.is_logarithmic = highest / smallest > 100
        self.first = min(smallest, 1.0) if self.is_logarithmic else 0.0
        self.last = max(highest, self.first * 2, 1.0)
        self._length = length

    def at(self, value: float) -> float:
        if not self.is_logarithmic:
            return self._length * value / self.last
        share = math.log(max(value, self.first) / self.first) / math.log(self.last / self.first)
        return self._length * share


def _label(figure: Figure) -> str:
    holds = [f"since {figure.since}" if figure.since else "", f"until {figure.until}" if figure.until else ""]
    when = ", ".join(part for part in holds if part)
    return figure.event.value.replace("_", " ") + (f" ({when})" if when else "")


def _value(figure: Figure) -> str:
    return f"{figure.low:g} {figure.typ:g} {figure.high:g}, {figure.trust.value}"
