"""What a local collection will tell, before anybody is asked: the error of each table, and how many must answer.

Two errors are told apart. Against the *respondents'* own table there is the noise of the coins, and that only some were
drawn to report on each residual. Against the *population* that they are a sample of there is their sampling as well.
Both are stated for shares and for answers that are spread evenly, where they are largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod, sqrt

from scipy.special import ndtri

from margrave.algebra.domain import Margin
from margrave.algebra.encoding import Encoding
from margrave.algebra.lattice import downward_closure
from margrave.planning.local.question import WEIGHTS, LocalQuestion


@dataclass(frozen=True)
class LocalForecast:
    """What to expect of one table, in shares of all respondents.

    ``population`` and ``respondents``: the standard error of a cell against either. ``half_width``: 95 % of cells are
    within this of the population's share. ``l1``: the expected sum of absolute errors against the respondents' table.
    """

    margin: Margin
    cells: int
    population: float
    respondents: float
    half_width: float
    l1: float


class Precisions:
    """σ²_T of each residual for one report in all: n respondents have 1/n of it."""

    def __init__(self, questions: Sequence[LocalQuestion], counts: Sequence[float] | None = None) -> None:
        """``counts``: how many reports there are on each question; by default the shares of the plan."""
        shares = [one.weight / WEIGHTS for one in questions] if counts is None else counts
        found: dict[Margin, float] = {}
        for one, share in zip(questions, shares, strict=True):
            for below in downward_closure([one.margin])[1:] if one.mechanism.whole else (one.margin,):
                found[below] = found.get(below, 0.0) + share / one.spread(below)
        self.variances = {below: 1 / precision if precision else float("inf") for below, precision in found.items()}

    def cell(self, encoding: Encoding, margin: Margin) -> float:
        """The variance of a cell's share, in the mean over the cells of a declared table."""
        domain, margin = encoding.encoded, encoding.margin(margin)
        total = 0.0
        for below in downward_closure([margin])[1:]:
            inside = prod(1 - 1 / domain[name].size for name in below)
            outside = prod(domain[name].size for name in margin if name not in below)
            total += self.variances.get(below, float("inf")) * inside / outside**2
        return total


def forecast(encoding: Encoding, margins: Sequence[Margin], precisions: Precisions, size: int) -> list[LocalForecast]:
    """What to expect of some tables from so many respondents."""
    found = []
    for margin in margins:
        cells = encoding.domain.cells(margin)
        population = precisions.cell(encoding, margin) / size
        respondents = max(population - (1 - 1 / cells) / cells / size, 0.0)
        error = sqrt(population)
        # E|Z| = √(2/π)·σ for the sums of many coins, which are normal.
        l1 = cells * sqrt(respondents) * sqrt(2 / 3.141592653589793)
        found.append(LocalForecast(margin, cells, error, sqrt(respondents), error * float(ndtri(0.975)), l1))
    return found


def respondents_for(encoding: Encoding, margins: Sequence[Margin], precisions: Precisions, error: float) -> int:
    """How many must answer for every cell's share to have at most this standard error, sampling included."""
    worst = max(precisions.cell(encoding, margin) for margin in margins)
    return max(1, ceil(worst / error**2))


def useful_size(encoding: Encoding, margin: Margin, precisions: Precisions) -> int:
    """How many must answer before a table tells anything: an average cell is as large as two standard errors."""
    return respondents_for(encoding, [margin], precisions, 0.5 / encoding.domain.cells(margin))
