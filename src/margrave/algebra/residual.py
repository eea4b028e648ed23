"""Residual transforms: a margin as the sum of what each smaller margin says that no smaller one says.

Arrays carry any number of leading batch axes, so that many margins of one shape are transformed together; the last
``axes`` axes are the attributes. A residual is named by the attributes' positions, ``T = (0, 2)``. With ``k_j`` the
length of axis ``j``, the residual is

    R_T = (⊗_{j∈T} (I − J/k_j)) M_T x                       (float)
    ∏_{j∈T} k_j · R_T = (⊗_{j∈T} (k_j I − J)) M_T x         (``exact=True``: whole numbers stay whole numbers)

and a margin is rebuilt by ``M_α x (y) = Σ_{T⊆α} R_T(y_T) / ∏_{j∈α∖T} k_j``. Both directions take time and memory
proportional to ``∏(k_j + 1)`` per margin; no matrix is formed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.arrays import Array
from margrave.algebra.lattice import subsets

if TYPE_CHECKING:
    from margrave.algebra.domain import Domain, Margin

Axes = tuple[int, ...]


def centre(values: Array, axis: int, *, exact: bool = False) -> Array:
    """Subtract the mean along an axis; with ``exact``, ``k`` times that, in whole numbers."""
    total = values.sum(axis=axis, keepdims=True)
    size = values.shape[axis]
    centred: Array = values * size - total if exact else values - total / size
    return centred


def decompose(
    values: Array, axes: int, *, exact: bool = False, wanted: Collection[Axes] | None = None
) -> dict[Axes, Array]:
    """The residuals of the last ``axes`` axes: ``T`` to an array of the batch axes and the axes of ``T``.

    All of them, or only those wanted; what leads to none that is wanted is not computed.
    """
    batch = values.ndim - axes
    parts: dict[Axes, Array] = {(): values if exact else values.astype(float, copy=False)}
    for axis in range(axes):
        begun = None if wanted is None else {tuple(a for a in chosen if a <= axis) for chosen in wanted}
        split: dict[Axes, Array] = {}
        for chosen, part in parts.items():
            position = batch + len(chosen)
            if begun is None or chosen in begun:
                split[chosen] = part.sum(axis=position)
            if begun is None or (*chosen, axis) in begun:
                split[(*chosen, axis)] = centre(part, position, exact=exact)
        parts = split
    return parts


def compose(parts: Mapping[Axes, Array], shape: tuple[int, ...], *, exact: bool = False) -> Array:
    """The inverse of :func:`decompose` for axes of the given lengths."""
    current = dict(parts)
    batch = current[()].ndim
    for axis in reversed(range(len(shape))):
        joined: dict[Axes, Array] = {}
        for chosen, part in current.items():
            if axis in chosen:
                continue
            position = batch + len(chosen)
            centred = current[(*chosen, axis)]
            mean = np.expand_dims(part, position)
            joined[chosen] = (centred + mean) // shape[axis] if exact else centred + mean / shape[axis]
        current = joined
    return current[()]


def residuals(domain: Domain, margin: Margin, counts: Array, *, exact: bool = False) -> dict[Margin, Array]:
    """All residuals of one margin, named by their attributes."""
    shape = domain.shape(margin)
    parts = decompose(np.asarray(counts).reshape(shape), len(shape), exact=exact)
    return {tuple(margin[axis] for axis in chosen): part for chosen, part in parts.items()}


def margin_from(domain: Domain, margin: Margin, parts: Mapping[Margin, Array], *, exact: bool = False) -> Array:
    """A margin from the residuals of the margins below it, by name."""
    axis_of = {name: axis for axis, name in enumerate(margin)}
    chosen = {tuple(axis_of[name] for name in below): np.asarray(parts[below]) for below in subsets(margin)}
    return compose(chosen, domain.shape(margin), exact=exact)
