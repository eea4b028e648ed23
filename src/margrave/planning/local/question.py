"""What a respondent may be asked to report on, and the best mechanism for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from margrave.algebra.domain import Margin
from margrave.errors import UsageError
from margrave.planning.local.cells import Response, Subset, Unary
from margrave.planning.local.hadamard import MOST, Hadamard
from margrave.planning.local.mechanism import Mechanism
from margrave.planning.local.odds import Odds
from margrave.planning.local.residuals import Modular, Signs, modular_applies

WEIGHTS = 1 << 30
"""The weights of the questions of a plan add up to this."""
MOST_TOLD = 4096
"""Answers that one report tells apart at most: it names a set of them, a kilobyte."""

WHOLE: tuple[type[Mechanism], ...] = (Response, Subset, Unary, Hadamard)
ALONE: tuple[type[Mechanism], ...] = (Signs, Modular)
MECHANISMS = {kind.name: kind for kind in (*WHOLE, *ALONE)}
"""Every mechanism by its name."""


@dataclass(frozen=True)
class LocalQuestion:
    """A margin, how the answers to it are randomised, and how often it is drawn: ``weight`` of `WEIGHTS` times."""

    margin: Margin
    mechanism: Mechanism
    weight: int

    def __post_init__(self) -> None:
        if len(self.margin) != len(self.mechanism.shape) or not 0 < self.weight <= WEIGHTS:
            raise UsageError("a question needs a size for each attribute, and a weight")

    def spread(self, below: Margin) -> float:
        """σ²_T of one report for the residual of a margin; infinite where it says nothing about it."""
        if not set(below) <= set(self.margin):
            return float("inf")
        axes = tuple(axis for axis, name in enumerate(self.margin) if name in below)
        return float(self.mechanism.spread(axes)) if self.mechanism.tells(axes) else float("inf")

    def as_dict(self) -> dict[str, Any]:
        """The question for a plan's JSON and for the page."""
        found: dict[str, Any] = {"margin": list(self.margin), "mechanism": self.mechanism.name}
        return found | {"shape": list(self.mechanism.shape), "weight": self.weight, **self.mechanism.extra()}


def candidates(shape: tuple[int, ...], odds: Odds, *, whole: bool) -> list[Mechanism]:
    """The mechanisms for a margin, the best first: about the whole answer, or about its own residual alone."""
    kinds: Iterable[type[Mechanism]] = WHOLE if whole else ALONE
    kinds = [kind for kind in kinds if kind is not Modular or modular_applies(shape)]
    kinds = [kind for kind in kinds if kind is not Hadamard or prod(shape) <= MOST]
    if (whole and prod(shape) > MOST_TOLD) or max(shape) > MOST_TOLD:
        return []
    axes = tuple(range(len(shape)))
    return sorted((kind(shape, odds) for kind in kinds), key=lambda one: one.spread(axes))
