"""Pictures of published tables for notebooks and papers, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.errors import UsageError
from margrave.publish.report.tables import Shown
from margrave.publish.report.values import Intervals, Titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from margrave.publish.released import Released

MOST_PANELS = 24
_PANELS_ACROSS = 3
_SPREAD = 0.8
"""How much of the room of a value its bars or points take up."""


def plot(release: Released, names: tuple[str, ...]) -> Figure:
    """One attribute as bars, two as groups of points, three as small multiples; a line is the interval of each."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'margrave[plot]'") from None

    margin = release.domain.margin(names)
    if not 1 <= len(margin) <= 3:
        raise UsageError("a plot shows one to three attributes: name those")
    shown = Shown(release, margin)
    # In the order in which they were named: the first runs down, the second is told apart by colours.
    order = [margin.index(name) for name in names]
    axes, numbers = [shown.axes[at] for at in order], shown.numbers.ordered(order)
    panels = len(axes[2]) if len(axes) == 3 else 1
    if panels > MOST_PANELS:
        raise UsageError(f"{names[2]!r} has {panels} values, too many for small multiples: name another last")
    across = min(panels, _PANELS_ACROSS)
    down = -(-panels // across)
    height = 1.2 + 0.45 * len(axes[0]) * (1 if len(axes) == 1 else 1.4)
    figure = Figure(figsize=(4.2 * across + 2.6, height * down), layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for at, place in enumerate(grid):
        if at >= panels:
            place.set_visible(False)
            continue
        _panel(place, axes, numbers if len(axes) < 3 else numbers.part((..., at)))
        if len(axes) == 3:
            place.set_title(f"{axes[2].name}: {axes[2].labels[at]}", fontsize="medium", loc="left")
    if len(axes) > 1:
        figure.legend(*grid[0].get_legend_handles_labels(), title=axes[1].name, loc="outside right upper")
    figure.suptitle(shown.title, x=0.01, ha="left", fontweight="bold")
    figure.supxlabel(f"published count, with {shown.percent} intervals", fontsize="small")
    return figure


def _panel(place: Any, axes: list[Titled], numbers: Intervals) -> None:
    """The values of the first attribute downwards in the declared order; those of the second beside one another."""
    rows = np.arange(len(axes[0]))
    if len(axes) == 1:
        place.barh(
            rows, numbers.value, height=_SPREAD, color="#8fb5d0", xerr=_reach(numbers), capsize=3, ecolor="#1b2530"
        )
    else:
        step = _SPREAD / len(axes[1])
        for at, label in enumerate(axes[1].labels):
            one = numbers.part((slice(None), at))
            shifted = rows + step * (at - (len(axes[1]) - 1) / 2)
            place.errorbar(one.value, shifted, xerr=_reach(one), fmt="o", markersize=4, capsize=2, label=label)
    place.set_yticks(rows, axes[0].labels)
    place.set_ylim(len(rows) - 0.5, -0.5)
    place.set_ylabel(axes[0].name)
    place.axvline(0, color="#55626f", linewidth=0.8)
    place.spines[["top", "right"]].set_visible(False)


def _reach(numbers: Intervals) -> Any:
    """How far each interval reaches to the left and to the right of its number."""
    return np.stack([np.maximum(numbers.value - numbers.low, 0), np.maximum(numbers.high - numbers.value, 0)])
