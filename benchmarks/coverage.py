"""How often the 95 % intervals of published tables hold the true count.

    python benchmarks/coverage.py --example fungus --runs 20
    python benchmarks/coverage.py --example simulated --runs 20

Releases are made from seeds, of bundled tables (which are not confidential) or of ``simulated`` data: in every run a
new sparse table of 3 × 4 × 5 cells with 400 records, of which the three two-way tables are wanted. Every cell of every
wanted table counts once. A cell is *away from zero* if its true count is at least the 95 % half-width of the unbiased
table, which is known beforehand and the same for all runs; otherwise it is *near zero*. Printed are the share of cells
whose interval (``low`` to ``high`` of `Release.table`) holds the truth, the mean width of the intervals and, for
comparison, the width of the unbiased ones, with standard errors over runs: the cells of one run share their noise.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pandas as pd

import margrave as mg
from margrave.budget.units import PureDP
from margrave.design.codebook import Categories, Codebook, Entry
from margrave.design.plan import Plan
from margrave.design.spec import Spec
from margrave.design.workload import Wanted

SIZES = {"a": 3, "b": 4, "c": 5}
RECORDS = 400


@dataclass(frozen=True, eq=False)
class Run:
    """One release: for every cell whether it is away from zero, whether it is covered, and its widths."""

    away: np.ndarray
    covered: np.ndarray
    width: np.ndarray
    unbiased: np.ndarray
    error: np.ndarray
    stated: np.ndarray


def look(plan: Plan, data: pd.DataFrame | None, seed: str) -> Run:
    """Release from a seed, and compare every cell with the truth."""
    out = mg.release(plan, data, seed=seed)
    exact = mg.count(plan.spec, data)
    parts = []
    for margin in plan.spec.margins:
        truth = exact.counts[margin].ravel()
        table, noisy = out.table(*margin), out.noisy(*margin)
        free = (noisy["high"] - noisy["low"]).to_numpy()
        inside = (table["low"] <= truth) & (truth <= table["high"])
        parts.append(
            (
                truth >= free / 2,
                inside.to_numpy(),
                (table["high"] - table["low"]).to_numpy(),
                free,
                (table["count"] - truth).to_numpy(),
                table["std_error"].to_numpy(),
            )
        )
    return Run(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def simulated_spec(epsilon: Fraction) -> Spec:
    """Three attributes, all two-way tables."""
    entries = (Entry(name, Categories(tuple(str(value) for value in range(size)))) for name, size in SIZES.items())
    wanted = (Wanted(("a", "b")), Wanted(("a", "c")), Wanted(("b", "c")))
    return Spec(Codebook(tuple(entries)), PureDP(epsilon), wanted)


def simulated_records(seed: int) -> pd.DataFrame:
    """Records of a table whose cell probabilities are unequal: Dirichlet with parameter 0.3."""
    random = np.random.default_rng(seed)
    shape = tuple(SIZES.values())
    cells = random.choice(int(np.prod(shape)), size=RECORDS, p=random.dirichlet(np.full(int(np.prod(shape)), 0.3)))
    codes = np.unravel_index(cells, shape)
    return pd.DataFrame({name: codes[axis].astype(str) for axis, name in enumerate(SIZES)})


def runs_of(name: str, epsilon: Fraction, runs: int) -> Iterator[Run]:
    """One run after another; the first also plans."""
    if name == "simulated":
        plan = mg.plan(simulated_spec(epsilon))
        for run in range(runs):
            yield look(plan, simulated_records(run), f"coverage {run}")
        return
    plan = mg.plan(replace(Spec.load(mg.examples.path(name)), budget=PureDP(epsilon)))
    for run in range(runs):
        yield look(plan, None, f"coverage {run}")


def over_runs(values: list[np.ndarray]) -> tuple[float, float]:
    """The mean over all cells of all runs and its standard error, with runs as clusters (a ratio estimate)."""
    sums, sizes = np.array([one.sum() for one in values]), np.array([one.size for one in values])
    mean = float(sums.sum() / sizes.sum())
    if len(values) < 2:
        return mean, float("nan")
    off = sums - mean * sizes
    return mean, sqrt(len(values) / (len(values) - 1) * float((off**2).sum())) / float(sizes.sum())


def describe(name: str, label: str, runs: list[Run], chosen: list[np.ndarray]) -> str:
    """One line on some of the cells."""
    cells = sum(int(one.sum()) for one in chosen) / len(runs)
    if cells == 0:
        return f"{name:10} {label:15} no cells"
    pairs = list(zip(runs, chosen, strict=True))
    covered, covered_error = over_runs([run.covered[one].astype(float) for run, one in pairs])
    width, width_error = over_runs([run.width[one] for run, one in pairs])
    free, _ = over_runs([run.unbiased[one] for run, one in pairs])
    error = sqrt(over_runs([run.error[one].astype(float) ** 2 for run, one in pairs])[0])
    stated = sqrt(over_runs([run.stated[one] ** 2 for run, one in pairs])[0])
    return (
        f"{name:10} {label:15} {cells:5.0f} cells  coverage {covered:.3f} ± {covered_error:.3f}  "
        f"width {width:6.2f} ± {width_error:.2f} (unbiased {free:6.2f})  RMSE {error:6.2f}, stated {stated:6.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--example", choices=[*mg.examples.names(), "simulated"], action="append")
    options = parser.parse_args()
    for name in options.example or ["fungus", "czech", "journey", "simulated"]:
        begun = time.perf_counter()
        runs = list(runs_of(name, options.epsilon, options.runs))
        print(describe(name, "away from zero", runs, [run.away for run in runs]))
        print(describe(name, "near zero", runs, [~run.away for run in runs]))
        print(describe(name, "all", runs, [np.ones_like(run.away) for run in runs]))
        print(f"{name:10} {options.runs} runs, {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
