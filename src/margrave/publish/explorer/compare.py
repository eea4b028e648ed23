"""The same view of two releases, such as those of two years, and how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from margrave.errors import UsageError
from margrave.messages.catalogue import say
from margrave.publish.explorer.figures import Figures, figures
from margrave.publish.explorer.view import TableView
from margrave.publish.numbers import rounded
from margrave.publish.report.values import Intervals

if TYPE_CHECKING:
    from margrave.publish.released import Released


@dataclass(frozen=True, eq=False)
class TwoReleases:
    """A view of two releases, and the numbers of the second less those of the first."""

    one: Figures
    other: Figures
    apart: Intervals

    def __post_init__(self) -> None:
        if [axis.titled for axis in self.one.grid.axes] != [axis.titled for axis in self.other.grid.axes]:
            raise UsageError(say("the two releases name or group these values differently, so they cannot be compared"))


def compared(one: Released, other: Released, view: TableView) -> TwoReleases:
    """A view of two releases; refused where one of them does not have it.

    The noise of one release is independent of that of another. So the squares of half-widths add up, for normal errors
    exactly, which numbers of one release never allow.
    """
    if one.level != other.level:
        raise UsageError(say("the two releases have intervals of different levels, so they cannot be compared"))
    first, second = figures(one, view), figures(other, view)
    if first.cells.value.shape != second.cells.value.shape:
        raise UsageError(say("the two releases have different values of these attributes, so they cannot be compared"))
    apart = second.cells.value - first.cells.value
    widths = np.hypot(first.cells.width, second.cells.width)
    return TwoReleases(first, second, Intervals(*(rounded(end) for end in (apart, apart - widths, apart + widths))))
