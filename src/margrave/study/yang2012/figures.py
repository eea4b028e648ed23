"""The plots, in the paper's form: the mean with one standard deviation on either side, one panel up to ε = 1, with
logarithmic axes, and one from there.

A contender has the same colour, marker and dashes everywhere; the colours are those of Okabe and Ito, which people who
are colour-blind can tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator
from PIL import Image

from margrave.study.yang2012.grid import CONTENDERS, PROGRAMS, RIVALS, TABLES, TITLES
from margrave.study.yang2012.subjects import private_as_printed, real_factor, subject

if TYPE_CHECKING:
    from margrave.study.yang2012.summary import Summary

STYLES: dict[str, dict[str, Any]] = {
    "printed": {"color": "#D55E00", "marker": "o", "linestyle": "-"},
    "corrected": {"color": "#CC79A7", "marker": "s", "linestyle": "--"},
    "barak": {"color": "#0072B2", "marker": "^", "linestyle": "-."},
    "mwem": {"color": "#E69F00", "marker": "v", "linestyle": ":"},
    "margrave": {"color": "#009E73", "marker": "D", "linestyle": "-"},
    "adaptive": {"color": "#56B4E9", "marker": "P", "linestyle": "--"},
}
_DPI = 96
_COLOURS = 64
_TEXT: Any = {"font.size": 9, "axes.titlesize": 9.5, "axes.spines.top": False, "axes.spines.right": False}


@dataclass(frozen=True)
class Plot:
    """One figure of means: its measure, what the vertical axis says, and the reference line of each table, if any."""

    measure: str
    label: str
    tables: tuple[str, ...] = TABLES
    contenders: tuple[str, ...] = CONTENDERS
    logarithmic: bool = True
    reference: str = ""
    top: float | None = None


PLOTS = {
    "figure-1": Plot("size", "released sample size", reference="total"),
    "figure-2": Plot("largest", "maximal L1 of a table", reference="total"),
    "figure-3": Plot("g2_difference", "|difference of G²|"),
    "figure-4": Plot("l1", "L1 between fits", logarithmic=False, reference="from_uniform", top=2.0),
    "figure-5": Plot("infeasible", "part of runs with b > 0", ("fungus",), PROGRAMS, logarithmic=False, top=1.0),
    "figure-6": Plot("bound", "optimum b", ("fungus",), PROGRAMS),
}
"""The paper's six figures."""


def draw(summary: Summary) -> dict[str, bytes]:
    """Every figure as a PNG file, by name; ``figure-7`` is ours, the ratios of errors."""
    with mpl.rc_context(_TEXT):
        found = {name: _png(_means(summary, plot)) for name, plot in PLOTS.items()}
        return {**found, "figure-7": _png(_ratios(summary))}


def _means(summary: Summary, plot: Plot) -> Figure:
    rows = len(plot.tables)
    figure = Figure(figsize=(8.2, 2.15 * rows + 0.8), layout="constrained")
    panels = figure.subplots(rows, 2, squeeze=False)
    halves = [_half(summary, below=True), _half(summary, below=False)]
    for row, table in zip(panels, plot.tables, strict=True):
        for axes, epsilons, below in zip(row, halves, (True, False), strict=True):
            _lines(axes, summary, plot, table, epsilons)
            _count_axis(axes, plot, table, below=below)
            _epsilon_axis(axes, epsilons, below=below)
        row[0].set_ylabel(plot.label)
        row[0].set_title(_named(table), loc="left", fontweight="bold")
        row[1].set_title(_warning(table, plot), loc="right", color="#555555")
    for axes, text in zip(panels[-1], ("ε up to 1", "ε from 1"), strict=True):
        axes.set_xlabel(text)
    _legend(figure, panels[0][0], 4)
    return figure


def _half(summary: Summary, *, below: bool) -> list[Fraction]:
    """The values of ε on one side of 1, which is on both."""
    return [epsilon for epsilon in summary.settings.epsilons if epsilon == 1 or (epsilon < 1) == below]


def _named(table: str) -> str:
    return f"{subject(table).title} (n = {subject(table).total})"


def _warning(table: str, plot: Plot) -> str:
    whose = subject(table)
    if "printed" not in plot.contenders or private_as_printed(whose):
        return ""
    return f"as printed: not private, real ε is {float(real_factor(whose)):.4g} times that shown"


def _lines(axes: Axes, summary: Summary, plot: Plot, table: str, epsilons: Sequence[Fraction]) -> None:
    x = [float(epsilon) for epsilon in epsilons]
    for contender in plot.contenders:
        spreads = [summary.spread(plot.measure, table, contender, epsilon) for epsilon in epsilons]
        mean = np.array([one.mean for one in spreads])
        away = np.array([one.deviation for one in spreads])
        axes.plot(x, mean, label=TITLES[contender], markersize=3.5, linewidth=1.4, **STYLES[contender])
        if plot.measure != "infeasible":
            # A logarithmic axis cannot show a band that reaches zero: it is cut off well below the mean.
            low = np.maximum(mean - away, mean / 20)
            axes.fill_between(x, low, mean + away, color=STYLES[contender]["color"], alpha=0.14, linewidth=0)


def _count_axis(axes: Axes, plot: Plot, table: str, *, below: bool) -> None:
    if plot.reference and (below or plot.measure == "size"):
        label = "true sample size" if plot.reference == "total" else "uniform distribution"
        axes.axhline(getattr(subject(table), plot.reference), color="black", linewidth=0.8, linestyle=":", label=label)
    if plot.logarithmic and below:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif plot.measure != "size":
        axes.set_ylim(0, plot.top * 1.04 if plot.top is not None and (below or plot.measure == "infeasible") else None)
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _plain(value: float, _: int) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def _epsilon_axis(axes: Axes, epsilons: Sequence[Fraction], *, below: bool) -> None:
    if not below:
        axes.set_xlim(0.97, 2.03)
        return
    axes.set_xscale("log")
    ticks = [tick for tick in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if tick >= float(epsilons[0]) * 0.99]
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _legend(figure: Figure, axes: Axes, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False, fontsize=8.5)


def _ratios(summary: Summary) -> Figure:
    """Margrave's mean maximal L1 error, divided by each other contender's."""
    epsilons = summary.settings.epsilons
    figure = Figure(figsize=(8.2, 5.7), layout="constrained")
    panels = figure.subplots(2, 2, sharey=True).ravel()
    for axes, table in zip(panels, TABLES, strict=True):
        for other in RIVALS:
            ratios = [summary.ratio(table, other, epsilon) for epsilon in epsilons]
            errors = [summary.ratio_error(table, other, epsilon) for epsilon in epsilons]
            label = f"Margrave / {TITLES[other]}"
            style = {**STYLES[other], "markersize": 3.5, "linewidth": 1.4, "elinewidth": 0.8}
            axes.errorbar([float(epsilon) for epsilon in epsilons], ratios, errors, label=label, **style)
        axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
        axes.set_title(_named(table), loc="left", fontweight="bold")
        axes.set_xscale("log")
        axes.set_xticks([0.005, 0.02, 0.1, 0.5, 2])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(_plain))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    for axes in panels[::2]:
        axes.set_ylabel("ratio of mean maximal L1")
    for axes in panels[-2:]:
        axes.set_xlabel("ε")
    _legend(figure, panels[0], 3)
    return figure


def _png(figure: Figure) -> bytes:
    """A small file: few colours are enough for lines and bands."""
    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(_DPI)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    picture = Image.fromarray(pixels).convert("RGB")
    out = BytesIO()
    picture.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        out, "PNG", optimize=True
    )
    return out.getvalue()
