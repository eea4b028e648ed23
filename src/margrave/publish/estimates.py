"""Questions about cells of a release: sums, differences, shares, conditional percentages, with their errors.

A question costs nothing: it only reads what was already measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.errors import UsageError
from margrave.noise.sums import Term, WeightedSum

Where = Mapping[str, str | Sequence[str]]
"""Which records are meant: for each attribute named, a value or several; attributes not named are free."""


@dataclass(frozen=True)
class Estimate:
    """An unbiased estimate, its standard error, and an interval that holds the truth with probability ``level``."""

    value: float
    std_error: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.value:.6g} ± {self.std_error:.3g} ({self.low:.6g} to {self.high:.6g}, {self.level:.0%})"


def margin_of(domain: Domain, *questions: Where | None) -> Margin:
    """The attributes that the questions name together."""
    return domain.margin(name for where in questions if where is not None for name in where)


def indicator(domain: Domain, margin: Margin, where: Where) -> NDArray[np.float64]:
    """1 on the cells of the margin that are meant, 0 elsewhere."""
    weights = np.ones(domain.shape(margin))
    for axis, name in enumerate(margin):
        if name in where:
            values = where[name]
            meant = [values] if isinstance(values, str) else list(values)
            if not meant:
                raise UsageError(f"no value of {name!r} is named: leave the attribute out to mean all of them")
            row = np.zeros(domain[name].size)
            row[[domain[name].code(value) for value in meant]] = 1
            weights = weights * row.reshape([-1 if a == axis else 1 for a in range(len(margin))])
    return weights


def half_width(error: WeightedSum, level: float) -> float:
    """The half-width of an interval. Many tables of a release have the same error, which is inverted once."""
    terms = sorted((float(f"{term.weight:.12g}"), term.count, index) for index, term in enumerate(error.terms))
    return _half_width(tuple(Term(weight, count, error.terms[index].noise) for weight, count, index in terms), level)


@lru_cache(maxsize=4096)
def _half_width(terms: tuple[Term, ...], level: float) -> float:
    return WeightedSum(terms).half_width(level)


def ratio(part: float, whole: float, variance_of_slack: float, half_width: float, level: float) -> Estimate:
    """A share, by the delta method: ``part − share · whole`` has the given variance and half-width."""
    if whole <= 0:
        raise UsageError("the estimated number of those is not positive, so no share of them can be given")
    share = part / whole
    width = half_width / whole
    return Estimate(share, sqrt(variance_of_slack) / whole, share - width, share + width, level)
