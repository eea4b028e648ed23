"""One published table in the report: drawn, with what its readers must know, its shares, and all its numbers."""

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
from margrave.messages.catalogue import say
from margrave.publish.bundle.parts.shares import has_shares, shares_of, totals
from margrave.publish.numbers import DECIMALS
from margrave.publish.numbers import rounded as decimals
from margrave.publish.report.cross import Cross, bar_table, cross_table, small_multiples
from margrave.publish.report.html import details, paragraph, table
from margrave.publish.report.quality import Quality
from margrave.publish.report.values import Intervals, Titled, axes_of, percentage, span, table_title, written
from margrave.spec.codebook import Codebook

if TYPE_CHECKING:
    from margrave.publish.released import Released

MOST_CELLS = 1500
"""Cells of a table up to which it is drawn whole; of larger ones the first rows are."""
MOST_ROWS = 250
_DIFFERING = 5
_SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Shown:
    """A published table with its errors, its labels and its unbiased counts, as flat columns."""

    release: Released
    margin: Margin
    most: int = MOST_CELLS
    """How many of its cells are drawn."""

    @property
    def codebook(self) -> Codebook:
        return self.release.plan.spec.codebook

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.release.domain.shape(self.margin))

    def name(self, axis: int) -> str:
        """The title of an attribute, or its name."""
        return self.codebook[self.margin[axis]].title or self.margin[axis]

    @cached_property
    def axes(self) -> tuple[Titled, ...]:
        """Titles and labels, in the declared order."""
        return axes_of(self.codebook, self.margin)

    @property
    def title(self) -> str:
        return table_title(self.codebook, self.margin)

    @property
    def percent(self) -> str:
        """The level of the intervals in words."""
        return f"{100 * self.release.level:g} %"

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        # As the files have them, so that the page can be made again from these.
        return {name: decimals(numbers) for name, numbers in self.release.numbers(self.margin).items()}

    @cached_property
    def numbers(self) -> Intervals:
        """The published counts with their intervals, by cell."""
        found = self.columns
        return Intervals(found["count"], found["low"], found["high"]).shaped(self.shape)

    @cached_property
    def quality(self) -> Quality:
        return Quality.of([(self.numbers, self.columns["std_error"])])

    def shares(self, whole: Margin) -> Intervals | None:
        """The share of each cell in the total of ``whole``; None where its interval is not known."""
        widths = self.release.share_widths(self.margin, whole) if has_shares(self.release) else None
        if widths is None:
            return None
        share = decimals(shares_of(self.release.domain, self.margin, whole, self.columns["count"]))
        return Intervals(share, np.maximum(share - widths, 0), np.minimum(share + widths, 1)).shaped(self.shape)

    def values(self, index: int) -> list[str]:
        """The labels of all values of a cell."""
        codes = np.unravel_index(index, self.shape) if self.margin else ()
        return [axis.labels[code] for axis, code in zip(self.axes, codes, strict=True)]

    def label(self, index: int) -> str:
        """A cell in words; a value is shown with its attribute, since "no" alone says little."""
        return ", ".join(f"{axis.name}: {value}" for axis, value in zip(self.axes, self.values(index), strict=True))

    @property
    def differs(self) -> bool:
        """Whether published and unbiased counts differ anywhere."""
        return bool((np.abs(self.columns["count"] - self.columns["unbiased"]) > _SAME).any())


def is_known(release: Released, margin: Margin) -> bool:
    """Whether the bars of a margin can be had without simulating again what a bundle does not state."""
    if not release.simulates or margin in release.bars:
        return True
    stated = {(), *release.plan.spec.margins, *(totals(release.plan) if has_shares(release) else ())}
    return not release.simulated_elsewhere and margin in stated


def drawn(shown: Shown) -> str:
    """The table as its number of attributes asks for."""
    if not shown.margin:
        return paragraph(say("%(count)s records.", count=count_words(shown, 0)))
    if len(shown.margin) == 1:
        return _one(shown)
    return _two(shown) if len(shown.margin) == 2 else _more(shown)


def _one(shown: Shown) -> str:
    axis, cells, shares = shown.axes[0], shown.numbers, shown.shares(())
    most = min(len(axis), shown.most)
    first = Titled(axis.name, axis.labels[:most])
    kept = None if shares is None else shares.part(slice(most))
    return bar_table(first, cells.part(slice(most)), _caption(shown, first=most), shares=kept)


def _two(shown: Shown) -> str:
    release, margin = shown.release, shown.margin
    sums = [Shown(release, one).numbers if is_known(release, one) else None for one in (margin[:1], margin[1:], ())]
    down, across = shown.axes
    cross = Cross(down, across, shown.numbers, *sums).upright
    found = [
        cross_table(_first_rows(cross, shown.most), _caption(shown, first=_rows(cross, shown.most) * len(cross.across)))
    ]
    for whole in (margin[:1], margin[1:]):
        shares = shown.shares(whole)
        if shares is None:
            continue
        name = shown.axes[margin.index(whole[0])].name
        cross = Cross(down, across, shares).upright
        caption = say(
            "Shares among those with the same value of %(name)s, with %(percent)s intervals.",
            name=name,
            percent=shown.percent,
        )
        found.append(
            details(
                say("As shares within %(name)s", name=name),
                cross_table(_first_rows(cross, shown.most), caption, percentage),
            )
        )
    return "".join(found)


def _rows(cross: Cross, most: int) -> int:
    """How many rows of a cross table are shown."""
    return min(len(cross.down), max(1, most // len(cross.across)))


def _first_rows(cross: Cross, most: int) -> Cross:
    """A cross table of no more than so many cells."""
    rows = _rows(cross, most)
    if rows == len(cross.down):
        return cross
    sums = None if cross.rows is None else cross.rows.part(slice(rows))
    down = Titled(cross.down.name, cross.down.labels[:rows])
    return Cross(down, cross.across, cross.cells.part(slice(rows)), sums, cross.columns, cross.total)


def _more(shown: Shown) -> str:
    """The two attributes with the most values as cross tables, one for each combination of the others."""
    sizes = shown.shape
    order = sorted(range(len(sizes)), key=lambda axis: (-sizes[axis], -axis))
    pair, rest = sorted(order[:2]), sorted(order[2:])
    cells = shown.numbers.ordered((*rest, *pair))
    panels, left = [], shown.most
    for place in np.ndindex(*(sizes[axis] for axis in rest)):
        if left <= 0:
            break
        words = " · ".join(f"{shown.axes[a].name}: {shown.axes[a].labels[c]}" for a, c in zip(rest, place, strict=True))
        cross = Cross(shown.axes[pair[0]], shown.axes[pair[1]], cells.part(place)).upright
        panels.append((words, _first_rows(cross, shown.most)))
        left -= prod(sizes[axis] for axis in pair)
    count = prod(sizes[axis] for axis in rest)
    said = say("The first %(some)s of %(all)s parts. ", some=len(panels), all=count) if len(panels) < count else ""
    return paragraph(f"{said}{_caption(shown)}", "note") + small_multiples(panels)


def _caption(shown: Shown, first: int | None = None) -> str:
    cells = prod(shown.shape)
    less = ""
    if first is not None and first < cells:
        less = " " + say("The first %(some)s of %(all)s cells.", some=written(first), all=written(cells))
    return say("Published counts, with %(percent)s intervals.", percent=shown.percent) + less


def count_words(shown: Shown, index: int) -> str:
    """A count and its interval."""
    value, low, high = (float(shown.columns[name][index]) for name in ("count", "low", "high"))
    width = max(value - low, high - value)
    return f"{written(value, width)} ({say('exact') if low == high else span(low, high, width)})"


def table_article(shown: Shown, index: int, file: str, *, folded: bool) -> str:
    """A table under its heading; ``folded`` away until somebody wants it, where there are many."""
    heading = f'<h3 id="name-{index}">{escape(shown.title)}</h3>'
    warned = "".join(paragraph(text, "warning") for text in shown.quality.warnings())
    inner = f"{warned}{drawn(shown)}{_misfit(shown)}{details(say('For statisticians'), _numbers(shown, file))}"
    top = f'<p class="back"><a href="#contents">{escape(say("Contents"))}</a></p>'
    if not folded:
        return f'<article id="table-{index}" aria-labelledby="name-{index}">{heading}{inner}{top}</article>'
    return (
        f'<article aria-labelledby="name-{index}"><details class="folded"><summary>{heading}</summary>'
        f'<div id="table-{index}">{inner}{top}</div></details></article>'
    )


def _misfit(shown: Shown) -> str:
    """How far fitted records are from the noisy answers; nothing where no records were fitted."""
    published = shown.release.publication
    if published is None or shown.margin not in published.misfits:
        return ""
    found = number(round(published.misfits[shown.margin], DECIMALS))
    return paragraph(
        say(
            "Misfit of the records to the noisy answers: χ² %(found)s for each degree of freedom; noise alone gives 1.",
            found=found,
        ),
        "note",
    )


def _numbers(shown: Shown, file: str) -> str:
    found = shown.columns
    cells = len(found["count"])
    names = ("count", "std_error", "low", "high", "unbiased", "variance")
    rows = [
        (*shown.values(index), *(number(float(found[name][index])) for name in names))
        for index in range(min(cells, MOST_ROWS))
    ]
    attributes = [axis.name for axis in shown.axes]
    ends = say("%(percent)s from", percent=shown.percent), say("to")
    headers = (*attributes, say("published"), say("std. error"), *ends, say("unbiased"), say("its variance"))
    more = say("The same, with all digits, is in %(file)s.", file=file)
    if cells > MOST_ROWS:
        more = say("The first %(some)s of %(all)s cells; all are in %(file)s.", some=MOST_ROWS, all=cells, file=file)
    caption = say(
        "%(title)s: published counts and their errors, unbiased estimates and their variances", title=shown.title
    )
    shown_table = table(headers, rows, texts=max(len(attributes), 0), caption=caption)
    return f"{shown_table}{paragraph(more, 'note')}{_difference(shown)}"


def _difference(shown: Shown) -> str:
    """Where publication moved the unbiased estimates most, to make them add up as counts do."""
    if not shown.differs or not shown.margin:
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
    headers = (say("cell"), say("published"), say("unbiased"), say("apart, in std. errors"))
    return table(headers, rows, caption=say("Where published and unbiased counts differ most"))
