"""What a local collection will tell, before anybody is asked: the error of each table, and how many must answer.

Two errors are told apart. Against the *respondents'* own table there is the noise of the coins, and that only some were
drawn to report on each residual. Against the *population* that they are a sample of there is their sampling as well.
Both are stated for shares, in the mean over the cells of a table, and for answers that are spread evenly, where this
mean is largest. What no cell exceeds, whatever the answers are, is stated beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod, sqrt

import numpy as np
from scipy.special import ndtri

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.encoding import Encoding
from margrave.algebra.lattice import downward_closure
from margrave.algebra.residual import compose, decompose
from margrave.planning.local.question import WEIGHTS, LocalQuestion


@dataclass(frozen=True)
class LocalForecast:
    """What to expect of one table, in shares of all respondents.

    ``population`` and ``respondents``: the standard error of a cell against either. ``half_width``: 95 % of cells are
    within this of the population's share. ``most``: each cell is, with probability 95 %, whatever the answers are.
    ``l1``: the expected sum of absolute errors against the respondents' table.
    """

    margin: Margin
    cells: int
    population: float
    respondents: float
    half_width: float
    most: float
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


class Weighing:
    """How a cell of an unbiased table is a sum over the tables of the questions, which different people reported on.

    ``counts``: how many reports there are on each question, or the shares of the plan, for one report in all.
    """

    def __init__(self, encoding: Encoding, questions: Sequence[LocalQuestion], counts: Sequence[float]) -> None:
        self.encoding, self.questions, self.counts = encoding, questions, counts
        self._about: dict[str, set[int]] = {}
        for number, one in enumerate(questions):
            for name in one.margin if counts[number] else ():
                self._about.setdefault(name, set()).add(number)

    @cached_property
    def precisions(self) -> Precisions:
        return Precisions(self.questions, self.counts)

    def parts(self, measured: Margin) -> Iterator[tuple[int, Margin]]:
        """Every question that tells about a table, and the attributes that it shares with it."""
        for number in sorted(set[int]().union(*(self._about.get(name, ()) for name in measured))):
            one = self.questions[number]
            shared = tuple(name for name in measured if name in one.margin)
            if one.mechanism.whole or shared == one.margin:
                yield number, shared

    def weights(self, number: int, shared: Margin, rows: Floats) -> Floats:
        """What cells of the shared attributes take of a question's table: a row for each.

        ``rows``: for each cell a table of zeros with a one in it.
        """
        one, count = self.questions[number], self.counts[number]
        parts = decompose(rows, len(shared))
        for chosen in parts:
            below = tuple(shared[axis] for axis in chosen)
            known = bool(below) and (one.mechanism.whole or below == one.margin)
            share = count / one.spread(below) * self.precisions.variances[below] if known else 0.0
            parts[chosen] = share * parts[chosen]
        apart = [1 + axis for axis, name in enumerate(one.margin) if name not in shared]
        weights = np.expand_dims(compose(parts, rows.shape[1:]), apart)
        return np.broadcast_to(weights, (len(rows), *one.mechanism.shape)).reshape(len(rows), -1)


def largest(weighing: Weighing, margins: Sequence[Margin]) -> dict[Margin, float]:
    """The largest variance of any cell of each table, whatever the answers are.

    At most so large, for each question is given the answers that are worst for it alone.
    """
    encoding, known = weighing.encoding, dict[tuple[int, Margin], float]()
    found = {}
    for margin in margins:
        measured, total = encoding.margin(margin), 0.0
        for number, shared in weighing.parts(measured):
            if (number, shared) not in known:
                one, shape = weighing.questions[number], encoding.encoded.shape(shared)
                cells = 1 if one.mechanism.alike else prod(shape)
                weights = weighing.weights(number, shared, np.eye(cells, prod(shape)).reshape(-1, *shape))
                known[number, shared] = float(one.mechanism.largest(weights).max()) / weighing.counts[number]
            outside = prod(encoding.encoded[name].size for name in measured if name not in shared)
            total += known[number, shared] / outside**2
        found[margin] = total
    return found


def forecast(
    encoding: Encoding, precisions: Precisions, largest: Mapping[Margin, float], size: int
) -> list[LocalForecast]:
    """What to expect of some tables from so many respondents."""
    found, quantile = [], float(ndtri(0.975))
    for margin, most in largest.items():
        cells = encoding.domain.cells(margin)
        population = precisions.cell(encoding, margin) / size
        respondents = max(population - (1 - 1 / cells) / cells / size, 0.0)
        error = sqrt(population)
        # E|Z| = √(2/π)·σ for the sums of many coins, which are normal.
        l1 = cells * sqrt(respondents) * sqrt(2 / 3.141592653589793)
        widths = error * quantile, sqrt(most / size) * quantile
        found.append(LocalForecast(margin, cells, error, sqrt(respondents), *widths, l1))
    return found


def respondents_for(variance: float, error: float) -> int:
    """How many must answer for a share to have at most this standard error, given its variance for one respondent."""
    return max(1, ceil(variance / error**2))


def useful_size(encoding: Encoding, margin: Margin, precisions: Precisions) -> int:
    """How many must answer before a table tells anything: an average cell is as large as two standard errors."""
    return respondents_for(precisions.cell(encoding, margin), 0.5 / encoding.domain.cells(margin))
