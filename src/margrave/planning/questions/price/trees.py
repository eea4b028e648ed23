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


def leaf_variance(branching: int, levels: int) -> float:
    """The variance, in units of the noise's, of the estimate of one leaf.

    What a child is above the mean of its siblings is uncorrelated with their sum, and so with all that is known from
    above: their variances add up, the one from above over the square of the branching.
    """
    below = spreads(branching, levels)
    found = below[-1]
    for one in below[-2::-1]:
        found = one * (1 - 1 / branching) + found / branching**2
    return found


def fitted_leaves(noisy: NDArray[Any], branching: int, levels: int) -> Floats:
    """The least-squares estimate of each leaf from the noisy counts of all nodes, which are the last axis."""
    sizes, trees = [branching**level for level in range(1, levels + 1)], noisy.shape[:-1]
    measured = np.split(noisy.astype(np.float64), np.cumsum(sizes)[:-1], axis=-1)
    variances = spreads(branching, levels)
    upward = [measured[-1]]
    for height in range(1, levels):
        below = upward[-1].reshape(*trees, -1, branching).sum(axis=-1)
        own = variances[height]
        upward.append(own * measured[levels - 1 - height] + (1 - own) * below)
    downward = upward[-1]
    for height in range(levels - 2, -1, -1):
        children = upward[height].reshape(*trees, -1, branching)
        rest = downward - children.sum(axis=-1)
        downward = (children + rest[..., np.newaxis] / branching).reshape(*trees, -1)
    return np.asarray(downward, dtype=np.float64)


def prefix_variances(size: int, branching: int, levels: int, share: float = 0.0) -> Floats:
    """The variance, in units of the noise's, of (sum of the first x leaves) − share · (sum of all), x = 1 … size."""
    return variances_at(np.arange(1, size + 1), branching, levels, share)


def variances_at(leaves: NDArray[Any], branching: int, levels: int, share: float | Floats = 0.0) -> Floats:
    """The same for some x alone, each with its share.

    The sum of the first x leaves below a node is φ times the node's own estimate and what differences between its
    children add, which is uncorrelated with it: with j whole children and a part φ' of the next, φ = (j + φ')/b, and
    the differences add s((j + φ'²) − (j + φ')²/b), where s is the variance of a child's count
    by itself and what is below it.
    """
    x = leaves
    part, added = np.zeros(len(x)), np.zeros(len(x))
    for s in spreads(branching, levels):
        whole = x % branching
        x = x // branching
        reach = whole + part
        added = added + s * ((whole + part**2) - reach**2 / branching)
        part = reach / branching
    part = part + x
    total = branching * spreads(branching, levels)[-1]
    return np.asarray(added + (part - share) ** 2 * total, dtype=np.float64)


def prefix_tails(size: int, branching: int, levels: int, share: float = 0.0) -> Floats:
    """How far the same sums are from being Gaussian: the sum of the fourth powers of the weights of all noises, over
    the square of the sum of their squares. It is 1 for a single noise, and 1/n for n that weigh the same.

    Going down to leaf x, what is estimated has the weight d + (1 − s)e on each child of a node, where e is the weight
    of the node and d what `variances_at` adds: of the whole children, of those after x, and of the one that x is in,
    which is divided further. The node's own noise has the weight s·e, and a child that is not divided the fourth power
    of its weight times what a count by itself and all below it have.
    """
    digits, parts = _digits(size, branching, levels)
    own, fourth = spreads(branching, levels), [1.0]
    for s in own[1:]:
        fourth.append(s**4 + (1 - s) ** 4 * branching * fourth[-1])
    inherited, found = np.full(size, -share), np.zeros(size)
    for height in range(levels - 1, -1, -1):
        whole, part = digits[height], parts[height]
        mean = (whole + part) / branching if height < levels - 1 else np.zeros(size)
        full, none, divided = (1 - mean + inherited, inherited - mean, part - mean + inherited)
        rest = branching - 1 - whole
        found += fourth[height] * (whole * full**4 + np.maximum(rest, 0) * none**4)
        # Where x is at the end, nothing is divided, and all children are whole.
        found += np.where(rest >= 0, (own[height] * divided) ** 4, 0.0)
        inherited = (1 - own[height]) * np.where(rest >= 0, divided, 0.0)
    return np.asarray(found / prefix_variances(size, branching, levels, share) ** 2, dtype=np.float64)


def _digits(size: int, branching: int, levels: int) -> tuple[list[NDArray[Any]], list[Floats]]:
    """For x = 1 … size and each height, leaves first: how many children of its node are whole, and how much of the
    next one.
    """
    x, part = np.arange(1, size + 1), np.zeros(size)
    digits: list[NDArray[Any]] = []
    parts: list[Floats] = []
    for height in range(levels):
        whole = x if height == levels - 1 else x % branching
        digits.append(whole)
        parts.append(part)
        x, part = x // branching, (whole + part) / branching
    return digits, parts
