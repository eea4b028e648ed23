"""Tables with intervals as HTML: rows with bars for one attribute, cross tables for two, small multiples for more.

Functions from values to text: whoever has an axis and numbers can have them drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import isnan

import numpy as np

from margrave.errors import UsageError
from margrave.messages.catalogue import say
from margrave.publish.report.html import broken, scrolling
from margrave.publish.report.svg import Scale, bar
from margrave.publish.report.values import Intervals, Titled, percentage, span, written

Write = Callable[[float, float], str]
"""A number as text, by its value and the half-width of its interval."""
NOBODY = "–"
"""In place of a share of nobody."""
WIDE, VAST = 10, 18
"""With more columns than the first a table is printed across the page, with more than the second in small letters."""
SHADE = 0.34
"""The strongest shade of a cell: letters stay readable on it, in the light and in the dark."""


@dataclass(frozen=True, eq=False)
class Cross:
    """The cells of two attributes, and the totals of rows, of columns and of all where these are known."""

    down: Titled
    across: Titled
    cells: Intervals
    rows: Intervals | None = None
    columns: Intervals | None = None
    total: Intervals | None = None

    def __post_init__(self) -> None:
        if self.cells.value.shape != (len(self.down), len(self.across)):
            raise UsageError("a cross table needs a cell for each two values")

    @property
    def turned(self) -> Cross:
        """The same with its attributes exchanged."""
        return Cross(self.across, self.down, self.cells.ordered((1, 0)), self.columns, self.rows, self.total)

    @property
    def upright(self) -> Cross:
        """The same, higher than wide: pages are scrolled down, and telephones are narrow."""
        return self.turned if len(self.across) > len(self.down) else self


def shaded(shade: float) -> list[str]:
    """The class of a shade, by hundredths in steps of two: `report.css` has each of them, up to 66.

    A class, since the policy of pages allows no style but that of the page.
    """
    step = round(50 * shade)
    return [f"s{2 * step}"] if step else []


def number_cell(numbers: Intervals, at: tuple[int, ...], write: Write = written, shade: float = 0.0) -> str:
    """A number over its interval, as the cell of a table."""
    value, low, high = (float(one[at]) for one in (numbers.value, numbers.low, numbers.high))
    if isnan(value):
        return f"<td>{NOBODY}</td>"
    width = max(value - low, high - value)
    kinds = [*(["unsure"] if low <= 0 < high else []), *shaded(shade)]
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    under = say("exact") if low == high else span(low, high, width, write)
    return f"<td{kind}><b>{escape(write(value, width))}</b> <small>{escape(under)}</small></td>"


def cross_table(
    cross: Cross, caption: str, write: Write = written, strongest: float = SHADE, most: float | None = None
) -> str:
    """A cross table, the darker the larger, with totals where they are known.

    ``strongest``: the shade of the largest cell, or of ``most`` where several tables share their shades.
    """
    most = (float(np.nanmax(cross.cells.value, initial=0.0)) if most is None else most) or 1.0
    more = ["all"] if cross.rows is not None else []
    names = [f'<th scope="col">{broken(label)}</th>' for label in cross.across.labels]
    names += [f'<th scope="col" class="all">{escape(say("All"))}</th>' for _ in more]
    head = (
        f'<tr><th rowspan="2" scope="col" class="text">{broken(cross.down.name)}</th>'
        f'<th colspan="{len(names)}" scope="colgroup" class="over">{broken(cross.across.name)}</th></tr>'
        f"<tr>{''.join(names)}</tr>"
    )
    body = []
    for down, label in enumerate(cross.down.labels):
        cells = [
            number_cell(cross.cells, (down, across), write, strongest * float(value) / most if value > 0 else 0.0)
            for across, value in enumerate(cross.cells.value[down])
        ]
        if cross.rows is not None:
            cells.append(number_cell(cross.rows, (down,), write).replace("<td", "<td data-all", 1))
        body.append(f'<tr><th scope="row">{broken(label)}</th>{"".join(cells)}</tr>')
    foot = _foot(cross, write)
    inner = f"<caption>{escape(caption)}</caption><thead>{head}</thead><tbody>{''.join(body)}</tbody>{foot}"
    kind = "cross vast" if len(names) > VAST else "cross wide" if len(names) > WIDE else "cross"
    return scrolling(f'<table class="{kind}">{inner}</table>', caption)


def _foot(cross: Cross, write: Write) -> str:
    if cross.columns is None:
        return ""
    cells = [number_cell(cross.columns, (across,), write) for across in range(len(cross.across))]
    if cross.rows is not None:
        cells.append("<td></td>" if cross.total is None else number_cell(cross.total, (), write))
    return f'<tfoot><tr><th scope="row">{escape(say("All"))}</th>{"".join(cells)}</tr></tfoot>'


def bar_table(
    axis: Titled,
    cells: Intervals,
    caption: str,
    *,
    shares: Intervals | None = None,
    named: str = "",
    write: Write = written,
    scale: Scale | None = None,
) -> str:
    """A row for each value: its number with a bar and its interval, and its share where that is known.

    ``scale``: of its bars, where several tables share one.
    """
    scale = scale or Scale.of(cells)
    head = [
        f'<th scope="col" class="text">{broken(axis.name)}</th>',
        f'<th scope="col" class="bars">{escape(say("How many"))}</th>',
    ]
    head += [
        f'<th scope="col">{escape(named or say("Count"))}</th>',
        *([f'<th scope="col">{escape(say("Share"))}</th>'] if shares is not None else []),
    ]
    body = []
    for at, label in enumerate(axis.labels):
        drawn = bar(scale, cells, at)
        share = number_cell(shares, (at,), percentage) if shares is not None else ""
        cell = number_cell(cells, (at,), write)
        row = f'<th scope="row">{broken(label)}</th><td class="bars">{drawn}</td>{cell}{share}'
        body.append(f"<tr>{row}</tr>")
    inner = f"<caption>{escape(caption)}</caption><thead><tr>{''.join(head)}</tr></thead><tbody>{''.join(body)}</tbody>"
    return scrolling(f'<table class="bar-table">{inner}</table>', caption)


def small_multiples(panels: Sequence[tuple[str, Cross]]) -> str:
    """The same cross table once for each value, or values, of the other attributes."""
    return f'<div class="panels">{"".join(cross_table(cross, words) for words, cross in panels)}</div>'
