"""Published pairs at small and large budgets, beside what the same budget buys otherwise: a row for each contender.

    python benchmarks/peers_budgets.py --data vocab.csv --domain vocab-domain.json --budgets e0.1 e0.3 r0.01 --runs 10
    python benchmarks/peers_budgets.py --tree 1 --budgets e0.1 --runs 3

A budget is ``r0.01``, ρ itself, or ``e0.1``, the ρ of ε = 0.1 at δ = 1e-9. Wanted are all two-way tables. The error is
the mean over tables of the L1 error, as a share of the records, in the mean over runs with its standard error.
``--tree`` makes records whose attributes each depend on one before (12 of 2 to 20 values, Dirichlet(0.4) given each
value of that), ``--mixture`` makes records of six kinds (5 attributes of 2 to 8 values), both from a seed.

    margrave                  what a release publishes
    margrave, expected size   the same with release.expected_size, the number of records
    one-way product           the whole budget on one-way tables, which are multiplied
    unbiased                  the noisy tables of the first, as they are
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

import margrave as mg
from margrave.budget.accountant import rho_within

DELTA = Fraction(1, 10**9)


def tree(seed: int, records: int = 50_000, attributes: int = 12) -> tuple[pd.DataFrame, dict[str, int]]:
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 21, attributes)
    codes = np.zeros((records, attributes), dtype=np.int64)
    codes[:, 0] = random.choice(sizes[0], records, p=random.dirichlet([0.4] * sizes[0]))
    for at in range(1, attributes):
        parent = random.integers(at)
        sums = random.dirichlet([0.4] * sizes[at], size=sizes[parent]).cumsum(axis=1)
        drawn = (random.random(records)[:, None] > sums[codes[:, parent]]).sum(axis=1)
        codes[:, at] = np.minimum(drawn, sizes[at] - 1)
    return _named(codes, sizes)


def mixture(
    seed: int, records: int = 20_000, attributes: int = 5, kinds: int = 6
) -> tuple[pd.DataFrame, dict[str, int]]:
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 9, attributes)
    kind = random.choice(kinds, records, p=random.dirichlet([1.0] * kinds))
    codes = np.zeros((records, attributes), dtype=np.int64)
    for at in range(attributes):
        sums = random.dirichlet([0.5] * sizes[at], size=kinds).cumsum(axis=1)
        codes[:, at] = np.minimum((random.random(records)[:, None] > sums[kind]).sum(axis=1), sizes[at] - 1)
    return _named(codes, sizes)


def _named(codes: np.ndarray, sizes: np.ndarray) -> tuple[pd.DataFrame, dict[str, int]]:
    names = [f"a{at}" for at in range(len(sizes))]
    return pd.DataFrame(codes, columns=names), dict(zip(names, map(int, sizes), strict=True))


def rho_of(budget: str) -> str:
    if budget[0] == "r":
        return budget[1:]
    return f"{float(rho_within(Fraction(budget[1:]), DELTA)) * (1 - 1e-9):.9f}"


def planned(sizes: dict[str, int], rho: str, ways: int, **release: object) -> mg.Plan:
    attributes = {name: {"range": [0, size - 1]} for name, size in sizes.items()}
    wanted = {"tables": [list(margin) for margin in combinations(sizes, ways)], **release}
    return mg.plan({"attributes": attributes, "release": wanted, "privacy": {"rho": rho}})


def product(out: mg.Release, sizes: dict[str, int], records: int) -> dict[tuple[str, ...], np.ndarray]:
    alone = {}
    for name in sizes:
        counts = np.maximum(out.fit.margin((name,)), 0.0)
        alone[name] = counts / max(counts.sum(), 1e-9)
    total = max(float(out.fit.margin(())), 0.0)
    return {(one, two): total * np.outer(alone[one], alone[two]) for one, two in combinations(sizes, 2)}


def runs(data: pd.DataFrame, sizes: dict[str, int], budget: str, count: int) -> Iterator[tuple[str, float, float]]:
    """The contender, its error and its processor time, for each run."""
    pairs = list(combinations(sizes, 2))
    exact = {
        (a, b): np.bincount(data[a] * sizes[b] + data[b], minlength=sizes[a] * sizes[b]).reshape(sizes[a], sizes[b])
        for a, b in pairs
    }
    rho, records = rho_of(budget), len(data)

    def error(tables: dict[tuple[str, ...], np.ndarray]) -> float:
        return float(np.mean([np.abs(tables[pair] - exact[pair]).sum() for pair in pairs])) / records

    plans = {
        "margrave": planned(sizes, rho, 2),
        "margrave, expected size": planned(sizes, rho, 2, expected_size=records),
    }
    alone = planned(sizes, rho, 1)
    for run in range(count):
        for name, plan in plans.items():
            begun = time.process_time()
            out = mg.release(plan, data, seed=run)
            tables = {pair: out.published(pair) for pair in pairs}
            yield name, error(tables), time.process_time() - begun
            if name == "margrave":
                yield "unbiased", error({pair: out.fit.margin(pair) for pair in pairs}), 0.0
        begun = time.process_time()
        tables = product(mg.release(alone, data, seed=run), sizes, records)
        yield "one-way product", error(tables), time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--domain", type=Path)
    parser.add_argument("--tree", type=int)
    parser.add_argument("--mixture", type=int)
    parser.add_argument("--budgets", nargs="+", default=["e0.1", "e0.3", "e1", "e3", "r0.01", "r0.1"])
    parser.add_argument("--runs", type=int, default=10)
    chosen = parser.parse_args()
    if chosen.data is not None:
        data, told = pd.read_csv(chosen.data), json.loads(chosen.domain.read_text())
        name, sizes = chosen.data.stem, {one: told[one] for one in data.columns}
    else:
        name = f"tree {chosen.tree}" if chosen.tree is not None else f"mixture {chosen.mixture}"
        data, sizes = tree(chosen.tree) if chosen.tree is not None else mixture(chosen.mixture or 0)
    print("| data | budget | contender | error | time | memory |\n|---|---|---|---|---|---|")
    for budget in chosen.budgets:
        found: dict[str, list[tuple[float, float]]] = {}
        for contender, off, seconds in runs(data, sizes, budget, chosen.runs):
            found.setdefault(contender, []).append((off, seconds))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        for contender, pairs in found.items():
            errors, seconds = np.array(pairs).T
            spread = errors.std(ddof=min(1, len(errors) - 1)) / len(errors) ** 0.5
            cells = f"{errors.mean():.4f} ± {spread:.4f} | {seconds.mean():.2f} s | {memory:.0f} MiB"
            print(f"| {name} | {budget} | {contender} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
