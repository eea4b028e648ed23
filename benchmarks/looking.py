"""Plans that look where to measure beside plans that fix everything beforehand: published error of all pairs.

    python benchmarks/looking.py --data adult.csv --domain adult-domain.json --budgets e0.1 e1 p1
    python benchmarks/looking.py --tree 1 --budgets e1 p1
    python benchmarks/looking.py --chain 26 --budgets e1
    python benchmarks/looking.py --tree 3 --first 6 --held --budgets e0.1 e1 e3

A budget is ``p1``, a pure ε; ``e1``, the ρ of ε = 1 at δ = 1e-9; or ``r0.01``, ρ itself. ``--tree`` is that of
peers_budgets.py; ``--chain`` makes so many binary attributes, each of which repeats an earlier one with probability 0.3
and is drawn anew otherwise (30,000 records). Of these ``--first`` or named ``--attributes`` are taken, and all tables
of so many (``--ways``) wanted. ``--held`` compares what can be made of a full table that can be held: that table, made
non-negative as a whole, with fractions; and records, or looking, whatever ``auto`` would do. The error is the mean over
tables of the L1 error, as a share of the records.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import combinations
from math import prod
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


def planned(sizes: dict[str, int], ways: int, budget: str, **release: object) -> mg.Plan:
    privacy = {"epsilon": budget[1:]} if budget[0] == "p" else {"rho": rho_of(budget)}
    attributes = {name: {"range": [0, size - 1]} for name, size in sizes.items()}
    wanted = {"tables": [list(margin) for margin in combinations(sizes, ways)], **release}
    return mg.plan({"attributes": attributes, "release": wanted, "privacy": privacy})


def contenders(budget: str, records: int, held: bool) -> dict[str, dict[str, object]]:
    """What the spec says of each contender."""
    fixed = {"strategy": "search" if budget[0] == "p" else "residual"}
    if held:
        return {
            "full table": fixed | {"rounding": "none"},
            "records": fixed | {"nonnegative": "records"},
            "looking": {"strategy": "adaptive"},
        }
    return {"all planned beforehand": fixed, "auto": {}, "auto, expected size": {"expected_size": records}}


def subject(chosen: argparse.Namespace) -> tuple[pd.DataFrame, dict[str, int]]:
    """The records as codes, and the sizes of their attributes."""
    if chosen.data is not None:
        data, told = pd.read_csv(chosen.data), json.loads(chosen.domain.read_text())
        sizes = {name: told[name] for name in data.columns}
    else:
        data, sizes = tree(chosen.tree) if chosen.tree is not None else chain(chosen.chain or 26)
    names = chosen.attributes or list(sizes)[: chosen.first]
    return data[names], {name: sizes[name] for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--domain", type=Path)
    parser.add_argument("--tree", type=int)
    parser.add_argument("--chain", type=int)
    parser.add_argument("--attributes", nargs="+", help="by default all")
    parser.add_argument("--first", type=int, help="only the first so many attributes")
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--held", action="store_true")
    parser.add_argument("--budgets", nargs="+", default=["e1"])
    parser.add_argument("--runs", type=int, default=1)
    chosen = parser.parse_args()
    data, sizes = subject(chosen)
    margins = list(combinations(sizes, chosen.ways))
    exact = mg.count(planned(sizes, chosen.ways, chosen.budgets[0]).spec, data).counts
    print(f"{prod(sizes.values()):,} cells\n\n| budget | plan | error | processor time |\n|---|---|---|---|")
    for budget in chosen.budgets:
        for name, release in contenders(budget, len(data), chosen.held).items():
            plan, errors, begun = planned(sizes, chosen.ways, budget, **release), [], time.process_time()
            for run in range(chosen.runs):
                out = mg.release(plan, data, seed=run)
                off = [np.abs(out.published(margin) - exact[margin]).sum() for margin in margins]
                errors.append(float(np.mean(off)) / len(data))
            seconds = (time.process_time() - begun) / chosen.runs
            print(f"| {budget} | {name} | {np.mean(errors):.4f} | {seconds:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
