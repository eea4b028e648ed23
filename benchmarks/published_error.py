"""How wrong published tables are: whole numbers against the truth, method by method, run by run.

    python benchmarks/published_error.py --runs 200 --epsilon 1
    python benchmarks/published_error.py --runs 40 --rho 0.1 --example journey
    python benchmarks/published_error.py --records nltcs.csv --ways 2 --epsilon 1

The first measures the bundled examples under pure ε with the best known plans and prints, for each method, the mean
over runs of the L1 error (the sum over the cells of a table, averaged over the wanted tables) and its standard error.
The second does the same with Gaussian noise, each residual measured once with the best shares.
The third reads a file of 0/1 records with a header, measures every residual of all k-way tables once with Gaussian
noise (ε at δ = 1e-9), and prints the root mean squared error relative to that expected of the unbiased tables.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import prod, sqrt
from pathlib import Path

import numpy as np

from margrave import examples
from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Attribute, Domain, Margin
from margrave.algebra.lattice import downward_closure, subsets
from margrave.algebra.query import Query, answer, estimates, spread
from margrave.algebra.residual import margin_from
from margrave.noise import DiscreteGaussian, DiscreteLaplace, Generator
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.nonnegative.choice import nonnegative
from margrave.reconstruct.stein import noise as unbiased_error
from margrave.reconstruct.whole import whole

# Attributes are lettered A, B, … in the order of the file; a plan lists margin, contrasts and share of ε.
MODELS = {
    "fungus": "AD AB BE CE CF",
    "czech": "BF ADE ABCE",
    "rochdale": "ACE ACG ADG BDH BF BE CEF CFG",
    "journey": "AB AC BC",
}
PLANS = {
    "fungus": (("ABD", "", "0.445"), ("CEF", "", "0.445"), ("BE", "BE", "0.11")),
    "czech": (("ABCDE", "", "0.812"), ("BF", "F", "0.188")),
    "rochdale": (("ACEFG", "", "0.54"), ("BDH", "", "0.204"), ("BEF", "B", "0.137"), ("ADG", "D", "0.119")),
    "journey": (("ABC", "", "1"),),
}
METHODS = ("linear-program", "least-squares", "auto")


def letters(count: int) -> str:
    return "".join(chr(ord("A") + index) for index in range(count))


def load(name: str) -> tuple[Domain, np.ndarray]:
    """A bundled table, its attributes lettered."""
    with (examples.path(name).parent / "data" / f"{name}.csv").open() as file:
        _, *rows = csv.reader(file)
    values = [tuple(dict.fromkeys(column)) for column in list(zip(*rows, strict=True))[:-1]]
    domain = Domain(tuple(Attribute(*pair) for pair in zip(letters(len(values)), values, strict=True)))
    counts = np.zeros(domain.shape(), dtype=np.int64)
    for row in rows:
        counts[tuple(values[axis].index(value) for axis, value in enumerate(row[:-1]))] = int(row[-1])
    return domain, counts


def project(domain: Domain, table: np.ndarray, margin: Margin) -> np.ndarray:
    return table.sum(axis=tuple(axis for axis, name in enumerate(domain.names) if name not in margin))


def measure(
    domain: Domain, counts: np.ndarray, plan: Sequence[tuple[str, str, str]], epsilon: Fraction, generator: Generator
) -> Estimates:
    """Noisy answers, combined by inverse variance."""
    sums: dict[Margin, Floats] = {}
    weights: dict[Margin, float] = {}
    for margin, contrast, share in plan:
        query = Query(tuple(margin), contrast=tuple(contrast))
        exact = answer(domain, query, project(domain, counts, query.margin))
        law = DiscreteLaplace.at_least(1 / (epsilon * Fraction(share)))
        outputs = exact + law.sample(exact.size, generator).reshape(exact.shape)
        for below, value in estimates(domain, query, outputs).items():
            weight = 1 / (law.variance * float(spread(domain, query, below)))
            sums[below] = sums.get(below, 0.0) + weight * value
            weights[below] = weights.get(below, 0.0) + weight
    return Estimates(
        domain, {below: sums[below] / weights[below] for below in sums}, {below: 1 / weights[below] for below in sums}
    )


def l1_error(domain: Domain, table: np.ndarray, truth: np.ndarray, wanted: Sequence[Margin]) -> float:
    return float(np.mean([np.abs(project(domain, table - truth, margin)).sum() for margin in wanted]))


def measure_gaussian(
    domain: Domain, counts: np.ndarray, wanted: Sequence[Margin], rho: float, generator: Generator
) -> Estimates:
    """Every residual measured once."""
    values, variances = {}, {}
    for below, squared in residual_plan(domain, wanted, rho).items():
        query = Query(below, residual=below)
        law = DiscreteGaussian(squared)
        exact = answer(domain, query, project(domain, counts, below))
        outputs = exact + law.sample(exact.size, generator).reshape(exact.shape)
        values[below] = estimates(domain, query, outputs)[below]
        variances[below] = law.variance * float(spread(domain, query, below))
    return Estimates(domain, values, variances)


def study_example(name: str, epsilon: Fraction, runs: int, rho: float | None = None) -> Iterator[str]:
    """Under pure ε or, where it is given, under ρ."""
    domain, counts = load(name)
    wanted = [tuple(model) for model in MODELS[name].split()]
    closure = ["".join(below) for below in downward_closure(wanted)]
    fourier = [(below, below, f"1/{len(closure)}") for below in closure]
    errors: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    for run in range(runs):
        generator = Generator.seeded(f"{name}/{epsilon}/{run}" if rho is None else f"{name}/rho {rho}/{run}")
        if rho is None:
            noisy = measure(domain, counts, PLANS[name], epsilon, generator)
        else:
            noisy = measure_gaussian(domain, counts, wanted, rho, generator)
        for method in METHODS:
            begun = time.perf_counter()
            table = nonnegative(noisy, method, wanted=wanted).table
            ways = ("nearest", "controlled") if method != "linear-program" else ("nearest",)
            for way in ways:
                done = whole(table, domain, wanted, way)
                errors.setdefault(f"{method}, {way}", []).append(l1_error(domain, done.table, counts, wanted))
            seconds[method] = seconds.get(method, 0.0) + time.perf_counter() - begun
        if rho is None and all(size == 2 for size in domain.shape()):
            table = nonnegative(measure(domain, counts, fourier, epsilon, generator), "linear-program").table
            errors.setdefault("Barak", []).append(
                l1_error(domain, whole(table, domain, wanted, "nearest").table, counts, wanted)
            )
    for method, found in errors.items():
        took = seconds.get(method.split(",")[0], 0.0) / runs
        mean, deviation = np.mean(found), np.std(found) / sqrt(runs)
        budget = f"ε = {float(epsilon):g}" if rho is None else f"ρ = {rho:g}"
        yield f"{name:9} {budget:9} {method:28} {mean:8.2f} ± {deviation:.2f}  {took:.3f} s"


def residual_plan(domain: Domain, wanted: Sequence[Margin], rho: float) -> dict[Margin, Fraction]:
    """σ² of the discrete Gaussian on each integer residual: the optimum for the mean variance over all wanted cells."""
    pressure: dict[Margin, float] = {}
    for margin in wanted:
        for below in subsets(margin):
            sizes = domain.shape(below)
            pressure[below] = pressure.get(below, 0.0) + prod(size - 1 for size in sizes) * domain.cells(
                below
            ) / domain.cells(margin)
    price = {below: prod((size - 1) / size for size in domain.shape(below)) / 2 for below in pressure}
    shares = {below: sqrt(pressure[below] * price[below]) for below in pressure}
    scale = rho / sum(shares.values())
    return {
        below: Fraction(price[below] / (scale * shares[below]) * domain.cells(below) ** 2).limit_denominator(1000)
        for below in pressure
    }


def study_records(path: Path, ways: int, rho: float, method: str, draw: int) -> Iterator[str]:
    rows = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    domain = Domain(tuple(Attribute(f"a{axis}", ("0", "1")) for axis in range(rows.shape[1])))
    counts = np.zeros(domain.shape(), dtype=np.int64)
    np.add.at(counts, tuple(rows.T), 1)
    wanted = list(combinations(domain.names, ways))
    generator = Generator.seeded(f"{path.name}/{ways}/{rho}/{draw}")
    noisy = measure_gaussian(domain, counts, wanted, rho, generator)
    cells = sum(domain.cells(margin) for margin in wanted)
    unbiased = sqrt(sum(unbiased_error(noisy, margin) for margin in wanted) / cells)
    begun = time.perf_counter()
    found = nonnegative(noisy, method, wanted=wanted)
    fitted = time.perf_counter()
    done = whole(found.table, domain, wanted)
    rounded = time.perf_counter()
    as_drawn = {margin: margin_from(domain, margin, noisy.values) for margin in wanted}
    tables = {
        "unbiased": as_drawn,
        "non-negative": {margin: project(domain, found.table, margin) for margin in wanted},
        "whole": {margin: project(domain, done.table, margin) for margin in wanted},
    }
    for label, table in tables.items():
        error = sqrt(sum(((table[margin] - project(domain, counts, margin)) ** 2).sum() for margin in wanted) / cells)
        yield f"{label:13} {found.method:14} RMSE {error:8.3f} = {error / unbiased:.4f} of unbiased {unbiased:.3f}"
    largest = max(done.changes.values())
    yield f"fit {fitted - begun:.1f} s, rounding {rounded - fitted:.1f} s, largest change {largest:.2f}"
    yield "; ".join(found.notes)


def rho_for(epsilon: float, delta: float) -> float:
    """The largest ρ whose zCDP implies (ε, δ) by the simple conversion ε = ρ + 2√(ρ log(1/δ)): below the optimum."""
    root = np.log(1 / delta)
    return float((sqrt(root + epsilon) - sqrt(root)) ** 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--epsilon", type=str, default="1")
    parser.add_argument("--example", choices=sorted(MODELS), action="append")
    parser.add_argument("--records", type=Path)
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--rho", type=float, help="zCDP instead of pure ε or, for --records, of ε at δ = 1e-9")
    parser.add_argument("--draws", type=int, default=1, help="for --records: how many times to draw the noise")
    parser.add_argument("--method", default="auto")
    chosen = parser.parse_args()
    if chosen.records:
        rho = chosen.rho or rho_for(float(chosen.epsilon), 1e-9)
        for draw in range(chosen.draws):
            print(*study_records(chosen.records, chosen.ways, rho, chosen.method, draw), sep="\n", flush=True)
        return
    for name in chosen.example or MODELS:
        print(*study_example(name, Fraction(chosen.epsilon), chosen.runs, chosen.rho), sep="\n", flush=True)


if __name__ == "__main__":
    main()
