"""Trees of counts over a grid: each node counts a stretch, ``branching`` stretches make the next larger one.

Counts of all levels but the whole are measured with independent noise of one variance. What they say together is the
least-squares estimate: upwards each node is combined with the sum of those below it, downwards what is left over is
shared equally (Hay et al. 2010). Sums from the start of the grid have variances in closed form (docs/questions.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Floats


def tree_counts(counts: NDArray[Any], branching: int, levels: int) -> NDArray[Any]:
    """The counts of all nodes, the largest stretches first; the grid is filled up with zeros."""
    leaves = np.zeros(branching**levels, dtype=object)
    leaves[: len(counts)] = counts
    found = [leaves]
    for _ in range(levels - 1):
        found.append(found[-1].reshape(-1, branching).sum(axis=1))
    return np.concatenate(found[::-1])


def tree_nodes(branching: int, levels: int) -> int:
    """How many nodes are measured."""
    return sum(branching**level for level in range(1, levels + 1))


def spreads(branching: int, levels: int) -> list[float]:
    """The variance, in units of the noise's, of what a node and all below it say of its count: leaves first."""
    found = [1.0]
    for _ in range(levels - 1):
        found.append(1 / (1 + 1 / (branching * found[-1])))
    return found


def fitted_leaves(noisy: NDArray[Any], branching: int, levels: int) -> Floats:
    """The least-squares estimate of each leaf from the noisy counts of all nodes."""
    sizes = [branching**level for level in range(1, levels + 1)]
    measured = np.split(noisy.astype(np.float64), np.cumsum(sizes)[:-1])
    variances = spreads(branching, levels)
    upward = [measured[-1]]
    for height in range(1, levels):
        below = upward[-1].reshape(-1, branching).sum(axis=1)
        own = variances[height]
        upward.append(own * measured[levels - 1 - height] + (1 - own) * below)
    downward = upward[-1]
    for height in range(levels - 2, -1, -1):
        children = upward[height].reshape(-1, branching)
        rest = downward - children.sum(axis=1)
        downward = (children + rest[:, np.newaxis] / branching).reshape(-1)
    return np.asarray(downward, dtype=np.float64)


def prefix_variances(size: int, branching: int, levels: int, share: float = 0.0) -> Floats:
    """The variance, in units of the noise's, of (sum of the first x leaves) − share · (sum of all), for x = 1 … size.

    The sum of the first x leaves below a node is φ times the node's own estimate and what differences between its
    children add, which is uncorrelated with it: with j whole children and a part φ' of the next, φ = (j + φ')/b, and
    the differences add s((j + φ'²) − (j + φ')²/b), where s is the variance of a child's count
    by itself and what is below it.
    """
    x = np.arange(1, size + 1)
    part = np.zeros(size)
    added = np.zeros(size)
    for s in spreads(branching, levels):
        whole = x % branching
        x = x // branching
        reach = whole + part
        added = added + s * ((whole + part**2) - reach**2 / branching)
        part = reach / branching
    part = part + x
    total = branching * spreads(branching, levels)[-1]
    return np.asarray(added + (part - share) ** 2 * total, dtype=np.float64)
