"""A query: a margin seen in a basis. Its answers are whole numbers, so all noise can be discrete and exact.

Each attribute ``j`` of the margin ``S`` is seen in one of three ways, and the answer is their tensor product:

    cells      the k_j counts themselves                          (matrix I)
    contrast   first value minus second, binary attributes only   (matrix [1, −1])
    residual   k_j times the deviation from the mean              (matrix k_j I − J)

Independent noise of variance ``v`` on each output gives every residual ``T`` with ``contrast ∪ residual ⊆ T ⊆ S`` an
isotropic, uncorrelated estimate: its covariance is ``σ²_T`` times the centring projector (docs/mathematics.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import subsets
from margrave.algebra.residual import centre, decompose
from margrave.errors import UsageError


@dataclass(frozen=True)
class Query:
    """A margin, and which of its attributes are seen as contrasts or as residuals; the rest are seen as cells."""

    margin: Margin
    contrast: Margin = ()
    residual: Margin = ()

    def __post_init__(self) -> None:
        for name in ("margin", "contrast", "residual"):
            names = tuple(getattr(self, name))
            if len(set(names)) < len(names):  # twice the same contrast would be priced as none
                raise UsageError("a query names each attribute once")
            object.__setattr__(self, name, names)
        if not set(self.contrast) <= set(self.margin) or not set(self.residual) <= set(self.margin):
            raise UsageError("contrast and residual attributes must belong to the margin")
        if set(self.contrast) & set(self.residual):
            raise UsageError("an attribute is seen either as a contrast or as a residual, not both")

    @property
    def cells(self) -> Margin:
        """The attributes that are seen as plain cells."""
        return tuple(name for name in self.margin if name not in self.contrast and name not in self.residual)

    @property
    def basis(self) -> str:
        """A short name for people: ``cells``, ``residual`` or ``contrast F`` and their mixtures."""
        if self.residual:
            return "residual" if self.residual == self.margin else f"residual {','.join(self.residual)}"
        return f"contrast {','.join(self.contrast)}" if self.contrast else "cells"

    def covers(self, below: Margin) -> bool:
        """Whether the answer says something about the residual of the given margin."""
        return set(self.contrast) | set(self.residual) <= set(below) <= set(self.margin)

    def covered(self) -> Iterator[Margin]:
        """Every margin whose residual the answer says something about."""
        fixed = {*self.contrast, *self.residual}
        for below in subsets(self.cells):
            chosen = fixed.union(below)
            yield tuple(name for name in self.margin if name in chosen)

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """The axes of the answer: a contrast has length 1."""
        for name in self.contrast:
            if domain[name].size != 2:
                raise UsageError(f"a contrast needs a binary attribute, and {name!r} has {domain[name].size} values")
        return tuple(1 if name in self.contrast else domain[name].size for name in self.margin)

    def outputs(self, domain: Domain) -> int:
        return prod(self.shape(domain))


def answer(domain: Domain, query: Query, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The exact answer, from the exact counts of the query's margin."""
    query.shape(domain)
    values = counts.reshape(domain.shape(query.margin))
    for axis, name in enumerate(query.margin):
        if name in query.contrast:
            values = -np.diff(values, axis=axis)
        elif name in query.residual:
            values = centre(values, axis, exact=True)
    return values


def estimates(
    domain: Domain, query: Query, outputs: Array, wanted: Collection[Margin] | None = None
) -> dict[Margin, Array]:
    """An unbiased estimate of every residual that the query covers (or of the wanted ones), from its noisy answer."""
    values = np.asarray(outputs, dtype=float).reshape(query.shape(domain))
    signs = np.array([0.5, -0.5])
    for axis, name in enumerate(query.margin):
        if name in query.contrast:
            values = values * signs.reshape([2 if a == axis else 1 for a in range(values.ndim)])
        elif name in query.residual:
            values = centre(values, axis) / domain[name].size
    fixed, cells = (*query.contrast, *query.residual), query.cells
    covered = [below for below in (query.covered() if wanted is None else wanted) if query.covers(below)]
    named = {tuple(axis for axis, name in enumerate(cells) if name in below): below for below in covered}
    ordered = np.transpose(values, [query.margin.index(name) for name in (*fixed, *cells)])
    parts = decompose(ordered, len(cells), wanted=named.keys())
    found = {}
    for chosen, below in named.items():
        order = (*fixed, *(cells[axis] for axis in chosen))
        found[below] = np.transpose(parts[chosen], [order.index(name) for name in below])
    return found


def spread(domain: Domain, query: Query, below: Margin) -> Fraction:
    """``σ²_T / v``: the variance that unit noise on each output leaves on the residual of ``below``."""
    factor = Fraction(1)
    for name in query.margin:
        size = domain[name].size
        if name in query.contrast:
            factor /= 2
        elif name in query.residual:
            factor /= size * size
        elif name not in below:
            factor *= size
    return factor


def one_record(domain: Domain, query: Query) -> tuple[int, int]:
    """How far adding or removing one record moves the answer: L1, and L2 squared. The same for every record."""
    return _residual_length(domain.shape(query.residual))


@lru_cache(maxsize=4096)
def _residual_length(sizes: tuple[int, ...]) -> tuple[int, int]:
    """L1 and L2 squared of ⊗u_j, where u_j is k_j − 1 at a record's value and −1 elsewhere."""
    return prod(2 * (size - 1) for size in sizes), prod(size * (size - 1) for size in sizes)


def replaced_record(domain: Domain, query: Query, changed: frozenset[str]) -> tuple[int, int]:
    """How far one record moves the answer when exactly the ``changed`` attributes take another value: L1, L2 squared.

    A record's contribution is a tensor product over the attributes. A changed cell attribute moves it to other outputs,
    so both contributions count in full; changed contrasts flip its sign if their number is odd.
    """
    l1, l2 = one_record(domain, query)
    if any(name in changed for name in query.cells):
        return 2 * l1, 2 * l2
    odd = sum(name in changed for name in query.contrast) % 2 == 1
    moved = tuple(sorted(domain[name].size for name in query.residual if name in changed))
    still = tuple(domain[name].size for name in query.residual if name not in changed)
    moved_l1, moved_l2 = _residual_move(moved, odd)
    still_l1, still_l2 = _residual_length(still)
    return still_l1 * moved_l1, still_l2 * moved_l2


@lru_cache(maxsize=4096)
def _residual_move(sizes: tuple[int, ...], flipped: bool) -> tuple[int, int]:
    """L1 and L2 squared of ⊗u_j − s·⊗u'_j over changed residual attributes, s = −1 when ``flipped``.

    Along each axis u and u' are constant on three classes of values: the old one, the new one, the others.
    """
    sign = -1 if flipped else 1
    l1 = l2 = 0
    for classes in product(*([(k - 1, -1, 1), (-1, k - 1, 1), (-1, -1, k - 2)] for k in sizes)):
        difference = prod(old for old, _, _ in classes) - sign * prod(new for _, new, _ in classes)
        times = prod(count for _, _, count in classes)
        l1 += times * abs(difference)
        l2 += times * difference**2
    return l1, l2
