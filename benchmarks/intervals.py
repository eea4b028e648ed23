"""How often the 95 % intervals of published tables hold the true count.

    python benchmarks/intervals.py --example fungus --runs 20
    python benchmarks/intervals.py --example simulated --example sparse --runs 20

Releases are made from seeds: of bundled tables, which are not confidential, and of records that are drawn anew in every
run. ``simulated``: 400 records in 3 × 4 × 5 cells, all two-way tables wanted. ``sparse``: 1500 records in 8 × 8 × 8
cells, most of them empty, the full table wanted.

Every cell of every wanted table counts once, under *totals* every total of a row or column that is no wanted table
itself, and under *shares* every share that a cell of a two-way table has of its row and of its column (of all records
in a one-way table), as the report shows them; shares of nobody are left out.

A cell is *away from zero* if its true count is at least the 95 % half-width of the unbiased table, which does not
depend on the noise drawn; otherwise it is *near zero*, empty or few. Printed are the share of cells whose interval
(``low`` to ``high`` of `Release.table`) holds the truth and the mean width of the intervals, and for comparison
both for the unbiased tables (`Release.noisy`), whose intervals are exact:
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
from margrave.algebra.arrays import Array
from margrave.budget.units import PureDP
from margrave.crossing import ExactTables
from margrave.planning.plan import Plan
from margrave.publish.bundle.parts.shares import shared, shares_of, totals
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted

DIGITS = 1e-9
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
    cells = cells.assign(kind="cells", away=cells["truth"] >= cells["unbiased width"] / 2)
    return pd.concat([cells, *derived(out, exact)], ignore_index=True)


def derived(out: mg.Release, exact: ExactTables) -> Iterator[pd.DataFrame]:
    """The same for totals and shares, whose unbiased values the report does not show."""
    plan, domain = out.plan, out.domain
    for margin in totals(plan):
        wider = next(wanted for wanted in plan.spec.margins if len(wanted) == 2 and margin[0] in wanted)
        table, truth = out.table(*margin), exact.counts[wider].sum(axis=1 - wider.index(margin[0]))
        yield held("totals", truth, table["low"].to_numpy(), table["high"].to_numpy())
    for _, margin, whole in shared(plan):
        width, counts = out.share_widths(margin, whole), exact.counts[margin]
        truth = shares_of(domain, margin, whole, counts)
        share = shares_of(domain, margin, whole, out.published(margin))
        others = tuple(axis for axis, name in enumerate(margin) if name not in whole)
        somebody = np.broadcast_to(counts.sum(axis=others, keepdims=True) > 0, counts.shape).ravel()
        if width is not None:
            yield held("shares", truth, share - width, share + width)[somebody]


def held(kind: str, truth: Array, low: Array, high: Array) -> pd.DataFrame:
    """Whether intervals hold the truth, up to the digits that are published."""
    inside = (low - DIGITS <= truth) & (truth <= high + DIGITS)
    return pd.DataFrame(
        {"kind": kind, "truth": truth, "published": inside.astype(float), "published width": high - low}
    )


def over_runs(runs: list[pd.DataFrame], column: str) -> tuple[float, float]:
    """The mean over all cells of all runs and its standard error, with runs as clusters (a ratio estimate)."""
    sums, sizes = np.array([run[column].sum() for run in runs]), np.array([len(run) for run in runs])
    mean = float(sums.sum() / sizes.sum())
    off = sums - mean * sizes
    return mean, sqrt(len(runs) / max(len(runs) - 1, 1) * float(off @ off)) / float(sizes.sum())


def lines(name: str, runs: list[pd.DataFrame]) -> Iterator[str]:
    """One line for each kind of cell that there is."""
    cells = [run[run["kind"] == "cells"].astype({"away": bool}) for run in runs]
    kinds = {
        "away from zero": [run[run["away"]] for run in cells],
        "near zero, few": [run[~run["away"] & (run["truth"] > 0)] for run in cells],
        "near zero, empty": [run[run["truth"] == 0] for run in cells],
        "all": cells,
        **{kind: [run[run["kind"] == kind] for run in runs] for kind in ("totals", "shares")},
    }
    for kind, chosen in kinds.items():
        numbers = sum(map(len, chosen)) / len(runs)
        if numbers == 0:
            continue
        columns = ("published", "published width", "unbiased", "unbiased width")
        shown = [over_runs(chosen, column) for column in columns[: 2 if kind in ("totals", "shares") else 4]]
        published, width, *unbiased = (f"{mean:.3f} ± {error:.3f}" for mean, error in shown)
        beside = f" | unbiased {', width '.join(unbiased)}" if unbiased else ""
        yield f"{name:9} {kind:16} {numbers:6.1f} | {published}, width {width}{beside}"


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
