"""How often the 95 % intervals of published tables hold the true count.

    python benchmarks/intervals.py --example fungus --runs 20
    python benchmarks/intervals.py --example simulated --example sparse --runs 20

Releases are made from seeds: of bundled tables, which are not confidential, and of records that are drawn anew in every
run. ``simulated``: 400 records in 3 × 4 × 5 cells, all two-way tables wanted. ``sparse``: 1500 records in 8 × 8 × 8
cells, most of them empty, the full table wanted.

Every cell of every wanted table counts once. A cell is *away from zero* if its true count is at least the 95 %
half-width of the unbiased table, which does not depend on the noise drawn; otherwise it is *near zero*, empty or few.
Printed are the share of cells whose interval (``low`` to ``high`` of `Release.table`) holds the truth and the mean
width of the intervals, and for comparison both for the unbiased tables (`Release.noisy`), whose intervals are exact:
where those are off, the draw was lucky or unlucky, or the noise is so small that whole numbers show. Standard errors
are over runs, since the cells of one share their noise.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import prod, sqrt

import numpy as np
import pandas as pd

import margrave as mg
from margrave.budget.units import PureDP
from margrave.planning.plan import Plan
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted

# Sizes of the attributes, wanted tables, records, and the Dirichlet parameter of the cells: the smaller, the sparser.
DRAWN = {
    "simulated": ({"a": 3, "b": 4, "c": 5}, ("ab", "ac", "bc"), 400, 0.3),
    "sparse": ({"a": 8, "b": 8, "c": 8}, ("abc",), 1500, 0.05),
}


def spec_of(name: str, epsilon: Fraction) -> Spec:
    """The spec of a bundled example or of drawn records, at a budget."""
    if name not in DRAWN:
        return replace(Spec.load(mg.examples.path(name)), budget=PureDP(epsilon))
    sizes, tables, _, _ = DRAWN[name]
    entries = (
        CodebookEntry(one, Categories(tuple(str(value) for value in range(size)))) for one, size in sizes.items()
    )
    return Spec(Codebook(tuple(entries)), PureDP(epsilon), tuple(Wanted(tuple(table)) for table in tables))


def records(name: str, run: int) -> pd.DataFrame | None:
    """Records drawn from a random table; None for a bundled example, which has its own."""
    if name not in DRAWN:
        return None
    sizes, _, count, parameter = DRAWN[name]
    shape = tuple(sizes.values())
    random = np.random.default_rng([1, run])
    cells = random.choice(prod(shape), size=count, p=random.dirichlet(np.full(prod(shape), parameter)))
    codes = np.unravel_index(cells, shape)
    return pd.DataFrame({attribute: codes[axis].astype(str) for axis, attribute in enumerate(sizes)})


def look(plan: Plan, data: pd.DataFrame | None, seed: str) -> pd.DataFrame:
    """Release from a seed, and compare every cell with the truth: one row a cell."""
    out, exact = mg.release(plan, data, seed=seed), mg.count(plan.spec, data)
    parts = []
    for margin in plan.spec.margins:
        truth = exact.counts[margin].ravel()
        found: dict[str, object] = {"truth": truth}
        for label, table in (("published", out.table(*margin)), ("unbiased", out.noisy(*margin))):
            found[label] = ((table["low"] <= truth) & (truth <= table["high"])).astype(float)
            found[f"{label} width"] = table["high"] - table["low"]
        parts.append(pd.DataFrame(found))
    cells = pd.concat(parts, ignore_index=True)
    return cells.assign(away=cells["truth"] >= cells["unbiased width"] / 2)


def over_runs(runs: list[pd.DataFrame], column: str) -> tuple[float, float]:
    """The mean over all cells of all runs and its standard error, with runs as clusters (a ratio estimate)."""
    sums, sizes = np.array([run[column].sum() for run in runs]), np.array([len(run) for run in runs])
    mean = float(sums.sum() / sizes.sum())
    off = sums - mean * sizes
    return mean, sqrt(len(runs) / max(len(runs) - 1, 1) * float(off @ off)) / float(sizes.sum())


def lines(name: str, runs: list[pd.DataFrame]) -> Iterator[str]:
    """One line for each kind of cell that there is."""
    kinds = {
        "away from zero": [run[run["away"]] for run in runs],
        "near zero, few": [run[~run["away"] & (run["truth"] > 0)] for run in runs],
        "near zero, empty": [run[run["truth"] == 0] for run in runs],
        "all": runs,
    }
    for kind, chosen in kinds.items():
        cells = sum(map(len, chosen)) / len(runs)
        if cells == 0:
            continue
        columns = ("published", "published width", "unbiased", "unbiased width")
        shown = [over_runs(chosen, column) for column in columns]
        published, width, unbiased, wide = (f"{mean:.3f} ± {error:.3f}" for mean, error in shown)
        yield f"{name:9} {kind:16} {cells:6.1f} cells | {published}, width {width} | unbiased {unbiased}, width {wide}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--example", choices=[*mg.examples.names(), *DRAWN], action="append")
    options = parser.parse_args()
    for name in options.example or ("fungus", "czech", "journey", "simulated", "sparse"):
        begun = time.perf_counter()
        plan = mg.plan(spec_of(name, options.epsilon))
        runs = [look(plan, records(name, run), f"measured {run}") for run in range(options.runs)]
        print(*lines(name, runs), sep="\n")
        print(f"{name:9} {options.runs} runs, {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
