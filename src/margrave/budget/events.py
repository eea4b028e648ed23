"""What happened to the data: every measurement with its noise. What it costs is derived from these in one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.query import Query, one_record, replaced_record
from margrave.budget.units import ZCDP, PureDP
from margrave.errors import UsageError
from margrave.noise import DiscreteGaussian, DiscreteLaplace

MOST_CHANGED = 16
"""Up to this many attributes, the cost of replacing a record is the maximum over all sets of changed attributes."""

Neighbours = Literal["add-remove", "replace"]


def price(noise: DiscreteLaplace | DiscreteGaussian, l1: int, l2_squared: int) -> Fraction:
    """What a move by the given distances costs: ε for Laplace noise, ρ for Gaussian noise."""
    if isinstance(noise, DiscreteLaplace):
        return Fraction(l1) / noise.scale
    return Fraction(l2_squared) / (2 * noise.sigma_squared)


@dataclass(frozen=True)
class Measurement:
    """One query, answered with independent noise on each output."""

    query: Query
    noise: DiscreteLaplace | DiscreteGaussian

    def price(self, l1: int, l2_squared: int) -> Fraction:
        """What a move of the exact answer by the given distances costs."""
        return price(self.noise, l1, l2_squared)


@dataclass(frozen=True)
class Protection:
    """Whom a release protects: the neighbour relation and the unit.

    ``neighbours``: two data sets are neighbours when one unit is added or removed, or replaced by another.
    ``sensitive``: if not empty, when one unit takes other values of these attributes, everything else staying the same.
    ``records``: a unit owns at most this many records.
    """

    neighbours: Neighbours = "add-remove"
    sensitive: Margin = ()
    records: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", tuple(self.sensitive))
        if self.neighbours not in ("add-remove", "replace"):
            raise UsageError(f"neighbours must be 'add-remove' or 'replace', not {self.neighbours!r}")
        if self.records < 1:
            raise UsageError(f"a unit must own at least one record, not {self.records}")


def cost(domain: Domain, measurements: Sequence[Measurement], protection: Protection) -> PureDP | ZCDP:
    """The exact privacy cost of all measurements together, for one unit.

    Adding costs over measurements is sequential composition; a unit of m records moves each answer at most m times as
    far as one record, which multiplies ε by m and ρ by m².
    """
    if not measurements:
        raise UsageError("a release needs at least one measurement")
    gaussian = isinstance(measurements[0].noise, DiscreteGaussian)
    if any(isinstance(measurement.noise, DiscreteGaussian) != gaussian for measurement in measurements):
        raise UsageError("one release uses one kind of noise")
    total = worst_move(domain, measurements, protection)
    records = protection.records
    return ZCDP(total * records * records) if gaussian else PureDP(total * records)


def worst_move(domain: Domain, measurements: Sequence[Measurement], protection: Protection) -> Fraction:
    """The summed price of the worst change of one record.

    Replacing a unit by one that owns fewer records also removes some, which can cost more than replacing them: the
    total, for one, is only safe from replacement.
    """
    added = _added(domain, measurements)
    if protection.sensitive:
        return _worst_replacement(domain, measurements, protection)
    if protection.neighbours == "add-remove":
        return added
    replaced = _worst_replacement(domain, measurements, protection)
    return replaced if protection.records == 1 else max(added, replaced)


def _added(domain: Domain, measurements: Sequence[Measurement]) -> Fraction:
    """The summed price of one record that is added or removed; equal prices are multiplied, not added up."""
    kinds = Counter((one.noise, *one_record(domain, one.query)) for one in measurements)
    return sum((times * price(noise, l1, l2) for (noise, l1, l2), times in kinds.items()), Fraction(0))


def _worst_replacement(domain: Domain, measurements: Sequence[Measurement], protection: Protection) -> Fraction:
    used = {name for measurement in measurements for name in measurement.query.margin}
    candidates = protection.sensitive or domain.names
    movable = tuple(name for name in candidates if name in used and domain[name].size > 1)
    if len(movable) > MOST_CHANGED:
        return sum((_worst_alone(domain, measurement, movable) for measurement in measurements), Fraction(0))
    return _worst_together(domain, measurements, movable)


def _worst_together(domain: Domain, measurements: Sequence[Measurement], movable: Margin) -> Fraction:
    """The maximum over all sets of changed attributes of the summed price: exact."""
    changed = np.arange(1 << len(movable))
    totals = np.zeros(len(changed), dtype=object)
    for measurement in measurements:
        inside = tuple(name for name in movable if name in measurement.query.margin)
        prices = np.array([_price(domain, measurement, subset) for subset in _by_bits(inside)], dtype=object)
        local = np.zeros_like(changed)
        for bit, name in enumerate(inside):
            local |= (changed >> movable.index(name) & 1) << bit
        totals += prices[local]
    worst: Fraction = totals.max()
    return worst


def _worst_alone(domain: Domain, measurement: Measurement, movable: Margin) -> Fraction:
    """The worst price of one measurement: enough to try one cell attribute, up to one contrast, any residuals."""
    query = measurement.query
    cells = [name for name in query.cells if name in movable][:1]
    contrasts = [name for name in query.contrast if name in movable][:1]
    residuals = [name for name in query.residual if name in movable]
    return max(_price(domain, measurement, subset) for subset in _by_bits((*cells, *contrasts, *residuals)))


def _price(domain: Domain, measurement: Measurement, changed: frozenset[str]) -> Fraction:
    return measurement.price(*replaced_record(domain, measurement.query, changed))


def _by_bits(names: Margin) -> Iterator[frozenset[str]]:
    """All subsets; number i holds the names at the set bits of i."""
    for bits in range(1 << len(names)):
        yield frozenset(name for position, name in enumerate(names) if bits >> position & 1)
