"""Records of a graphical model: whole people whose tables are those of the model, as nearly as whole numbers can be.

Attribute by attribute, in the order of the cliques: the records that agree in all that the attribute's clique has
already are divided among its values, by its distribution given these. Counts are rounded, and what rounding took or
gave is carried over to the next group, so that the errors do not add up in smaller tables. So every table inside a
clique is nearly exact. Which of the records of a group get which value does not matter to the clique: it is random, and
tables that reach further back have the noise of a sample.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Domain, Margin
from margrave.reconstruct.graphical.beliefs import axes_of
from margrave.reconstruct.graphical.model import GraphicalModel


def records_of(model: GraphicalModel, total: int) -> Integers:
    """So many records, a row of codes each, in the order of the domain.

    They follow from the model alone: the same each time.
    """
    from margrave.reconstruct.graphical.rounding import divided, mixed

    domain = model.domain
    rows = np.zeros((total, len(domain)), dtype=np.int64)
    for name, before, shares in _steps(model):
        groups = _cells(domain, rows, before)
        sizes = np.bincount(groups, minlength=domain.cells(before))
        order, at = np.argsort(groups, kind="stable"), domain.position(name)
        rows[order, at] = mixed(divided(shares, sizes), sizes, at)
    return rows


def _steps(model: GraphicalModel) -> Iterator[tuple[str, Margin, Floats]]:
    """Each attribute, what its clique has before it, and its distribution given each cell of that."""
    domain = model.domain
    for clique, conditional in zip(model.tree.cliques, model.calibrated.conditional, strict=True):
        axes = axes_of(clique)
        for at in range(len(clique.separator), len(axes)):
            joint = conditional.sum(axis=tuple(range(at + 1, len(axes))))
            rows = joint.reshape(domain.cells(axes[:at]), -1)
            sums = rows.sum(axis=1, keepdims=True)
            yield axes[at], axes[:at], np.where(sums > 0, rows / np.where(sums > 0, sums, 1), 1 / rows.shape[1])


def _cells(domain: Domain, rows: Integers, margin: Margin) -> Integers:
    """The cell of a margin that each record is in."""
    if not margin:
        return np.zeros(len(rows), dtype=np.int64)
    columns = tuple(rows[:, domain.position(name)] for name in margin)
    return np.asarray(np.ravel_multi_index(columns, domain.shape(margin)), dtype=np.int64)
