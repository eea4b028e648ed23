"""What a noisy tree of counts says: the cumulative distribution, and the quantiles with their intervals.

Sums from the start of a grid never decrease, so the nearest sums that do not are nearer to the truth than the estimate
itself, and how much nearer depends on the counts. The intervals of quantiles are therefore simulated: the noisy tree is
measured again, many times over, around its own estimate. Only noisy numbers go in, and the random numbers come from
a seed that is made of them: the same answer always has the same intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.noise import Generator
from margrave.planning.questions.language.aggregates import Cumulative, Quantiles
from margrave.planning.questions.price.expectation import GAUSSIAN_95, LAPLACE_95
from margrave.planning.questions.price.mechanisms import Tree
from margrave.planning.questions.price.trees import fitted_leaves, prefix_tails, prefix_variances, tree_nodes
from margrave.planning.questions.question import PricedQuestion
from margrave.publish.questions.answer_values import AnswerRow

SUMS_95 = (
    (0.0, 1 / 32, 1 / 16, 1 / 8, 1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0),
    (GAUSSIAN_95, 1.966537, 1.973276, 1.986812, 2.002583, 2.012628, 2.028421, 2.056502, LAPLACE_95),
)
"""How many hold 95 % of sums of Laplaces, by the sum of the fourth powers of their weights over the square of the sum
of their squares: those of n that weigh the same, which is 1/n. Others lie at most 0.01 below the line between."""
_TIMES = ((1 << 19, 199), (1 << 23, 79), (1 << 62, 39))
"""How often a tree is measured again, by how many values all quantiles of all groups have together, at most. One more
is a multiple of forty, so that a fortieth of all, the drawn one among them, is a whole number of them."""
_AT_ONCE = 1 << 16
_FAR = 8
"""Sums that are so many standard errors off are not looked at."""

Floats = NDArray[np.float64]


def tree_rows(
    question: PricedQuestion, mechanism: Tree, keys: Sequence[Mapping[str, Any]], numbers: Sequence[int]
) -> Iterator[AnswerRow]:
    """The cumulative distribution by the least-squares estimate of the tree, or quantiles of it."""
    nodes = tree_nodes(mechanism.branching, mechanism.levels)
    noisy = np.array(numbers, dtype=object).reshape(len(keys), nodes)
    sums = np.cumsum(fitted_leaves(noisy, mechanism.branching, mechanism.levels), axis=-1)
    if isinstance(question.aggregate, Cumulative):
        for key, through in zip(keys, sums, strict=True):
            yield from _cumulative(question, mechanism, key, through)
    else:
        seed = sha256(",".join(map(str, numbers)).encode()).hexdigest()
        yield from _quantiles(question, mechanism, keys, sums, Generator.seeded(f"quantiles {seed}"))


def _cumulative(
    question: PricedQuestion, mechanism: Tree, key: Mapping[str, Any], through: Floats
) -> Iterator[AnswerRow]:
    grid, shape = question.sought.grid, (mechanism.branching, mechanism.levels)
    assert grid is not None
    size = len(grid.codes)
    errors = np.sqrt(prefix_variances(size, *shape) * mechanism.noise.variance)
    halves = (np.interp(prefix_tails(size, *shape), *SUMS_95) if mechanism.noise.pure else GAUSSIAN_95) * errors
    for place, shown in enumerate(grid.shown):
        value, error, half = float(through[place]), float(errors[place]), float(halves[place])
        low, high = max(0.0, value - half), max(0.0, value + half)
        yield AnswerRow({**key, "up_to": shown}, value, error, low, high)


@dataclass(frozen=True, eq=False)
class _Sought:
    """One quantile of one group: where it is by the estimate, and which values the noise lets it have.

    The monotone sums, less the share of all (``below``), are what is beyond: the quantile is the least value at which
    the exact one is not negative. ``above``: for the values from ``start`` on, how many simulated errors are more than
    what is beyond. If fewer than a fortieth are, the exact one is not below zero; if fewer than a fortieth are not, it
    is.
    """

    share: float
    below: float
    place: int
    start: int
    above: NDArray[np.uint8]

    @classmethod
    def of(cls, share: float, sums: Floats, total: float, reach: float) -> _Sought:
        below = share * total
        start, place, end = np.searchsorted(sums, [below - reach, below, below + reach])
        return cls(share, below, min(int(place), len(sums) - 1), int(start), np.zeros(end - start, np.uint8))

    def compare(self, sums: Floats, errors: Floats, of_all: Floats) -> None:
        """Count simulated errors of the monotone sums, one row each, with those of the sum of all."""
        near = slice(self.start, self.start + len(self.above))
        limits = sums[near] - self.below + self.share * of_all[:, np.newaxis]
        self.above[:] += np.count_nonzero(errors[:, near] > limits, axis=0).astype(np.uint8)

    def ends(self, times: int, size: int) -> tuple[int, int]:
        """The first value whose sum may reach the share, and the one after the last whose sum may not."""
        fewest, above = (times + 1) // 40, self.above.astype(np.int64)
        reached, missed = np.flatnonzero(times - above >= fewest), np.flatnonzero(above >= fewest)
        low = self.start + int(reached[0]) if reached.size else self.place
        high = self.start + int(missed[-1]) + 1 if missed.size else self.place
        return min(low, self.place), min(max(high, self.place), size - 1)


def _quantiles(
    question: PricedQuestion,
    mechanism: Tree,
    keys: Sequence[Mapping[str, Any]],
    sums: Floats,
    generator: Generator,
) -> Iterator[AnswerRow]:
    """The least value up to which the share of all lies, by the monotone estimate, and its interval: all values at
    which the errors that are simulated around the estimate do not exclude it.
    """
    grid, aggregate = question.sought.grid, question.aggregate
    assert grid is not None and isinstance(aggregate, Quantiles)
    shown, shares = grid.shown, [float(one.value) for one in aggregate.shares]
    size = len(shown)
    kept = [_monotone(through[:size]) for through in sums]
    errors = [_most_error(mechanism, size, share) for share in shares]
    sought = [
        [_Sought.of(share, held, float(through[-1]), _FAR * error) for share, error in zip(shares, errors, strict=True)]
        for held, through in zip(kept, sums, strict=True)
    ]
    work = size * len(keys) * len(shares)
    times = next(many for most, many in _TIMES if work <= most)
    for again, of_all in _measured_again(mechanism, size, times, generator):
        for held, several in zip(kept, sought, strict=True):
            world = np.maximum(held, 0.0)
            moved = np.array([_monotone(world + one) for one in again]) - world
            for one in several:
                one.compare(held, moved, of_all)
    for key, several in zip(keys, sought, strict=True):
        for one in several:
            low, high = one.ends(times, size)
            yield AnswerRow({**key, "share": one.share}, shown[one.place], None, shown[low], shown[high])


def _monotone(sums: Floats) -> Floats:
    """The nearest sums that never decrease."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(sums).x, dtype=np.float64)


def _most_error(mechanism: Tree, size: int, share: float) -> float:
    variances = prefix_variances(size, mechanism.branching, mechanism.levels, share)
    return float(np.sqrt(variances.max() * mechanism.noise.variance))


def _measured_again(mechanism: Tree, size: int, times: int, generator: Generator) -> Iterator[tuple[Floats, Floats]]:
    """The errors of sums from the start, and of the sum of all, in fresh draws of the noise: some at a time."""
    shape = mechanism.branching, mechanism.levels
    nodes = tree_nodes(*shape)
    step = max(1, _AT_ONCE // nodes)
    for done in range(0, times, step):
        count = min(step, times - done)
        drawn = np.asarray(mechanism.noise.sample(count * nodes, generator)).reshape(count, nodes)
        errors = np.cumsum(fitted_leaves(drawn, *shape), axis=-1)
        yield errors[:, :size], errors[:, -1]
