"""Records beside an exact graphical model, mbi's, both fitted to the same noisy residuals of a chain of tables.

    python benchmarks/peers_records.py --data adult.csv --domain adult-domain.json --runs 5 --keep chain
    .venv-peers/bin/python benchmarks/peers_records.py --data adult.csv --domain adult-domain.json --runs 5 --keep chain

The wanted tables are those of each column with the next, so that a junction tree of two-way cliques exists. The first
command, where numba is, releases them as records and keeps the noisy residuals in a folder; the second, where mbi is,
fits the model of the chain to what was kept by least squares weighted with the same variances. Both print the mean L1
error as a share of the records, over the tables of the chain and over all two-way tables, and the time of a fit.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pandas as pd

Table = Callable[[tuple[str, ...]], np.ndarray]


def report(label: str, data: pd.DataFrame, sizes: dict[str, int], tables: list[Table], seconds: list[float]) -> None:
    """The error of some fits over the chain and over all pairs."""
    pairs = list(combinations(data.columns, 2))
    exact = {(a, b): np.bincount(data[a] * sizes[b] + data[b], minlength=sizes[a] * sizes[b]) for a, b in pairs}
    for name, margins in (("chain", list(pairwise(data.columns))), ("all pairs", pairs)):
        off = [np.mean([np.abs(table(m).ravel() - exact[m]).sum() for m in margins]) / len(data) for table in tables]
        error = np.std(off, ddof=min(1, len(off) - 1)) / len(off) ** 0.5
        print(f"{label}, {name}: {np.mean(off):.4f} ± {error:.4f}; {np.mean(seconds):.0f} s a fit, {len(off)} runs")


def records(data: pd.DataFrame, sizes: dict[str, int], epsilon: str, runs: int, folder: Path) -> None:
    """Release the chain as records, and keep the noisy residuals."""
    import margrave as mg
    from margrave.algebra.lattice import downward_closure

    attributes = "\n".join(f"{json.dumps(name)} = {{ range = [0, {size - 1}] }}" for name, size in sizes.items())
    wanted = json.dumps([list(pair) for pair in pairwise(sizes)])
    text = f"[attributes]\n{attributes}\n[release]\ntables = {wanted}\nnonnegative = 'records'\n"
    plan = mg.plan(mg.Spec.load(f"{text}[privacy]\nepsilon = {epsilon}\ndelta = 1e-9\n"))
    measured = downward_closure(pairwise(sizes))
    tables, seconds = [], []
    for run in range(runs):
        out = mg.release(plan, data, seed=run)
        out.fit.prepare(measured)
        kept = [(list(m), plan.accuracy.variance(m), out.fit.residual(m).tolist()) for m in measured]
        (folder / f"{run}.json").write_text(json.dumps(kept))
        begun = time.process_time()
        published = out.publication
        assert published is not None
        seconds.append(time.process_time() - begun)
        tables.append(published.margin)
    report("records", data, sizes, tables, seconds)


def model(data: pd.DataFrame, sizes: dict[str, int], runs: int, folder: Path) -> None:
    """Fit a graphical model to the kept residuals."""
    import mbi

    domain = mbi.Domain(tuple(sizes), tuple(sizes.values()))
    tables, seconds = [], []
    for run in range(runs):
        kept = {
            tuple(m): (variance, np.array(r)) for m, variance, r in json.loads((folder / f"{run}.json").read_text())
        }
        total = float(kept.pop(())[1])
        measured = [
            mbi.LinearMeasurement(residual.ravel(), margin, stddev=variance**0.5, query=residual_of)
            for margin, (variance, residual) in kept.items()
        ]
        begun = time.process_time()
        fitted = mbi.estimation.mirror_descent(domain, measured, known_total=total)
        tables.append(lambda margin, fitted=fitted: np.asarray(fitted.project(margin).datavector(flatten=False)))
        tables[-1](tuple(sizes)[:2])
        seconds.append(time.process_time() - begun)
    report("graphical model", data, sizes, tables, seconds)


def residual_of(factor):
    """A table centred along each axis."""
    values = factor.datavector(flatten=False)
    for axis in range(values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return values.ravel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--domain", type=Path, required=True)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", type=Path, required=True)
    chosen = parser.parse_args()
    data = pd.read_csv(chosen.data)
    told = json.loads(chosen.domain.read_text())
    sizes = {name: told[name] for name in data.columns}
    chosen.keep.mkdir(exist_ok=True)
    if find_spec("mbi") is None:
        records(data, sizes, chosen.epsilon, chosen.runs, chosen.keep)
    else:
        model(data, sizes, chosen.runs, chosen.keep)


if __name__ == "__main__":
    main()
