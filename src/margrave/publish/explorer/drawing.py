"""A view as HTML: a cross table, bars with intervals, or small multiples, from its figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from itertools import product
from math import prod

import numpy as np

from margrave.publish.explorer.figures import Figures
from margrave.publish.explorer.grid import ShownAxis
from margrave.publish.report.cross import SHADE, Cross, Write, bar_table, cross_table
from margrave.publish.report.svg import Scale
from margrave.publish.report.values import Intervals, Titled, percentage, written

MOST_ROWS, MOST_ACROSS, MOST_CELLS = 400, 100, 1_000
"""Rows, columns and cells of a view that a page draws; its CSV has all."""
_HEAT = 0.66
"""The strongest shade of a heat map: letters are still read on it, in the light and in the dark."""


@dataclass(frozen=True)
class Words:
    """What a drawing says, in the reader's language."""

    caption: str
    number: str
    some: Callable[[int], str]


def drawn(figures: Figures, words: Words) -> str:
    """The numbers of a view as its chart asks for."""
    view = figures.view
    write: Write = written if view.share == "none" else percentage

    if view.chart == "panels" and len(view.shown) > 2:
        return _panels(figures, words, write)
    down, across, flat = _flattened(figures)
    wide = min(len(across), MOST_ACROSS)
    order = _order(flat.value, view.order)[: min(MOST_ROWS, max(1, MOST_CELLS // wide))]
    whole = len(order) == len(down) and wide == len(across)
    said = words.caption if whole else f"{words.caption} {words.some(len(order))}"
    kept = Titled(down.name, tuple(down.labels[at] for at in order))
    across = Titled(across.name, across.labels[:wide])
    cells = flat.part((order, slice(0, wide)))
    bars = view.chart == "bars" or not view.columns
    if bars and not np.isnan(cells.value).any():
        scale = Scale.of(cells)
        return "".join(
            bar_table(
                kept,
                cells.part((slice(None), at)),
                f"{across.name}: {label}. {said}" if label else said,
                named=words.number,
                write=write,
                scale=scale,
            )
            for at, label in enumerate(across.labels)
        )
    rows = None if figures.rows is None else figures.rows.shaped((len(down),)).part(order)
    columns = None if figures.columns is None else figures.columns.shaped((-1,)).part(slice(0, wide))
    total = None if figures.total is None else figures.total.shaped(())
    strongest = _HEAT if view.chart == "heat" else SHADE
    return cross_table(Cross(kept, across, cells, rows, columns, total), said, write, strongest)


def _flattened(figures: Figures) -> tuple[Titled, Titled, Intervals]:
    """All attributes down as one, and all across as one."""
    cut, end = len(figures.view.rows), len(figures.view.shown)
    down, across = _together(figures.grid.axes[:cut]), _together(figures.grid.axes[cut:end])
    return down, across, figures.cells.shaped((len(down), len(across)))


def _together(axes: tuple[ShownAxis, ...]) -> Titled:
    labels = tuple(" · ".join(one) for one in product(*(axis.labels for axis in axes)))
    return Titled(" × ".join(axis.title for axis in axes), labels)


def _order(values: np.ndarray, order: str) -> list[int]:
    """The rows in the order that is asked for, by the sum of their numbers."""
    if order == "declared":
        return list(range(len(values)))
    sums = np.nansum(values, axis=1)
    return [int(at) for at in np.argsort(sums if order == "smallest" else -sums, kind="stable")]


def _panels(figures: Figures, words: Words, write: Write) -> str:
    """One table for each value, or values, of the attributes before the last two."""
    axes = figures.grid.axes[: len(figures.view.shown)]
    first, pair = axes[:-2], axes[-2:]
    cells = figures.cells.shaped((prod(map(len, first)), *map(len, pair)))
    most = max(1, MOST_CELLS // (len(pair[0]) * len(pair[1])))
    parts = list(enumerate(product(*(axis.labels for axis in first))))
    largest = float(np.nanmax(cells.value, initial=0.0))
    found = [
        cross_table(
            Cross(pair[0].titled, pair[1].titled, cells.part(at)),
            " · ".join(f"{axis.title}: {label}" for axis, label in zip(first, labels, strict=True)),
            write,
            most=largest,
        )
        for at, labels in parts[:most]
    ]
    said = f"{words.caption} {words.some(most * len(pair[0]))}" if len(parts) > most else words.caption
    said = f'<p class="note">{escape(said)}</p>'
    return f'{said}<div class="panels">{"".join(found)}</div>'
