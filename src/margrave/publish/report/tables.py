"""One published table in the report: a plot with error bars or a heat map, and all its numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Margin
from margrave.algebra.words import number
from margrave.publish.numbers import DECIMALS
from margrave.publish.numbers import rounded as decimals
from margrave.publish.report import svg
from margrave.publish.report.html import details, paragraph, table
from margrave.spec.codebook import Codebook

if TYPE_CHECKING:
    from margrave.publish.released import Released

MOST_BARS = 32
MOST_ROWS = 250
_MOST_DOWN = 64
_MOST_ACROSS = 24
_DIFFERING = 5
_SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Shown:
    """A published table with its errors, its labels and its unbiased counts, as flat columns."""

    release: Released
    margin: Margin

    @property
    def codebook(self) -> Codebook:
        return self.release.plan.spec.codebook

    def name(self, axis: int) -> str:
        """The title of an attribute, or its name."""
        return self.codebook[self.margin[axis]].title or self.margin[axis]

    @property
    def title(self) -> str:
        return " × ".join(map(self.name, range(len(self.margin)))) or "Total"

    @property
    def percent(self) -> str:
        """The level of the intervals in words."""
        return f"{100 * self.release.level:g} %"

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        published = self.release.table(*self.margin)
        found = {name: published[name].to_numpy() for name in ("count", "std_error", "low", "high")}
        found["unbiased"] = self.release.unbiased(self.margin).ravel()
        # As the files have them, so that the page can be made again from these.
        return {name: decimals(numbers) for name, numbers in found.items()}

    def value(self, index: int, axis: int) -> str:
        """The label of a cell's value of one attribute alone, for places that name the attribute."""
        return self.codebook[self.margin[axis]].label(self._raw(index, axis))

    def _raw(self, index: int, axis: int) -> str:
        code = np.unravel_index(index, self.release.domain.shape(self.margin))[axis]
        return self.release.domain[self.margin[axis]].values[code]

    def values(self, index: int) -> list[str]:
        """The labels of all values of a cell."""
        return [self.value(index, axis) for axis in range(len(self.margin))]

    def words(self, index: int) -> list[str]:
        """A cell in words; a value without a label is shown with its attribute, since "no" alone says little."""
        found = []
        for axis, name in enumerate(self.margin):
            value = self._raw(index, axis)
            bare = value if len(self.margin) == 1 else f"{svg.shortened(name, 18)}: {value}"
            found.append(self.codebook[name].labels.get(value) or bare)
        return found or ["all records"]

    def text(self, index: int) -> str:
        """A count in as many digits as its error leaves standing, and the half-width of its interval."""
        count, error = (float(self.columns[name][index]) for name in ("count", "std_error"))
        if not error:
            return f"{rounded(count, 0.0)} exact"
        widths = count - float(self.columns["low"][index]), float(self.columns["high"][index]) - count
        return f"{rounded(count, error)} ±{rounded(max(widths), error)}"

    def label(self, index: int) -> str:
        return " · ".join(self.words(index))

    @property
    def differs(self) -> bool:
        """Whether published and unbiased counts differ anywhere."""
        return bool((np.abs(self.columns["count"] - self.columns["unbiased"]) > _SAME).any())


def rounded(value: float, error: float) -> str:
    """A number without the digits that its standard error makes meaningless."""
    decimals = 0 if error >= 1 or value == int(value) else 1
    text = f"{value:.{decimals}f}"
    return text if float(text) else text.removeprefix("-")


def table_section(release: Released, margin: Margin, index: int, file: str) -> str:
    """A plot of a table, what its readers should know, and its numbers."""
    shown = Shown(release, margin)
    cells = len(shown.columns["count"])
    grid = _grid(shown) if cells > MOST_BARS else None
    if grid is not None:
        plot, caption = _heat(shown, grid, f"table-{index}"), _heat_caption(shown, grid)
    else:
        plot, caption = _bars(shown, f"table-{index}"), _bars_caption(shown, cells)
    return (
        f'<article aria-labelledby="name-{index}"><h3 id="name-{index}">{escape(shown.title)}</h3>'
        f"<figure>{plot}<figcaption>{caption}{_misfit(shown)}</figcaption></figure>"
        f"{_difference(shown)}{details('The numbers as a table', _numbers(shown, file))}</article>"
    )


def _misfit(shown: Shown) -> str:
    """How far fitted records are from the noisy answers; nothing where no records were fitted."""
    published = shown.release.publication
    if published is None or shown.margin not in published.misfits:
        return ""
    found = number(round(published.misfits[shown.margin], DECIMALS))
    return f" Misfit of the records to the noisy answers: χ² {found} for each degree of freedom; noise alone gives 1."


def _bars_caption(shown: Shown, cells: int) -> str:
    largest = f" The {MOST_BARS} largest of {cells} cells are shown." if cells > MOST_BARS else ""
    return (
        '<span class="key"></span> published count <span class="key line"></span> where the true count lies with '
        f'{shown.percent} probability <span class="key round"></span> unbiased estimate.{largest}'
    )


def _heat_caption(shown: Shown, grid: tuple[int, ...]) -> str:
    widest = float((shown.columns["high"] - shown.columns["low"]).max()) / 2
    *down, across = (escape(shown.name(axis)) for axis in grid)
    return (
        f"Down: {', '.join(down)}. Across: {across}. Published counts: the darker, the more. Each lies within about "
        f"±{number(widest)} of the true count with {shown.percent} probability."
    )


def _description(shown: Shown) -> str:
    counts = shown.columns["count"]
    top, bottom = int(counts.argmax()), int(counts.argmin())
    typical = number(float(np.median(shown.columns["std_error"])))
    return (
        f"{len(counts)} cells. The largest is {shown.label(top)} with {number(float(counts[top]))}, the smallest "
        f"{shown.label(bottom)} with {number(float(counts[bottom]))}; a typical standard error is {typical}. "
        "All numbers follow in the table below."
    )


def _bars(shown: Shown, identity: str) -> str:
    found = shown.columns
    order: list[int] = list(range(len(found["count"])))
    if len(order) > MOST_BARS:
        order = np.argsort(-found["count"], kind="stable")[:MOST_BARS].tolist()
    names = ("count", "low", "high", "unbiased")
    rows = []
    for index in order:
        numbers = (float(found[name][index]) for name in names)
        rows.append(svg.Bar(shown.words(index), shown.text(index), *numbers))
    return svg.bars(identity, f"{shown.title}: counts with error bars", _description(shown), rows)


def _grid(shown: Shown) -> tuple[int, ...] | None:
    """The axes of a heat map, the one that runs across last; None where it would be too large to read."""
    sizes = shown.release.domain.shape(shown.margin)
    if len(sizes) < 2:
        return None
    fitting = [axis for axis, size in enumerate(sizes) if size <= 8] or list(range(len(sizes)))
    across = max(fitting, key=lambda axis: (sizes[axis], axis)) if sizes else 0
    if len(sizes) == 2:
        across = min(range(2), key=lambda axis: (sizes[axis], -axis))
    down = tuple(axis for axis in range(len(sizes)) if axis != across)
    if sizes[across] > _MOST_ACROSS or prod(sizes[axis] for axis in down) > _MOST_DOWN:
        return None
    return (*down, across)


def _heat(shown: Shown, order: tuple[int, ...], identity: str) -> str:
    shape = shown.release.domain.shape(shown.margin)
    places = np.arange(prod(shape)).reshape(shape).transpose(order).reshape(-1, shape[order[-1]])
    counts, errors = shown.columns["count"], shown.columns["std_error"]
    rows = [" · ".join(shown.value(row[0], axis) for axis in order[:-1]) for row in places]
    columns = [shown.value(place, order[-1]) for place in places[0]]
    values = [[float(counts[place]) for place in row] for row in places]
    texts = [[rounded(float(counts[place]), float(errors[place])) for place in row] for row in places]
    title, corner = f"{shown.title}: heat map of counts", " · ".join(map(shown.name, order[:-1]))
    return svg.heat_map(identity, title, _description(shown), rows, columns, values, texts, corner)


def _difference(shown: Shown) -> str:
    """Where publication moved the unbiased estimates most, to make them add up as counts do."""
    if not shown.differs:
        return ""
    found = shown.columns
    change = np.abs(found["count"] - found["unbiased"])
    top = np.argsort(-change, kind="stable")[:_DIFFERING]
    rows = [
        (
            shown.label(place),
            number(float(found["count"][place])),
            number(float(found["unbiased"][place])),
            number(float(change[place] / found["std_error"][place])) if found["std_error"][place] else "–",
        )
        for place in top.tolist()
        if change[place] > _SAME
    ]
    headers = ("cell", "published", "unbiased", "apart, in std. errors")
    return details("Where published and unbiased counts differ most", table(headers, rows))


def _numbers(shown: Shown, file: str) -> str:
    found = shown.columns
    cells = len(found["count"])
    names = ("count", "std_error", "low", "high", "unbiased")
    rows = [
        (*shown.values(index), *(number(float(found[name][index])) for name in names))
        for index in range(min(cells, MOST_ROWS))
    ]
    attributes = list(map(shown.name, range(len(shown.margin))))
    headers = (*attributes, "published", "std. error", f"{shown.percent} from", "to", "unbiased")
    more = f"The first {MOST_ROWS} of {cells} cells; all are" if cells > MOST_ROWS else "The same, with all digits, is"
    caption = f"{shown.title}: published counts with their errors"
    return table(headers, rows, texts=len(attributes), caption=caption) + paragraph(f"{more} in {file}.", "note")
