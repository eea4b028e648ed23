"""How often 95 % intervals of published tables hold the true count, over data sets and budgets: one table.

    python benchmarks/intervals_grid.py --runs 20
    python benchmarks/intervals_grid.py --runs 20 --data vocab.csv vocab-domain.json --data chile.csv chile-domain.json

    python benchmarks/intervals_grid.py --runs 2 --tree 1 --only "tree 1" --budgets d0.1 d0.3 d1 d3

Bundled tables with their own wanted tables, files of codes with all two-way tables wanted (the domain is a JSON object
of each column's number of values), and random trees (benchmarks/peers_budgets.py). Budgets are ``e1``, a pure ε;
``r0.1``, ρ; and ``d1``, the ρ of ε = 1 at δ = 1e-9. Cells are *away from zero* if their true count is at least the
half-width of the unbiased interval; *large* are the tenth of them with the largest counts. Beside each figure is its
standard error over runs, since the cells of one run share their noise, and the coverage of the unbiased intervals in
the same runs, which is exact: it shows how lucky the draws were. ``seed``: the releases are made from this and the
run's number.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pandas as pd

import margrave as mg
from intervals import look, over_runs
from margrave.budget.units import ZCDP, PureDP
from margrave.spec.spec import Spec
from peers_budgets import rho_of, tree

BUDGETS = ("e0.1", "e0.3", "e1", "e3", "r0.01", "r0.1")


def sources(files: list[list[str]], trees: list[int]) -> Iterator[tuple[str, Spec, pd.DataFrame | None]]:
    """The name, spec and records of each data set; bundled ones have their own records."""
    for name in mg.examples.names():
        yield name, Spec.load(mg.examples.path(name)), None
    made = [
        (Path(name).stem, json.loads(Path(domain).read_text(encoding="utf-8")), pd.read_csv(name))
        for name, domain in files
    ]
    made += [(f"tree {seed}", sizes, records) for seed in trees for records, sizes in [tree(seed)]]
    for name, sizes, records in made:
        attributes = {name: {"range": [0, size - 1]} for name, size in sizes.items()}
        tables = [list(pair) for pair in combinations(sizes, 2)]
        document = {"attributes": attributes, "release": {"tables": tables}, "privacy": {"epsilon": "1"}}
        yield name, Spec.load(document), records


def row(name: str, budget: str, runs: list[pd.DataFrame]) -> str:
    cells = [run[run["kind"] == "cells"].astype({"away": bool}) for run in runs]
    away = [run[run["away"]] for run in cells]
    if not sum(map(len, away)):
        return f"| {name} | {budget} | no cell | | | |"
    large = [run[run["truth"] >= run["truth"].quantile(0.9)] for run in away]
    figures = [over_runs(chosen, "published") for chosen in (away, large)]
    figures.append(over_runs(away, "unbiased"))
    shown = " | ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in figures)
    ratio = over_runs(away, "published width")[0] / over_runs(away, "unbiased width")[0]
    return f"| {name} | {budget} | {shown} | {ratio:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--data", nargs=2, action="append", default=[], metavar=("RECORDS", "DOMAIN"))
    parser.add_argument("--budgets", nargs="+", default=BUDGETS)
    parser.add_argument("--only", nargs="+", help="names of data sets")
    parser.add_argument("--seed", default="coverage")
    parser.add_argument("--tree", nargs="+", type=int, default=[], metavar="SEED")
    options = parser.parse_args()
    print("| data | budget | away from zero | large | unbiased | width of unbiased |\n|---|---|---|---|---|---|")
    for name, spec, records in sources(options.data, options.tree):
        for budget in options.budgets if name in (options.only or [name]) else ():
            pure = budget[0] == "e"
            amount = Fraction(rho_of(budget.replace("d", "e"))) if budget[0] == "d" else Fraction(budget[1:])
            plan = mg.plan(replace(spec, budget=PureDP(amount) if pure else ZCDP(amount)))
            runs = [look(plan, records, f"{options.seed} {run}") for run in range(options.runs)]
            print(row(name, budget, runs), flush=True)


if __name__ == "__main__":
    main()
