"""Plans that look where to measure beside plans that fix everything beforehand: published error of all pairs.

    python benchmarks/looking.py --data adult.csv --domain adult-domain.json --budgets e0.1 e1 p1
    python benchmarks/looking.py --tree 1 --budgets e1 p1
    python benchmarks/looking.py --chain 26 --budgets e1

A budget is ``p1``, a pure ε; ``e1``, the ρ of ε = 1 at δ = 1e-9; or ``r0.01``, ρ itself. ``--tree`` is that of
peers_budgets.py; ``--chain`` makes so many binary attributes, each of which repeats an earlier one with probability 0.3
and is drawn anew otherwise (30,000 records). The error is the mean over tables of the L1 error, as a share of the
records.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

import margrave as mg
from peers_budgets import rho_of, tree


def chain(attributes: int, records: int = 30_000) -> tuple[pd.DataFrame, dict[str, int]]:
    random = np.random.default_rng(1)
    codes = np.zeros((records, attributes), dtype=np.int64)
    codes[:, 0] = random.random(records) < 0.4
    for at in range(1, attributes):
        earlier, share = random.integers(at), 0.2 + 0.6 * random.random()
        anew = random.random(records) < 0.7
        codes[:, at] = np.where(anew, random.random(records) < share, codes[:, earlier])
    names = [f"a{at:02}" for at in range(attributes)]
    return pd.DataFrame(codes, columns=names), dict.fromkeys(names, 2)


def planned(sizes: dict[str, int], budget: str, **release: object) -> mg.Plan:
    privacy = {"epsilon": budget[1:]} if budget[0] == "p" else {"rho": rho_of(budget)}
    attributes = {name: {"range": [0, size - 1]} for name, size in sizes.items()}
    wanted = {"tables": [list(pair) for pair in combinations(sizes, 2)], **release}
    return mg.plan({"attributes": attributes, "release": wanted, "privacy": privacy})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--domain", type=Path)
    parser.add_argument("--tree", type=int)
    parser.add_argument("--chain", type=int)
    parser.add_argument("--budgets", nargs="+", default=["e1"])
    parser.add_argument("--runs", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.data is not None:
        data, told = pd.read_csv(chosen.data), json.loads(chosen.domain.read_text())
        sizes = {name: told[name] for name in data.columns}
    else:
        data, sizes = tree(chosen.tree) if chosen.tree is not None else chain(chosen.chain or 26)
    exact = mg.count(planned(sizes, chosen.budgets[0]).spec, data).counts
    print("| budget | plan | error | processor time |\n|---|---|---|---|")
    for budget in chosen.budgets:
        plans = {
            "all planned beforehand": planned(sizes, budget, strategy="search" if budget[0] == "p" else "residual"),
            "auto": planned(sizes, budget),
            "auto, expected size": planned(sizes, budget, expected_size=len(data)),
        }
        for name, plan in plans.items():
            errors, begun = [], time.process_time()
            for run in range(chosen.runs):
                out = mg.release(plan, data, seed=run)
                off = [np.abs(out.published(pair) - exact[pair]).sum() for pair in combinations(sizes, 2)]
                errors.append(float(np.mean(off)) / len(data))
            seconds = (time.process_time() - begun) / chosen.runs
            print(f"| {budget} | {name} | {np.mean(errors):.4f} | {seconds:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
