"""Errors of what is published, by simulating the whole way from the noise to the published table.

Non-negativity and rounding bring bias, so the error of the unbiased table no longer applies. Here the published table
plays the truth: it is measured again with fresh noise, fitted, made non-negative and rounded, several times over, and
what comes out is compared with what went in. No data is touched and no budget spent: only published numbers go in. The
random numbers come from a seed that is published with the bars, so that anybody can simulate them again. How far the
published table is from the unbiased one then says how much of the simulations to believe (see `apart`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.query import answer
from margrave.crossing import Answer, Measured
from margrave.noise import Generator, sample_many
from margrave.planning.limits import record_simulations, simulations
from margrave.planning.publication.publishing import GRAPHICAL, RECORDS
from margrave.planning.publication.raises import RAISED
from margrave.progress import Progress
from margrave.reconstruct.apart import Apart, Unbiased
from margrave.reconstruct.publication import Published, digest
from margrave.reconstruct.unbiased import Fit

if TYPE_CHECKING:
    from margrave.planning.plan import Plan


Bars = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The standard error and the half-width of the interval, for each cell of a table."""
Shares = Mapping[tuple[Margin, Margin], NDArray[np.float64]]
"""For a table and the part of its attributes that tells the whole: the half-width of each cell's share of its whole."""

_LEAST = 0.25
"""No cell's root mean squared error is taken to be below this: a count that never moved in a few simulations may."""
_ROUNDED = 1e-5
"""Room for bars that were rounded before they were published."""
_POOL = 8
"""The fewest cells, near zero or away from it, whose errors are pooled apart."""


@dataclass(frozen=True)
class Origin:
    """How simulated error bars came about: the ``seed`` of their random numbers, and the ``form`` of the simulation.

    No seed stands for the one that is made of the noisy answers.
    """

    seed: str | None
    form: int


UNSIMULATED = (*RAISED, GRAPHICAL)
"""What no simulation can tell: simulated answers of a model fit the model, however far that is from the truth."""


def replicates(published: Published) -> int:
    """How many simulations a table is worth: fewer where one takes long, none where they would take too long."""
    if published.method == RECORDS:
        reads = sum(sum(published.domain.shape(margin)) for margin in published.misfits)
        return record_simulations(len(published.held.records()) * reads)
    return 0 if published.method in UNSIMULATED else simulations(published.domain.cells(), published.method)


@dataclass(frozen=True, eq=False)
class Simulated:
    """Tables published from simulated measurements of ``truth``, a published table.

    ``factor``: what the simulated errors are multiplied by. A published table is smoother than the truth, so that
    simulations around it see too little of the bias; how much is estimated from the unbiased tables (see `_factor`).
    ``unbiased_again``: one row a simulation, the unbiased counts of a margin from the same simulated measurements.
    """

    truth: Published
    again: tuple[Published, ...]
    factor: float
    unbiased_again: Callable[[Margin], Floats]

    def errors(self, margin: Margin) -> Floats:
        """One row a simulation: published minus truth, for each cell of the margin."""
        return _rows(self.again, margin) - self.truth.margin(margin).ravel()

    def cell_errors(self, margin: Margin, level: float) -> tuple[Floats, Floats]:
        """The root mean squared error of each cell, and the half-width that covers the truth at the given level.

        Errors of alike cells are pooled for the quantile: a few simulations of many cells say more about the tails
        than those of one cell. Each is in units of the root mean square of the *other* simulations of its cell, because
        the error of the release itself is not among those that its bar is made of either: for normal errors this is
        Student's t.
        """
        truth = self._truth(margin)
        size, widths = self._pooled(self.errors(margin), truth, _LEAST, level)
        return size, np.maximum(widths, _least_widths(truth, size, level, whole=self.truth.whole))

    def errors_beside(self, margin: Margin, level: float, unbiased: Unbiased) -> tuple[Floats, Floats]:
        """The same, given how far each cell is from the unbiased one (see `apart`), whose half-width is for the level.

        Cells near zero keep what is simulated, where they are pooled apart: most of them rest at zero whatever the
        noise, which no variance describes. Others are alike where counts are about as large: interactions that were
        smoothed away are missing from large counts more than from small ones.
        """
        truth, (size, widths) = self._truth(margin), self.cell_errors(margin, level)
        near = truth < 2 * size
        kept = near & _pooled_apart(near)
        unit = np.maximum(unbiased.errors, _LEAST)
        again, unbiased_again = _rows(self.again, margin) / unit, self.unbiased_again(margin) / unit
        pools = np.where(unbiased.errors > 0, kept, 2)
        others = pools == 0
        pools[others] = 3 + _by_size((truth / unit)[others])
        apart = Apart(truth / unit, unbiased.counts / unit, again, unbiased_again, pools)
        found = np.maximum(unit * apart.errors(), _LEAST)
        wide = found * np.maximum(unbiased.widths / unit, _normal(level))
        size, widths = np.where(kept, size, found), np.where(kept, widths, wide)
        return size, np.maximum(widths, _least_widths(truth, size, level, whole=self.truth.whole))

    def share_widths(self, margin: Margin, whole: Margin, level: float) -> Floats:
        """The half-width around each cell's share of the records that have the same values of ``whole``.

        Counts above and below the line move together, so shares are simulated as shares. Where there is nobody to
        have a share of, in what is published or in a simulation, it can be anything: the half-width is 1.
        """
        axes = tuple(axis for axis, name in enumerate(margin) if name not in whole)
        counts = np.stack([np.asarray(one.margin(margin), dtype=np.float64) for one in (self.truth, *self.again)])
        wholes = np.broadcast_to(counts.sum(axis=tuple(axis + 1 for axis in axes), keepdims=True), counts.shape)
        flat, below = counts.reshape(len(counts), -1), wholes.reshape(len(counts), -1)
        there = (below > 0).all(axis=0)
        widths = np.ones(there.shape)
        if there.any():
            shares, least = flat[:, there] / below[:, there], _LEAST / below[0, there]
            size, found = self._pooled(shares[1:] - shares[0], shares[0], least, level)
            near = shares[0] < 2 * size
            found = np.where(near & self.truth.whole, np.maximum(found, 1 / below[0, there]), found)
            widths[there] = np.minimum(found, 1.0)
        return widths

    def counts(self, margin: Margin) -> Floats:
        """The counts of a margin: first those that are published, then those of each simulation."""
        return np.stack([np.asarray(one.margin(margin), dtype=np.float64) for one in (self.truth, *self.again)])

    def derived_widths(self, numbers: Floats, least: float | Floats, level: float) -> tuple[Floats, Floats]:
        """The root mean squared error and the half-width of numbers that follow from counts, such as sums and shares.

        ``numbers``: as they follow from `counts`, along the first axis. Each is judged by its own simulations, not
        pooled with others, so that its interval is the same wherever it is shown: Student's t, since the size of the
        error comes from as many simulations as there are. ``least``: the smallest error that is believed.
        """
        squares = (self.factor * (numbers[1:] - numbers[0])) ** 2
        size = np.maximum(np.sqrt(squares.mean(axis=0)), _LEAST * np.asarray(least))
        from scipy.special import stdtrit

        return size, size * float(stdtrit(len(squares), (1 + level) / 2))

    def _truth(self, margin: Margin) -> Floats:
        return self.truth.margin(margin).ravel().astype(np.float64)

    def _pooled(self, errors: Floats, truth: Floats, least: float | Floats, level: float) -> tuple[Floats, Floats]:
        """The root mean square of the errors of some numbers (a row a simulation), and half-widths."""
        squares = (self.factor * errors) ** 2
        others = (squares.sum(axis=0) - squares) / (len(squares) - 1)
        units = np.sqrt(squares / np.maximum(others, np.square(least)))
        size = np.maximum(np.sqrt(squares.mean(axis=0)), least)
        near = truth < 2 * size
        quantiles = np.full(size.shape, np.quantile(units, level))
        if _pooled_apart(near):
            quantiles[~near] = np.quantile(units[:, ~near], level)
            quantiles[near] = np.quantile(units[:, near], level)
        # A cell near zero rests and seldom jumps: too seldom for a quantile, so that of a normal error is the least.
        quantiles[near] = np.maximum(quantiles[near], _normal(level))
        return size, size * quantiles


def _pooled_apart(near: NDArray[np.bool_]) -> bool:
    """Whether there are enough cells near zero, and away from it, for the errors of both to be pooled apart."""
    return bool(min(near.sum(), (~near).sum()) >= _POOL)


def _by_size(counts: Floats) -> NDArray[np.int64]:
    """A number for each cell, the same for those whose counts are about as many times their noise.

    Counts from 1, 2, 4, … on have a number of their own where there are cells enough, the largest first.
    """
    found, left = np.zeros(counts.shape, dtype=np.int64), np.full(counts.shape, True)
    for power in range(int(np.log2(counts.max(initial=1.0))), -1, -1):
        cells = left & (counts >= 2.0**power)
        if cells.sum() >= _POOL:
            found[cells], left = 1 + power, left & ~cells
    if 0 < left.sum() < min(_POOL, len(counts)):
        found[left] = found[~left].min()
    return found


def _normal(level: float) -> float:
    """The half-width that holds a normal error of size 1 at the given level."""
    return NormalDist().inv_cdf((1 + level) / 2)


def _least_widths(counts: Floats, errors: Floats, level: float, *, whole: bool) -> Floats:
    """The least half-width of each cell: near zero that of a normal error, so that a published 0 never excludes 1."""
    least = _normal(level) * errors
    return np.where(counts < 2 * errors, np.maximum(least, 1.0) if whole else least, 0.0)


def too_small(counts: Floats, errors: Floats, widths: Floats, level: float, *, whole: bool) -> NDArray[np.bool_]:
    """The cells whose bars are smaller than any simulation makes them (see `Simulated.cell_errors`)."""
    least = _least_widths(counts, errors, level, whole=whole)
    return np.asarray((errors < _LEAST) | (widths < least - _ROUNDED))


def simulate(plan: Plan, fit: Fit, published: Published, seed: str, progress: Progress | None = None) -> Simulated:
    """Publish again from simulated measurements of a published table, with noise from a seed that is no secret."""
    from margrave.reconstruct.published import publish_again

    generator = Generator.seeded(f"error bars {seed}")
    count = replicates(published)
    measured = [_measured_again(plan, published, generator) for _ in range(count)]
    # With little noise the same answers come again and again, and from the same answers the same is published.
    known = {digest(one): Fit(plan.accuracy, one) for one in measured}
    found = dict(zip(known, publish_again(plan, list(known.values()), published, progress), strict=True))
    fits, again = [known[digest(one)] for one in measured], []
    for one in measured:
        table = found[digest(one)]
        assert table is not None
        again.append(table)

    def unbiased_again(margin: Margin) -> Floats:
        return np.array([_unbiased(plan, one, margin) for one in fits])

    factor = _factor(plan, fit, published, unbiased_again, again) if count else 1.0
    return Simulated(published, tuple(again), factor, unbiased_again)


def _factor(
    plan: Plan,
    fit: Fit,
    published: Published,
    unbiased_again: Callable[[Margin], Floats],
    again: Sequence[Published],
) -> float:
    """By how much the simulated errors of all wanted tables are too small."""
    return understated(
        Compared(
            published.margin(margin).ravel().astype(np.float64),
            _unbiased(plan, fit, margin),
            _rows(again, margin),
            unbiased_again(margin),
            plan.mean_variance(margin),
        )
        for margin in plan.spec.margins
    )


@dataclass(frozen=True, eq=False)
class Compared:
    """The cells of one table: published and unbiased, and a row of both for each simulation.

    ``variance``: that of an unbiased cell, in the mean over the cells.
    """

    published: Floats
    unbiased: Floats
    again: Floats
    unbiased_again: Floats
    variance: float


def understated(tables: Iterable[Compared]) -> float:
    """By how much the simulated errors are too small, never below 1.

    With p published and u unbiased, E(p − t)² = E(p − u)² − Var u + 2 Cov(p, u) for whatever truth t. The first two
    terms are known; the third comes from the simulations. Their mean over all cells of all tables, against the mean
    square of the simulated errors, says how much of the bias those miss.
    """
    risk = simulated = 0.0
    for one in tables:
        centred = one.again - one.again.mean(axis=0)
        covariance = (centred * one.unbiased_again).sum(axis=0) / (len(one.again) - 1)
        apart = one.published - one.unbiased
        risk += float((apart**2 + 2 * covariance).sum()) - apart.size * one.variance
        simulated += float(((one.again - one.published) ** 2).mean(axis=0).sum())
    return sqrt(max(1.0, risk / simulated)) if simulated > 0 else 1.0


def _rows(tables: Sequence[Published], margin: Margin) -> Floats:
    return np.array([one.margin(margin).ravel() for one in tables], dtype=np.float64)


def _unbiased(plan: Plan, fit: Fit, margin: Margin) -> Floats:
    counts = fit.margin(plan.measured_margin(margin))
    return plan.encoding.decode(margin, counts).ravel()


def _measured_again(plan: Plan, published: Published, generator: Generator) -> Measured:
    requests = [(one.noise, one.query.outputs(plan.domain)) for one in plan.measurements]
    noises = dict(sample_many(requests, generator))
    answers = []
    for number, truth in enumerate(_answers(plan, published)):
        noisy = np.rint(truth).astype(np.int64) + noises[number].reshape(truth.shape)
        answers.append(Answer(plan.measurements[number], noisy))
    exact = {margin: np.rint(_counts(plan, published, margin)).astype(np.int64) for margin in plan.exact}
    cells = {(margin, codes): int(np.rint(_counts(plan, published, margin)[codes])) for margin, codes in plan.cells}
    return Measured(tuple(answers), exact, private=False, cells=cells)


def _answers(plan: Plan, published: Published) -> Iterator[NDArray[Any]]:
    for measurement in plan.measurements:
        yield answer(plan.domain, measurement.query, _counts(plan, published, measurement.query.margin))


def _counts(plan: Plan, published: Published, margin: Margin) -> NDArray[Any]:
    """The published counts of a margin of what is measured."""
    return plan.encoding.counts(margin, published.margin(plan.counted_margin(margin)))


def is_simulated(published: Published | None) -> bool:
    """Whether error bars are simulated: not where tables are published unbiased, or are too large for that."""
    return published is not None and replicates(published) > 0


def seed_of(measured: Measured, origin: Origin | None) -> str:
    """The seed of simulated error bars, which is published with them.

    It is drawn apart from the noise, of which it must tell nothing. A release whose noise comes from a seed is made to
    be repeated, bars and all: its own follows from the noisy answers.
    """
    if origin is not None and origin.seed is not None:
        return origin.seed
    if measured.private and origin is None:
        return Generator.system().octets(16).tobytes().hex()
    return digest(measured)


def simulated_bars(
    plan: Plan,
    fit: Fit,
    published: Published | None,
    seed: str,
    progress: Progress | None = None,
) -> Simulated | None:
    """Simulations of the published table, for its error bars; None where none are simulated."""
    if published is None or not is_simulated(published):
        return None
    return simulate(plan, fit, published, seed, progress)
