"""Records fitted to noisy margins: non-negative, whole and consistent tables of any number of attributes.

The records fluctuate at a temperature that falls. Each value of each record is drawn anew, again and again, with
probability ∝ p exp(−misfit/τ), where p is how probable it is before the tables are looked at
(:mod:`margrave.reconstruct.records.prior`): by a model, or by the kind of its record, which is drawn anew as well. At
temperature τ = 1 this leads to draws from a posterior; at a low one the
records follow the noise. The temperature of the least estimated error is looked for with few states of each
(:mod:`margrave.reconstruct.records.risk`), and then held for many. The records that are published are those nearest to
the mean of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from margrave.algebra.arrays import Codes, Floats
from margrave.algebra.domain import Margin
from margrave.noise import Generator
from margrave.planning.limits import (
    FREEZE_READS,
    HELD_READS,
    RECORD_FREEZES,
    RECORD_SETTLES,
    RECORD_STATES,
    SETTLE_READS,
    STATE_READS,
    sweeps,
)
from margrave.progress import Progress
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.records.energy import Energy, energy
from margrave.reconstruct.records.kinds import Kinds, copied
from margrave.reconstruct.records.layout import tables
from margrave.reconstruct.records.prior import Mixture, RecordPrior
from margrave.reconstruct.records.risk import Judge, judge, known_noise, moved
from margrave.reconstruct.records.spread import Spreads, spreads
from margrave.reconstruct.records.variables import Variables
from margrave.reconstruct.records.zeros import Zeros

HOTTEST, COLDEST = 1.0, 2.0**-20
_STEP = 4.0
"""Each temperature is this part of the one before; at last the one half way between the best and the next is tried."""
_PATIENCE, _WORSE = 3, 0.01
"""The estimate is itself uncertain: the search ends at a temperature whose estimate is worse than the best by this part
of it, or after so many in a row that were no better. While records are hot it hardly changes, though they do.
"""
_BETTER = 0.02
"""A colder temperature is taken only if it lowers the estimate by this part: among equals the hotter one is safer."""
_SLIGHT = 0.01
"""Sweeps without temperature end where one improves the misfit by less than this share."""
_SINGLE = 1 << 20
"""Up to so many records, numbers of single precision tell well enough what one record changes of a derivative."""
_BLOCK = 1 << 12
"""Records between two looks at whether to stop."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Records and how they came about.

    ``codes``: a row for each record, a column for each attribute. ``chi_squared``: for each wanted table the misfit of
    the records in units of the noise, and ``freedoms`` what noise alone would make of it. ``finished``: whether the
    fit came to its end. ``spreads``: how far off counts are of tables that a model predicts.
    """

    codes: Codes
    temperature: float
    chi_squared: dict[Margin, float]
    freedoms: dict[Margin, float]
    finished: bool
    spreads: Spreads

    def misfits(self) -> dict[Margin, float]:
        """For each wanted table χ² for each degree of freedom: 1 is what noise alone explains."""
        return {margin: self.chi_squared[margin] / max(self.freedoms[margin], 1.0) for margin in self.freedoms}

    def summary(self) -> str:
        """The misfit of all tables in a line."""
        found = sorted(self.misfits().items(), key=lambda pair: pair[1])
        if not found:
            return "no table to fit"
        (best, low), (worst, high) = found[0], found[-1]
        middle = found[len(found) // 2][1]
        return (
            f"misfit of a table in units of its noise: median {middle:.3g}, "
            f"least {low:.3g} ({', '.join(best)}), largest {high:.3g} ({', '.join(worst)})"
        )


class Sampler:
    """Records that fluctuate: ``codes`` has a row for each record and a column for each variable."""

    def __init__(self, codes: Codes, kinds: Kinds, misfit: Energy, zeros: Zeros, seed: np.uint64) -> None:
        self.codes = codes
        self._kinds = kinds
        self._energy, self._zeros = misfit, zeros
        precision = np.float32 if len(codes) <= _SINGLE else np.float64
        self._curves = misfit.entry_curves.astype(precision)
        self._state = np.array([seed], dtype=np.uint64)

    def copy(self) -> Sampler:
        """The same records once more, with the same random numbers to come: they part only where they are told to."""
        return Sampler(self.codes.copy(), copied(self._kinds), self._energy, self._zeros, self._state[0])

    @property
    def work(self) -> int:
        """How many numbers one sweep reads."""
        layout = self._energy.tables.layout
        return len(self.codes) * int((np.diff(layout.first) * layout.sizes).sum())

    def counts(self) -> Floats:
        """The counts of all tables."""
        from margrave.reconstruct.records import kernel

        layout = self._energy.tables.layout
        counts = np.zeros(len(layout.cells), dtype=np.int64)
        kernel.count(self.codes, layout, counts)
        return counts[layout.seats].astype(np.float64)

    def sweep(self, pulls: Floats, temperature: float) -> tuple[int, float]:
        """Choose each value anew; how many changed, and how the misfit did."""
        from margrave.reconstruct.records import kernel

        layout = self._energy.tables.layout
        slope = self._energy.slopes(self.counts(), pulls).astype(self._curves.dtype)[layout.cells]
        changed, gained = 0, 0.0
        for begin in range(0, len(self.codes), _BLOCK):
            block, own = self.codes[begin : begin + _BLOCK], self._kinds.of[begin : begin + _BLOCK]
            kinds = self._kinds._replace(of=own)
            some, gain = kernel.sweep(block, kinds, layout, self._zeros, slope, self._curves, temperature, self._state)
            changed, gained = changed + some, gained + gain
        return changed, gained

    def freeze(self, mean: Floats) -> Floats:
        """Bring the records as near to some tables as changes of single values can; the misfit after each sweep."""
        energy = self._energy
        pulls = np.repeat(energy.curves, energy.tables.cells) * mean
        left = [_distance(energy, self.counts(), mean)]
        for _ in range(sweeps(RECORD_FREEZES, FREEZE_READS, self.work)):
            changed, gained = self.sweep(pulls, 0.0)
            left.append(left[-1] + gained)
            if not changed or -gained < _SLIGHT * left[-1]:
                break
        return np.array(left)


@dataclass(frozen=True, eq=False)
class _State:
    """The records at the end of a temperature, the mean of its states, and the estimated error of that. ``followed``:
    how they changed with known noise.
    """

    sampler: Sampler
    mean: Floats
    temperature: float
    error: float
    followed: Floats | None = None

    @property
    def enough(self) -> float:
        """An estimated error below this is less. An estimate can be negative: then whatever is less is."""
        return self.error - _BETTER * max(self.error, 0.0) if np.isfinite(self.error) else np.inf


def _distance(misfit: Energy, counts: Floats, mean: Floats) -> float:
    return 0.5 * float((misfit.tables.squares(counts - mean) / misfit.variances).sum())


def fit_records(
    estimates: Estimates,
    wanted: Sequence[Margin],
    found: Variables,
    zeros: Zeros,
    *,
    seed: str,
    temperature: float | None = None,
    keep: bool = False,
    progress: Progress | None = None,
    prior: RecordPrior | None = None,
) -> Fitted:
    """As many records as the estimated total says, fitted to all residuals at the temperature best for wanted tables.

    ``prior``: what is known of them before; by default kinds. ``temperature``: fit at this one instead of looking for
    the best. ``keep``: an interruption from the keyboard ends the fit with what it has reached, instead of being
    raised. ``progress`` is told the misfit for each degree of freedom.
    """
    margins = [margin for margin in estimates.values if margin]
    misfit = energy(estimates, tables(found, margins))
    count, generator = round(estimates.total), Generator.seeded(f"records {seed}")
    prior = prior or Mixture(estimates, found, zeros)
    sampler = Sampler(*prior.begin(count, generator), misfit, zeros, generator.words(1)[0])
    search = Search(sampler, misfit, judge(misfit, found.domain, wanted), progress)

    def drawn(step: Floats) -> Pull:
        return Pull(misfit.pulled(step), prior.leaning(misfit.tables, moved(estimates, misfit.tables, step)))

    finished, noise = True, known_noise(misfit, seed)
    try:
        if margins and count:
            _find(search, drawn, noise, temperature)
            search.best.sampler.freeze(search.best.mean)
    except KeyboardInterrupt:
        if not keep:
            raise
        finished = False
    sampler, followed = search.best.sampler, search.best.followed
    counts = sampler.counts()
    chi_squared, freedoms = search.jury.chi_squared(counts)
    return Fitted(
        found.attributes(sampler.codes),
        search.best.temperature,
        dict(zip(wanted, chi_squared.tolist(), strict=True)),
        dict(zip(wanted, freedoms.tolist(), strict=True)),
        finished,
        () if followed is None else spreads(estimates, prior.predicted(wanted), misfit.tables, counts, followed, noise),
    )


def _find(search: Search, drawn: Callable[[Floats], Pull], noise: Floats, temperature: float | None) -> None:
    """Look for the best temperature with known noise, or go to the one that is given."""
    if temperature is None:
        search.cool(noise, (drawn(noise / 2), drawn(-noise / 2)))
    else:
        search.reach(temperature, drawn(np.zeros_like(noise)))
    search.hold(drawn(np.zeros_like(noise)))


@dataclass(frozen=True, eq=False)
class Pull:
    """What draws records, for each cell of all tables: ``pulls`` to noisy ones, ``leaning`` to what is known before."""

    pulls: Floats
    leaning: Floats

    def at(self, temperature: float) -> Floats:
        """Both together, in units of the misfit."""
        return self.pulls + temperature * self.leaning


class Search:
    """Looks for the temperature of the least estimated error. ``best``: where that is so far."""

    def __init__(self, sampler: Sampler, misfit: Energy, jury: Judge, progress: Progress | None) -> None:
        self.sampler, self.misfit, self.jury = sampler, misfit, jury
        self._progress = progress
        self._told = 0
        self._settle = sweeps(RECORD_SETTLES, SETTLE_READS, sampler.work)
        self._states = sweeps(RECORD_STATES, STATE_READS, sampler.work)
        self._held = sweeps(RECORD_STATES, HELD_READS, sampler.work)
        self.best = _State(sampler, np.zeros(0), HOTTEST, np.inf)

    def cool(self, noise: Floats, drawn: tuple[Pull, Pull]) -> None:
        """From the hottest temperature downwards, until it is clearly worse or no better for long; then between.

        ``noise``: what the estimates were moved by, up for one set of records and down for another; ``drawn``: what
        draws the two.
        """
        twins = (self.sampler, self.sampler.copy())
        temperature, in_vain, kept = HOTTEST, 0, twins
        while temperature >= COLDEST and in_vain < _PATIENCE:
            error, better = self._try(twins, drawn, temperature, noise)
            in_vain = 0 if better else in_vain + 1
            if better:
                kept = (twins[0].copy(), twins[1].copy())
            elif error > self.best.error + _WORSE * max(self.best.error, 0.0):
                break
            temperature /= _STEP
        self._try(kept, drawn, self.best.temperature / _STEP**0.5, noise)

    def _try(
        self, twins: tuple[Sampler, Sampler], drawn: tuple[Pull, Pull], temperature: float, noise: Floats
    ) -> tuple[float, bool]:
        """Stay at a temperature with two sets of records; the estimated error there, and whether it is the best."""
        one, other = (
            self._stay(twin, temperature, pull, self._states) for twin, pull in zip(twins, drawn, strict=True)
        )
        mean = (one + other) / 2
        error = self.jury.error(mean, self.misfit.tables.sums(noise * (one - other)))
        self._report(mean)
        better = error < self.best.enough
        if better:
            self.best = _State(twins[0].copy(), mean, temperature, error, one - other)
        return error, better

    def reach(self, temperature: float, drawn: Pull) -> None:
        """Straight to a temperature that is known to be good."""
        for hotter in (8, 4, 2):
            self._sweeps(self.sampler, hotter * temperature, self._settle, drawn)
        self.best = _State(self.sampler, np.zeros(0), temperature, np.inf)

    def hold(self, drawn: Pull) -> None:
        """Stay at the best temperature, with the estimates as they are."""
        best = self.best
        mean = self._stay(best.sampler, best.temperature, drawn, self._held)
        self._report(mean)
        self.best = replace(best, mean=mean)

    def _report(self, mean: Floats) -> None:
        if self._progress is not None:
            misfits = self.misfit.misfits(mean) / self.misfit.variances
            self._told += 1
            self._progress(self._told, None, float(misfits.sum() / self.misfit.freedoms.sum()))

    def _sweeps(self, sampler: Sampler, temperature: float, count: int, drawn: Pull) -> None:
        pulls = drawn.at(temperature)
        for _ in range(count):
            sampler.sweep(pulls, temperature)

    def _stay(self, sampler: Sampler, temperature: float, drawn: Pull, states: int) -> Floats:
        """The mean of so many states at a temperature."""
        self._sweeps(sampler, temperature, self._settle, drawn)
        total = np.zeros(self.misfit.tables.size)
        for _ in range(states):
            self._sweeps(sampler, temperature, 1, drawn)
            total += sampler.counts()
        return total / states
