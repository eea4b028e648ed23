"""Forecast error of every strategy at ε = 1 on the bundled tables, and on all pairs of ten binary attributes.

Run with: python benchmarks/plans.py
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import margrave as mg
from machine import header, row
from margrave.budget.units import PureDP
from margrave.spec.choices import STRATEGIES
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted


def ten_binary() -> Spec:
    """All two-way tables of ten binary attributes."""
    names = "abcdefghij"
    entries = tuple(CodebookEntry(name, Categories(("0", "1"))) for name in names)
    return Spec(Codebook(entries), PureDP(Fraction(1)), tuple(Wanted(pair) for pair in combinations(names, 2)))


def main() -> None:
    specs = {name: mg.Spec.load(mg.examples.path(name)) for name in mg.examples.names()}
    specs["10 binary, pairs"] = ten_binary()
    print(header("RMSE per cell", *STRATEGIES, "auto plans in"))
    for name, spec in specs.items():
        errors, seconds = [], {}
        for strategy in STRATEGIES:
            start = time.process_time()
            errors.append(f"{mg.plan(replace(spec, strategy=strategy)).rmse:.2f}")
            seconds[strategy] = time.process_time() - start
        print(row(name, *errors, f"{seconds['auto']:.1f} s"), flush=True)


if __name__ == "__main__":
    main()
