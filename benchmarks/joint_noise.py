"""What joint noise on all contrasts would gain under pure ε, beside the plans that Margrave makes.

    python benchmarks/joint_noise.py --runs 60

One record is ±1 in each of d contrasts, so that P(z) ∝ exp(−ε‖z‖_∞) is ε-differentially private: draw R with P ∝ (2R
+ 1)^d exp(−εR), then each z evenly on −R, …, R. Its variance is about (d + 1)(d + 2)/(3ε²), that of independent
Laplace noise 2d²/ε². For the bundled binary tables and all pairs of binary attributes, the root mean squared error of
an unbiased cell is printed for the contrasts with independent noise, with joint noise, and for the plan; for the
bundled ones also the mean L1 error of published tables, ± standard error over runs.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from itertools import combinations
from math import prod, sqrt

import numpy as np

import margrave as mg
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure, subsets
from margrave.algebra.query import Query, answer, estimates, spread
from margrave.noise import Generator
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.nonnegative.choice import nonnegative
from margrave.reconstruct.whole import whole
from published_error import MODELS, PLANS, l1_error, load, measure, project

FURTHER = 40
"""R is summed up to this many times d."""


def law_of(dimension: int, epsilon: float) -> tuple[np.ndarray, float]:
    """The probabilities of R = 0, 1, …, and the variance of one z."""
    radius = np.arange(int(FURTHER * (dimension + 1) / epsilon))
    logs = dimension * np.log(2 * radius + 1) - epsilon * radius
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    return chances, float((chances * radius * (radius + 1)).sum() / 3)


def unbiased_rmse(wanted: list[Margin], variance: float) -> float:
    """The root mean squared error of a cell, if each contrast has this variance."""
    cells = [2 ** len(margin) for margin in wanted]
    errors = [variance * 2 ** len(margin) / 4 ** len(margin) for margin in wanted]
    return sqrt(sum(map(prod, zip(cells, errors, strict=True))) / sum(cells))


def measured(
    domain: Domain, counts: np.ndarray, closure: list[Margin], epsilon: float, random: np.random.Generator
) -> Estimates:
    """All contrasts with joint noise."""
    chances, variance = law_of(len(closure), epsilon)
    radius = int(random.choice(len(chances), p=chances))
    values, variances = {}, {}
    for below in closure:
        query = Query(below, contrast=below)
        exact = answer(domain, query, project(domain, counts, below))
        values[below] = estimates(domain, query, exact + random.integers(-radius, radius + 1, exact.shape))[below]
        variances[below] = variance * float(spread(domain, query, below))
    return Estimates(domain, values, variances)


def published(name: str, runs: int) -> str:
    domain, counts = load(name)
    wanted = [tuple(model) for model in MODELS[name].split()]
    closure, random = list(downward_closure(wanted)), np.random.default_rng(1)
    errors = []
    for run in range(runs):
        planned = measure(domain, counts, PLANS[name], Fraction(1), Generator.seeded(f"joint {name} {run}"))
        pair = []
        for noisy in (planned, measured(domain, counts, closure, 1.0, random)):
            table = nonnegative(noisy, wanted=wanted).table
            pair.append(l1_error(domain, whole(table, domain, wanted, "controlled").table, counts, wanted))
        errors.append(pair)
    mean, error = np.mean(errors, axis=0), np.std(errors, axis=0) / sqrt(runs)
    return f"{mean[0]:.2f} ± {error[0]:.2f} | {mean[1]:.2f} ± {error[1]:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    options = parser.parse_args()
    print("| tables | contrasts | independent | joint | plan | published by the plan | published with joint noise |")
    print("|---|---|---|---|---|---|---|")
    cases: dict[str, list[Margin]] = {
        name: [tuple(model) for model in MODELS[name].split()] for name in ("fungus", "czech", "rochdale")
    }
    cases |= {f"pairs of {k} binary": list(combinations([f"x{at:02}" for at in range(k)], 2)) for k in (4, 6, 8, 10)}
    for name, wanted in cases.items():
        closure = {below for margin in wanted for below in subsets(margin)}
        attributes = {one: {"values": ["0", "1"]} for margin in wanted for one in margin}
        document = {"attributes": dict(sorted(attributes.items())), "privacy": {"epsilon": "1"}}
        plan = mg.plan({**document, "release": {"tables": [list(margin) for margin in wanted]}})
        size = len(closure)
        both = (unbiased_rmse(wanted, one) for one in (2.0 * size**2, law_of(size, 1.0)[1]))
        shown = " | ".join(f"{one:.2f}" for one in (*both, plan.rmse))
        beside = published(name, options.runs) if name in PLANS else "– | –"
        print(f"| {name} | {size} | {shown} | {beside} |", flush=True)


if __name__ == "__main__":
    main()
