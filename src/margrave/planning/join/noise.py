"""The noise of a join, and what each who sees something of it can learn: exact, and for each owner's people alone.

Who           sees                                                            of somebody in whose data
the public    count + first's noise + second's noise, for each cell           either's: ε
the second    padded sizes of the first; the count with the first's noise     the first's: ε + ε_s, δ_s
the first     padded sizes of the second; the count with the second's noise   the second's: ε + ε_s, δ + δ_s

One person is one id in one category, so she moves one count and one size by one. Replaced by another, she moves two of
each. The first owner adds her noise to a number, so it is the whole discrete Laplace; the second adds his by dummies,
of which there are finitely many, so it is truncated and has a δ. docs/join.md has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from margrave.budget.neighbours import Neighbours
from margrave.budget.units import ApproxDP, Budget, PureDP
from margrave.errors import UsageError
from margrave.noise import DiscreteLaplace, TruncatedLaplace, TwofoldLaplace

Hiding = DiscreteLaplace | TruncatedLaplace
"""Noise that an owner or a helper draws."""


@dataclass(frozen=True)
class PairNoise:
    """Two owners: what the first adds to each count, what the second adds, and what pads each batch of either."""

    first: DiscreteLaplace
    second: TruncatedLaplace
    sizes: TruncatedLaplace

    def __post_init__(self) -> None:
        if self.first.scale != self.second.scale:
            raise UsageError("each owner's noise alone has the full scale: neither is less because there are two")

    @classmethod
    def of(cls, scale: Fraction, delta: Fraction, sizes: ApproxDP) -> PairNoise:
        """The noise that a budget buys."""
        hidden = TruncatedLaplace.for_delta(1 / sizes.epsilon, sizes.delta)
        return cls(DiscreteLaplace(scale), TruncatedLaplace.for_delta(scale, delta), hidden)

    @property
    def published(self) -> TwofoldLaplace:
        """The noise of a published cell."""
        return TwofoldLaplace(self.first.scale, self.second.reach)

    def cost(self, place: int, neighbours: Neighbours) -> Budget:
        """What somebody in the data of the first (0) or second (1) owner loses to the other."""
        epsilon = 1 / self.first.scale + 1 / self.sizes.scale
        delta = self.sizes.delta + (self.second.delta if place else 0)
        return ApproxDP(_moves(neighbours) * epsilon, _moves(neighbours) * delta)

    def public_cost(self, neighbours: Neighbours) -> Budget:
        """What anybody loses to the public."""
        return PureDP(_moves(neighbours) / self.first.scale)

    def events(self, place: int) -> tuple[dict[str, str], ...]:
        """The mechanisms that touch an owner's data, with their parameters as exact texts."""
        count = {"kind": "join-count", "scale": str(self.first.scale)}
        if place:
            count["reach"] = str(self.second.reach)
        return count, {"kind": "join-sizes", "scale": str(self.sizes.scale), "reach": str(self.sizes.reach)}

    @property
    def all(self) -> tuple[Hiding, ...]:
        """Every noise that is drawn."""
        return self.first, self.second, self.sizes

    @property
    def dummies(self) -> int:
        """The dummies for each pair of categories that the second owner puts into the two sets of batches together."""
        return 2 * self.second.reach

    @property
    def padding(self) -> int:
        """What pads each batch, about; at most it is twice that."""
        return self.sizes.reach


@dataclass(frozen=True)
class HelperNoise:
    """A helper: one noise, which it adds, and nothing that the owners learn besides."""

    only: DiscreteLaplace

    @property
    def published(self) -> DiscreteLaplace:
        """The noise of a published cell."""
        return self.only

    def cost(self, place: int, neighbours: Neighbours) -> Budget:
        """What somebody in an owner's data loses to all the others, the helper apart."""
        return self.public_cost(neighbours)

    def public_cost(self, neighbours: Neighbours) -> Budget:
        """What anybody loses to the public."""
        return PureDP(_moves(neighbours) / self.only.scale)

    def events(self, place: int) -> tuple[dict[str, str], ...]:
        """The mechanism that touches the owners' data, with its parameter as exact text."""
        return ({"kind": "join-helper", "scale": str(self.only.scale)},)

    @property
    def all(self) -> tuple[Hiding, ...]:
        """Every noise that is drawn."""
        return (self.only,)

    @property
    def dummies(self) -> int:
        """A helper needs none."""
        return 0

    @property
    def padding(self) -> int:
        """A helper sees every size as it is."""
        return 0


JoinNoise = PairNoise | HelperNoise


def _moves(neighbours: Neighbours) -> int:
    """How many counts, and sizes, one changed person moves."""
    return 2 if neighbours == "replace" else 1
