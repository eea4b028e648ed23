"""The table of any margin of a model, also of one that no clique holds: attributes are summed out one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_letters

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.errors import RefusedError
from margrave.reconstruct.graphical.beliefs import Calibrated, axes_of, table_in
from margrave.reconstruct.graphical.trees import JunctionTree

MOST_CELLS = 1 << 25
"""The largest table that is ever made on the way to another one."""
_WORTH_PLANNING = 1 << 16
"""From so many products on, handing a sum of products to matrix multiplication is worth its overhead."""


@dataclass(frozen=True)
class _Factor:
    margin: Margin
    table: Floats


def margin_of(tree: JunctionTree, model: Calibrated, margin: Margin) -> Floats:
    """The expected counts of a margin, with its axes in the margin's order."""
    home = tree.home(margin)
    if home is not None:
        return table_in(tree, model.counts, margin, home)
    factors, hidden = _factors(tree, model, margin), set[str]()
    for factor in factors:
        hidden |= set(factor.margin) - set(margin)
    while hidden:
        name = min(sorted(hidden), key=lambda one: _cells_with(tree.domain, factors, one))
        touched = [factor for factor in factors if name in factor.margin]
        factors = [factor for factor in factors if name not in factor.margin]
        factors.append(_multiplied(tree.domain, touched, without=name))
        hidden.remove(name)
    joined = _multiplied(tree.domain, factors, without=None)
    return joined.table.transpose([joined.margin.index(name) for name in margin])


def _factors(tree: JunctionTree, model: Calibrated, margin: Margin) -> list[_Factor]:
    """The distributions whose product has the margin: of the cliques between its attributes, and of no others.

    A clique below which nothing is wanted sums to one. Where all that is wanted lies below one child, the counts of
    that child stand for all above it.
    """
    needed, kept = set(margin), list[int]()
    for at in reversed(range(len(tree.cliques))):
        clique = tree.cliques[at]
        if needed.intersection(clique.added) or at == 0:
            kept.append(at)
            needed |= set(clique.separator)
    kept.reverse()
    top = kept[0]
    while not set(tree.cliques[top].added) & set(margin):
        children = [at for at in kept if at != top and tree.cliques[at].parent == top]
        if len(children) != 1 or set(tree.cliques[top].margin) & set(margin) - set(tree.cliques[children[0]].margin):
            break
        kept.remove(top)
        top = children[0]
    return [_Factor(axes_of(tree.cliques[at]), model.counts[at] if at == top else model.conditional[at]) for at in kept]


def _cells_with(domain: Domain, factors: Sequence[_Factor], name: str) -> int:
    touched = {one for factor in factors if name in factor.margin for one in factor.margin}
    return prod(domain[one].size for one in touched)


def _multiplied(domain: Domain, factors: Sequence[_Factor], without: str | None) -> _Factor:
    """The product of factors, one attribute summed out of it."""
    joined = factors[0]
    for at, factor in enumerate(factors[1:], start=2):
        left_out = without if at == len(factors) else None
        joined = _product(domain, joined, factor, left_out)
    if without in joined.margin:
        axis = joined.margin.index(without)
        joined = _Factor(joined.margin[:axis] + joined.margin[axis + 1 :], joined.table.sum(axis=axis))
    return joined


def _product(domain: Domain, one: _Factor, other: _Factor, without: str | None) -> _Factor:
    every = tuple(dict.fromkeys((*one.margin, *other.margin)))
    kept = tuple(name for name in every if name != without)
    if domain.cells(kept) > MOST_CELLS:
        raise RefusedError(
            f"the table of {', '.join(kept)} has too many cells to be held on the way to the one that is asked for"
        )
    letter = dict(zip(every, ascii_letters, strict=False))
    axes = ["".join(letter[name] for name in margin) for margin in (one.margin, other.margin, kept)]
    worth = domain.cells(every) > _WORTH_PLANNING
    table: Floats = np.einsum(f"{axes[0]},{axes[1]}->{axes[2]}", one.table, other.table, optimize=worth)
    return _Factor(kept, table)
