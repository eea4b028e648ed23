"""Forecast error of every strategy at ε = 1 on the bundled tables, and on all pairs of ten binary attributes.

Run with: python benchmarks/plans.py
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import margrave as mg
from margrave.budget.units import PureDP
from margrave.design.choices import STRATEGIES
from margrave.design.codebook import Categories, Codebook, Entry
from margrave.design.spec import Spec
from margrave.design.workload import Wanted


def ten_binary() -> Spec:
    """All two-way tables of ten binary attributes."""
    names = "abcdefghij"
    entries = tuple(Entry(name, Categories(("0", "1"))) for name in names)
    return Spec(Codebook(entries), PureDP(Fraction(1)), tuple(Wanted(pair) for pair in combinations(names, 2)))


def main() -> None:
    specs = {name: mg.Spec.load(mg.examples.path(name)) for name in mg.examples.names()}
    specs["10 binary, pairs"] = ten_binary()
    print("RMSE per cell of the unbiased tables at pure ε = 1, add/remove (seconds to plan)")
    print(f"{'':18}" + "".join(f"{strategy:>18}" for strategy in STRATEGIES))
    for name, spec in specs.items():
        cells = []
        for strategy in STRATEGIES:
            start = time.perf_counter()
            plan = mg.plan(replace(spec, strategy=strategy))
            cells.append(f"{plan.rmse:9.2f} ({time.perf_counter() - start:4.1f} s)")
        print(f"{name:18}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
