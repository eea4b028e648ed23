"""What happened to the data: every measurement with its noise. What it costs is derived from these in one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.query import Query, one_record, replaced_record
from margrave.budget.neighbours import Neighbours
from margrave.budget.units import ZCDP, PureDP
from margrave.errors import UsageError
from margrave.noise.family import Noise

MOST_CHANGED = 16
"""Up to this many attributes, the cost of replacing a record is the maximum over all sets of changed attributes."""

_NEARLY = 1 - 1e-9
_MOST_PARTS = 1 << 32
_SMALL = 1 << 40


def price(noise: Noise, l1: int, l2_squared: int) -> Fraction:
    """What a move by the given distances costs."""
    return noise.price(l1, l2_squared)


@dataclass(frozen=True)
class Selection:
    """A private choice of what to measure: one of many candidates by their losses (`margrave.noise.selection`).

    ``rate``: candidates are drawn by exp(−rate · loss). ``weight``: one record that comes or goes moves no loss by more
    than this. The exponential mechanism pays with ρ, permute-and-flip (``pure``) with ε.
    """

    rate: Fraction
    pure: bool
    weight: int = 1

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.weight < 1:
            raise UsageError("a selection needs a rate above zero and a weight of at least one")

    def price(self, moved: int) -> Fraction:
        """What it costs if losses, before their weights, move by at most ``moved``: ε = 2 · rate · move, or ε²/8."""
        epsilon = 2 * self.rate * self.weight * moved
        return epsilon if self.pure else epsilon**2 / 8


@dataclass(frozen=True)
class Round:
    """One look at the data: a selection, then the chosen table, cell by cell, with the noise."""

    selection: Selection
    noise: Noise

    def price(self, protection: Protection) -> Fraction:
        """What it costs for one record, whichever table is chosen."""
        moved = moved_cells(protection)
        return self.selection.price(moved) + self.noise.price(moved, moved)


@dataclass(frozen=True)
class Rest:
    """What is left for the end: equal ``parts`` of the budget, divided among tables by the answers before.

    ``part``: what one of them costs for one record. However they are divided, all together cost the same.
    """

    parts: int = 0
    part: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 <= self.parts <= _MOST_PARTS or (self.parts > 0) != (self.part > 0):
            raise UsageError(f"the rest of a budget needs up to {_MOST_PARTS} parts, each with a price above zero")

    def __bool__(self) -> bool:
        return self.parts > 0

    @property
    def price(self) -> Fraction:
        return self.parts * self.part

    def measurement(
        self, domain: Domain, query: Query, parts: int, noise: Noise, protection: Protection
    ) -> Measurement:
        """The query with so many parts: with that kind of noise, at exactly their price."""
        alone = worst_move(domain, [Measurement(query, noise)], protection)
        return Measurement(query, noise.dearer(parts * self.part / alone), parts=parts)


NO_REST = Rest()


@dataclass(frozen=True)
class Measurement:
    """One query, answered with independent noise on each output.

    ``selection``: how the query was chosen, where that was done by looking at the data. ``parts``: how many parts of
    the rest of the budget it got, where these were divided by the answers before.
    """

    query: Query
    noise: Noise
    selection: Selection | None = None
    parts: int = 0

    def __post_init__(self) -> None:
        if self.parts < 0 or (self.parts and self.selection is not None):
            raise UsageError("a measurement is fixed, or selected, or gets parts of what is left: not two of these")
        if self.selection is not None and (self.query.contrast or self.query.residual or not self.query.margin):
            raise UsageError("what is selected is a table, measured cell by cell")

    def price(self, l1: int, l2_squared: int) -> Fraction:
        """What a move of the exact answer by the given distances costs."""
        return self.noise.price(l1, l2_squared)


@dataclass(frozen=True)
class Protection:
    """Whom a release protects: the neighbour relation and the unit.

    ``neighbours``: two data sets are neighbours when one unit is added or removed, or replaced by another.
    ``sensitive``: if not empty, when one unit takes other values of these attributes, everything else staying the same.
    ``records``: a unit owns at most this many records. ``counted``: each row of the data stands for as many records as
    a column of it says, and the unit is one of these, not the row.
    """

    neighbours: Neighbours = "add-remove"
    sensitive: Margin = ()
    records: int = 1
    counted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", tuple(self.sensitive))
        if self.neighbours not in ("add-remove", "replace"):
            raise UsageError(f"neighbours must be 'add-remove' or 'replace', not {self.neighbours!r}")
        if self.records < 1:
            raise UsageError(f"a unit must own at least one record, not {self.records}")
        if self.counted and self.records > 1:
            raise UsageError("where rows stand for counted records, a unit is one record")


@dataclass(frozen=True)
class Disclosure:
    """Counts that are published without noise: a margin, or one cell of it, by the values of its attributes.

    It has no price, because nothing protects it: the guarantee is about what else the data tells. ``given``: the counts
    were public before and are part of the spec; otherwise they are read from the data.
    """

    margin: Margin
    cell: tuple[str, ...] | None = None
    given: bool = False


def moved_cells(protection: Protection) -> int:
    """How many cells of any one table a record moves, each by one: those it leaves and those it comes to."""
    return 1 if protection.neighbours == "add-remove" and not protection.sensitive else 2


def cost(
    domain: Domain,
    measurements: Sequence[Measurement],
    protection: Protection,
    rounds: Sequence[Round] = (),
    rest: Rest = NO_REST,
) -> PureDP | ZCDP:
    """The exact privacy cost of all measurements together, and of rounds and a rest still to come, for one unit.

    Adding costs over measurements is sequential composition, adaptive where one was selected, or got its part of the
    rest, by what others told. A round costs the same whichever table is selected, and what gets parts of the rest is
    priced for the worst change of a record each, whatever else gets some: so the sum is known before.
    """
    fixed = [one for one in measurements if one.selection is None and not one.parts]
    chosen = [Round(one.selection, one.noise) for one in measurements if one.selection is not None]
    looked = sum((one.price(protection) for one in (*chosen, *rounds)), rest.price)
    looked += sum((worst_move(domain, [one], protection) for one in measurements if one.parts), Fraction(0))
    worst = worst_move(domain, fixed, protection) if fixed else Fraction(0)
    kinds = {one.selection.pure == one.noise.pure for one in (*chosen, *rounds)}
    if not all(kinds):
        raise UsageError("a selection must pay in the unit of the noise of its round")
    return cost_of_unit(measurements, worst + looked, protection.records)


def cost_of_unit(measurements: Sequence[Measurement], price: Fraction, records: int = 1) -> PureDP | ZCDP:
    """The cost for a unit of so many records, when the worst move of one has the given price.

    A unit of m records moves each answer at most m times as far, which multiplies ε by m and ρ by m².
    """
    if not measurements:
        raise UsageError("a release needs at least one measurement")
    if len({measurement.noise.pure for measurement in measurements}) > 1:
        raise UsageError("one release uses one kind of noise")
    return spent_on(measurements[0].noise, price).for_units(records)


def spent_on(noise: Noise, price: Fraction) -> PureDP | ZCDP:
    """A price of some noise as a budget, in the unit in which it pays."""
    return PureDP(price) if noise.pure else ZCDP(price)


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
    return sum((times * noise.price(l1, l2) for (noise, l1, l2), times in kinds.items()), Fraction(0))


def _worst_replacement(domain: Domain, measurements: Sequence[Measurement], protection: Protection) -> Fraction:
    used = {name for measurement in measurements for name in measurement.query.margin}
    candidates = protection.sensitive or domain.names
    movable = tuple(name for name in candidates if name in used and domain[name].size > 1)
    if len(movable) > MOST_CHANGED:
        return sum((_worst_alone(domain, measurement, movable) for measurement in measurements), Fraction(0))
    return _worst_together(domain, measurements, movable)


def _worst_together(domain: Domain, measurements: Sequence[Measurement], movable: Margin) -> Fraction:
    """The maximum over all sets of changed attributes of the summed price: exact.

    Distances are added up noise by noise, in whole numbers. What is near the maximum in floating point is then priced
    exactly.
    """
    changed = np.arange(1 << len(movable))
    noises = list(dict.fromkeys(measurement.noise for measurement in measurements))
    totals: dict[Noise, NDArray[Any]] = {noise: np.zeros(len(changed), dtype=np.int64) for noise in noises}
    for measurement in measurements:
        inside = tuple(name for name in movable if name in measurement.query.margin)
        distances = _distances(domain, measurement, inside)
        local = np.zeros_like(changed)
        for bit, name in enumerate(inside):
            local |= (changed >> movable.index(name) & 1) << bit
        totals[measurement.noise] = totals[measurement.noise] + distances[local]
    units = [noise.price(1, 1) for noise in noises]
    rough = np.zeros(len(changed))
    for unit, noise in zip(units, noises, strict=True):
        rough += float(unit) * totals[noise].astype(float)
    near = np.flatnonzero(rough >= rough.max() * _NEARLY)
    rows = set(zip(*(totals[noise][near].tolist() for noise in noises), strict=True))
    prices = (sum((unit * row[at] for at, unit in enumerate(units)), Fraction(0)) for row in rows)
    return max(prices, default=Fraction(0))


def _distances(domain: Domain, measurement: Measurement, inside: Margin) -> NDArray[Any]:
    """How far a record moves the answer, in the distance that its noise is about, for each set of changed attributes.

    64-bit numbers where every sum of so many fits in them, otherwise whole numbers of any size.
    """
    distance = measurement.noise.distance
    found = [distance(*replaced_record(domain, measurement.query, subset)) for subset in _by_bits(inside)]
    return np.array(found, dtype=np.int64 if max(found) < _SMALL else object)


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
