"""How often intervals hold and tests reject when a model is fitted to a release, with and without its noise in mind.

    python benchmarks/inference.py --runs 100 --epsilon 0.5 1 2

For each bundled table, its model is fitted to the true counts, and the fit plays the population. Each run draws a
sample of the same size, releases it, and asks for 95 % intervals of the model's log odds ratios and of the
probabilities of its generators' cells, and for a test of the model at 5 %, in two ways:

    noise-aware    margrave.inference.inference, from the noisy measurements
    naive          the published table taken for data: maximum likelihood, Wald intervals, G²

Where the maximum likelihood estimate does not exist (every table but czech), a tenth of a record is added to every cell
first, so that the population has no empty cell and every log odds ratio is finite. A naive fit that does not exist has
half a record added to every cell, as textbooks do. Given are the share of intervals that hold the population's number,
with a standard error over runs, the share that have no end, the median width of those that have, and how often the
true model is rejected.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt

import numpy as np
from scipy.special import expit

import margrave as mg
from margrave.algebra.arrays import Floats
from margrave.algebra.table import Table
from margrave.budget.units import PureDP
from margrave.inference.inference import Inference
from margrave.inference.intervals import Contrast, LogOdds, interval
from margrave.models.loglinear import fit
from margrave.models.model import Model
from margrave.planning.plan import Plan
from margrave.publish.release import Release

Z = 1.959964


@dataclass
class Tally:
    """For one way of analysis: of each run, the share of intervals that hold; widths, ends and rejections."""

    held: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    endless: list[float] = field(default_factory=list)
    rejected: list[float] = field(default_factory=list)

    def add(self, truth: Floats, low: Floats, high: Floats) -> None:
        self.held.append(float(np.mean((low <= truth) & (truth <= high))))
        width = high - low
        self.endless.append(float(np.mean(np.isinf(width))))
        self.widths += width[np.isfinite(width)].tolist()

    def line(self) -> str:
        error = np.std(self.held, ddof=1) / sqrt(len(self.held))
        width = f"{np.median(self.widths):.3g}" if self.widths else "—"
        return f"held {np.mean(self.held):.3f} ± {error:.3f}, endless {np.mean(self.endless):.2f}, width {width}"


def population(model: Model, table: Table) -> Floats:
    """Probabilities of the cells under the fitted model, none of them zero."""
    found = fit(model, table)
    if not found.exists:
        found = fit(model, Table(table.domain, table.margin, table.counts + 0.1))
    return np.asarray(found.probabilities.counts)


def targets(guess: Inference, most: int, random: np.random.Generator) -> tuple[list[Contrast], list[LogOdds]]:
    """The numbers asked about: of each kind all, or as many as are allowed, drawn at random."""
    contrasts = [
        target for _, _, target in guess.contrast_targets([term for term in guess.model.terms if len(term) > 1])
    ]
    shares = [target for _, _, target in guess.share_targets(guess.model.generators)]

    def some(items: Sequence[object]) -> list[object]:
        return [items[at] for at in sorted(random.choice(len(items), min(most, len(items)), replace=False))]

    return some(contrasts), some(shares)  # type: ignore[return-value]


def naive(model: Model, out: Release, contrasts: Sequence[Contrast], shares: Sequence[LogOdds]) -> tuple[Floats, ...]:
    """Intervals of an analyst who takes the published table for data, and the p-value of G²."""
    assert out.publication is not None
    seen = Table(model.domain, model.domain.names, out.publication.table)
    found = fit(model, seen)
    p_value = found.p_value
    if not found.exists:
        found = fit(model, Table(model.domain, model.domain.names, seen.counts + 0.5))
    m = found.fitted.counts.ravel()
    basis = model.basis()
    covariance = np.linalg.inv(basis.T @ (basis * m[:, None]))
    middle = np.array([one.value(np.log(m)) for one in contrasts])
    slopes = np.array([basis.T @ one.weights for one in contrasts])
    error = np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes))
    counts = seen.counts.ravel() / max(seen.total, 1)
    share = np.array([one.inside @ counts for one in shares])
    width = np.sqrt(share * (1 - share) / max(seen.total, 1))
    ends = (middle - Z * error, middle + Z * error, share - Z * width, share + Z * width)
    return (*ends, np.array([p_value]))


def aware(guess: Inference, contrasts: Sequence[Contrast], shares: Sequence[LogOdds]) -> tuple[Floats, ...]:
    """Intervals and test with the noise in the likelihood."""
    of_terms = np.array([interval(guess.quasi, guess.fitted, one, guess.level) for one in contrasts])
    of_cells = expit(np.array([interval(guess.quasi, guess.fitted, one, guess.level) for one in shares]))
    p_value = guess.test.p_value
    ends = (of_terms[:, 0], of_terms[:, 1], of_cells[:, 0], of_cells[:, 1])
    return (*ends, np.array([1.0 if p_value is None else p_value]))


def study(name: str, plan: Plan, runs: int, most: int) -> Iterator[str]:
    spec = plan.spec
    exact = mg.count(spec, tables=[spec.domain.names]).table(spec.domain.names)
    model = Model(spec.domain, spec.margins)
    chances = population(model, exact)
    logs, total = np.log(chances.ravel()), int(exact.total)
    random = np.random.default_rng([7, sum(map(ord, name))])
    tallies = {(way, kind): Tally() for way in ("noise-aware", "naive") for kind in ("odds ratios", "shares")}
    for run in range(runs):
        drawn = random.multinomial(total, chances.ravel()).reshape(chances.shape)
        out = mg.release(plan, Table(spec.domain, spec.domain.names, drawn).to_pandas(), seed=f"{name} {run}")
        guess = mg.infer(out, model)
        contrasts, shares = targets(guess, most, random)
        truths = np.array([t.value(logs) for t in contrasts]), np.array([t.inside @ np.exp(logs) for t in shares])
        ways = {"noise-aware": aware(guess, contrasts, shares), "naive": naive(model, out, contrasts, shares)}
        for way, ends in ways.items():
            tallies[way, "odds ratios"].add(truths[0], ends[0], ends[1])
            tallies[way, "shares"].add(truths[1], ends[2], ends[3])
            tallies[way, "shares"].rejected.append(float(ends[4][0] < 0.05))
    budget = float(spec.budget.epsilon)  # type: ignore[union-attr]
    for (way, kind), tally in tallies.items():
        rejected = f"; true model rejected {np.mean(tally.rejected):.3f}" if tally.rejected else ""
        yield f"{name:9} ε={budget:<4g} {way:12} {kind:12} {tally.line()}{rejected}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epsilon", type=Fraction, nargs="+", default=[Fraction(1, 2), Fraction(1), Fraction(2)])
    parser.add_argument("--example", choices=mg.examples.names(), action="append")
    parser.add_argument("--most", type=int, default=30, help="intervals of each kind in a run; 8 for journey")
    options = parser.parse_args()
    for name in options.example or ("fungus", "czech", "rochdale", "journey"):
        for epsilon in options.epsilon:
            begun = time.perf_counter()
            plan = mg.plan(replace(mg.Spec.load(mg.examples.path(name)), budget=PureDP(epsilon)))
            most = min(options.most, 8) if name == "journey" else options.most
            print(*study(name, plan, options.runs, most), sep="\n")
            print(f"{name:9} {options.runs} runs, {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
