"""What to expect of an answer, before anything is spent: its standard error, and the half-width of its interval.

Half-widths come from the exact distribution of the noise. Where the error shrinks with the number of rows n, which is
not known, it is told as a number to be divided by n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.errors import UsageError
from margrave.noise.sums import Term, WeightedSum
from margrave.planning.defaults import LEVEL
from margrave.planning.questions.kinds import Kind, Numbers
from margrave.planning.questions.language.aggregates import Aggregate, Average, Quantiles, Variance
from margrave.planning.questions.price.mechanisms import AnswerNoise, Mechanism, Noisy, Selected, Tree
from margrave.planning.questions.price.trees import variances_at

if TYPE_CHECKING:
    from margrave.planning.questions.programs.sought import Sought

_GRAIN = 256
GAUSSIAN_95, LAPLACE_95 = 1.959964, 2.118251
"""How many standard deviations hold 95 % of a Gaussian; and of a single Laplace, more than of any sum of several."""
_SPOTS = 1025
"""Of larger grids so many places are looked at."""


@dataclass(frozen=True)
class Expectation:
    """What to expect of one number: ``per_row`` where both are to be divided by the number of rows.

    ``of_rank``: they are about how many rows the answer is off by, and not about its value.
    """

    what: str
    std_error: float | None
    half_width: float
    per_row: bool = False
    of_rank: bool = False

    @property
    def error_said(self) -> str:
        return "" if self.std_error is None else self._said(self.std_error)

    @property
    def interval_said(self) -> str:
        return f"± {self._said(self.half_width)}"

    def at(self, rows: int, share: float = 0.0) -> float:
        """The standard error for a number of rows and, of an average, for a mean at a share of the range."""
        if self.std_error is None or not self.per_row:
            raise UsageError("what is expected does not depend on the number of rows")
        return self.std_error / rows * sqrt(share**2 + (1 - share) ** 2)

    def _said(self, number: float) -> str:
        return f"{number:,.4g}{' / n' if self.per_row else ''}{' rows' if self.of_rank else ''}"

    def to_json(self) -> dict[str, Any]:
        told = {"std_error": self.std_error, "half_width_95": self.half_width}
        return {"what": self.what, **told, "per_row": self.per_row, "of_rank": self.of_rank}


@lru_cache(maxsize=4096)
def half_width(noise: AnswerNoise, level: float = LEVEL) -> int:
    """The least whole h with P(|Z| ≤ h) ≥ level, by bisection of the exact tail."""
    low, high = -1, 1
    while float(noise.tail(high)) > 1 - level:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if float(noise.tail(middle)) > 1 - level:
            low = middle
        else:
            high = middle
    return high if float(noise.tail(0)) > 1 - level else 0


def step_of(kind: Kind | None) -> Fraction:
    """What one whole number of the engine stands for."""
    return kind.step if isinstance(kind, Numbers) else Fraction(1)


def expected(
    aggregate: Aggregate, sought: Sought, mechanism: Mechanism, level: float = LEVEL
) -> tuple[Expectation, ...]:
    """What to expect of the numbers of an answer, half-widths at a level; those of all groups are alike."""
    what = f"{aggregate.kind}{' of each group' if sought.axes else ''}"
    if isinstance(mechanism, Selected):
        return _of_selection(aggregate, sought, mechanism, what, level)
    if isinstance(mechanism, Tree):
        return (_of_tree(aggregate, sought.grid_size, mechanism, what, level),)
    step = float(step_of(sought.value))
    if isinstance(aggregate, Average):
        # For a mean at the share μ of the range: √(μ² + (1 − μ)²) times the noise, which is told for the ends.
        return (_scaled(what, mechanism, step, level, per_row=True),)
    if isinstance(aggregate, Variance):
        return (_scaled(f"{what}, at most", mechanism, step**2, level, per_row=True),)
    return (_scaled(what, mechanism, step if aggregate.kind == "sum" else 1.0, level),)


def _of_tree(aggregate: Aggregate, size: int, mechanism: Tree, what: str, level: float) -> Expectation:
    """The root of the mean square over all values, and the half-width of the least exact one.

    A quantile is where a sum from the start reaches its share of all: what is off there is their difference.
    """
    shares = [float(one.value) for one in aggregate.shares] if isinstance(aggregate, Quantiles) else [0.0]
    spots = np.unique(np.linspace(1, size, _SPOTS).astype(np.int64))
    variances = np.array([variances_at(spots, mechanism.branching, mechanism.levels, share) for share in shares])
    spread = mechanism.noise.variance
    half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(float(variances.max()) * spread)
    return Expectation(what, sqrt(float(variances.mean()) * spread), half, of_rank=True)


def _scaled(what: str, mechanism: Noisy, scale: float, level: float, per_row: bool = False) -> Expectation:
    noise = mechanism.noise
    return Expectation(what, sqrt(noise.variance) * scale, half_width(noise, level) * scale, per_row)


def _of_selection(
    aggregate: Aggregate, sought: Sought, mechanism: Selected, what: str, level: float
) -> tuple[Expectation, ...]:
    """With k candidates, a loss of more than (log k + log 1/β)/rate beyond the least has a chance of at most β."""
    nats = log(sought.grid_size) + log(1 / (1 - level))
    if not isinstance(aggregate, Quantiles):
        return (Expectation(what, None, nats / float(mechanism.rates[0]), of_rank=True),)
    return tuple(
        Expectation(
            f"{float(share.value):g} quantile{' of each group' if sought.axes else ''}",
            None,
            nats / float(rate) / share.value.denominator,
            of_rank=True,
        )
        for share, rate in zip(aggregate.shares, mechanism.rates, strict=True)
    )


def leaf_half_width(tree: Tree, error: float) -> float:
    """The half-width of a leaf of a tree, of which its own noise is by far the largest part."""
    return error * (LAPLACE_95 if tree.noise.pure else GAUSSIAN_95)


def sum_half_width(noise: AnswerNoise, weights: Sequence[float], level: float = LEVEL) -> float:
    """The half-width of a weighted sum of independent draws of one noise.

    Weights are rounded up to a part in a few hundred of the largest, so that sums that are nearly alike are computed
    once; that makes it a hair wider.
    """
    sizes = [abs(weight) for weight in weights if weight]
    if not sizes:
        return 0.0
    unit = max(sizes) / _GRAIN
    return unit * _whole_half_width(noise, tuple(sorted(ceil(size / unit - 1e-9) for size in sizes)), level)


@lru_cache(maxsize=4096)
def _whole_half_width(noise: AnswerNoise, weights: tuple[int, ...], level: float) -> float:
    return WeightedSum.of([Term(float(weight), 1, noise) for weight in weights]).half_width(level)
