"""How wrong records fitted to noisy margins are, how long they take and how much memory.

    python benchmarks/records.py --data adult.csv --domain adult-domain.json --runs 10
    python benchmarks/records.py --attributes 50 --values 10 --records 100000 --runs 1
    python benchmarks/records.py --example rochdale --runs 24
    python benchmarks/records.py --growth 10 20 50 --records 20000
    python benchmarks/records.py --data adult.csv --domain adult-domain.json --orientation
    python benchmarks/records.py --example rochdale --coverage --runs 10
    python benchmarks/records.py --example rochdale --kinds 1 --runs 40

The first reads a CSV file of codes 0, 1, …, with a header, and a JSON file with the number of values of each column.
The second generates records: a chain in which each attribute repeats the one before with probability one half. The
third releases a bundled example by its own spec, by records and by ``auto``. The fourth fits records of more and more
generated attributes once each: processor time, also for each record and table. The fifth makes no records, but prints
the error of two simple things: each unbiased table projected on its own onto the non-negative tables of its total, and
the product of the exact one-way tables. The sixth counts how often the 95 % intervals of published and of unbiased
tables hold the true count. The seventh fits records of one kind, which learn no dependency: what kinds are worth.

Each run is a whole release with fresh (seeded) noise. Printed is the mean over the tables of the sum of
|published − true|, as a share of the number of records, for the published and for the unbiased tables, and with --dense
also for what ``auto`` publishes.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd

import margrave as mg
from margrave.noise import Generator
from margrave.planning.forecast.prediction import record_seconds
from margrave.publish.release import Release
from margrave.reconstruct.records import kinds


def generated(attributes: int, values: int, records: int) -> pd.DataFrame:
    """Records of a chain of attributes."""
    generator = Generator.seeded("chain")
    codes = generator.below(values, records * attributes).reshape(records, attributes)
    # The first values are more frequent than the last.
    codes = codes * generator.below(values, records * attributes).reshape(records, attributes) // values
    repeats = generator.below(2, records * attributes).reshape(records, attributes) == 1
    for column in range(1, attributes):
        codes[repeats[:, column], column] = codes[repeats[:, column], column - 1]
    return pd.DataFrame({f"a{column}": codes[:, column] for column in range(attributes)})


def spec_of(sizes: dict[str, int], ways: int, epsilon: str, delta: str, method: str) -> mg.Spec:
    """Every table of ``ways`` attributes."""
    rows = "\n".join(f"{json.dumps(name)} = {{ range = [0, {size - 1}] }}" for name, size in sizes.items())
    text = f"[attributes]\n{rows}\n[release]\nall = {ways}\nnonnegative = {json.dumps(method)}\n"
    return mg.Spec.load(f"{text}[privacy]\nepsilon = {epsilon}\ndelta = {delta}\n")


def errors(out: Release, truth: dict[tuple[str, ...], np.ndarray], records: int) -> tuple[float, float]:
    """The mean over the widest tables of the L1 error, published and unbiased."""
    published = [np.abs(out.published(margin) - counts).sum() for margin, counts in truth.items()]
    unbiased = [np.abs(out.unbiased(margin) - counts).sum() for margin, counts in truth.items()]
    return float(np.mean(published)) / records, float(np.mean(unbiased)) / records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--domain", type=Path)
    parser.add_argument("--example")
    parser.add_argument("--attributes", type=int, default=20)
    parser.add_argument("--values", type=int, default=10)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--growth", type=int, nargs="+")
    parser.add_argument("--orientation", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--kinds", type=int, default=kinds.KINDS)
    chosen = parser.parse_args()
    kinds.KINDS = chosen.kinds
    if chosen.growth is not None:
        growth(chosen.growth, chosen.values, chosen.records)
        return
    if chosen.example is not None:
        spec = mg.Spec.load(mg.examples.path(chosen.example))
        if chosen.coverage:
            coverage(None, replace(spec, nonnegative="records"), chosen.runs)
            return
        for method in ("records", "auto"):
            measure(None, replace(spec, nonnegative=method), 1, chosen.runs)
        return
    if chosen.data is None:
        data = generated(chosen.attributes, chosen.values, chosen.records)
        sizes = dict.fromkeys(data.columns, chosen.values)
    else:
        data = pd.read_csv(chosen.data)
        told = json.loads(chosen.domain.read_text())
        sizes = {name: told[name] for name in data.columns}
    spec = spec_of(sizes, chosen.ways, chosen.epsilon, chosen.delta, "records")
    if chosen.coverage or chosen.orientation:
        (coverage if chosen.coverage else orientation)(data, spec, chosen.runs)
        return
    for method in ("records", *(["auto"] if chosen.dense else [])):
        measure(data, spec_of(sizes, chosen.ways, chosen.epsilon, chosen.delta, method), chosen.ways, chosen.runs)


def growth(attributes: list[int], values: int, records: int) -> None:
    """One fit to all two-way tables for each number of attributes."""
    # The loops are compiled here, so that the first row is not charged with it.
    mg.release(spec_of({"a0": 2, "a1": 2}, 2, "1", "1e-9", "records"), generated(2, 2, 100), seed=0).prepare_tables()
    print("| attributes | tables | records | predicted | processor time | µs a record and table | peak | error |")
    print("|---|---|---|---|---|---|---|---|")
    for number in attributes:
        data = generated(number, values, records)
        spec = spec_of(dict.fromkeys(data.columns, values), 2, "1", "1e-9", "records")
        exact = mg.count(spec, data, tables=[margin for margin in spec.margins if len(margin) == 2])
        truth = {margin: counts.reshape(spec.domain.shape(margin)) for margin, counts in exact.counts.items()}
        out = mg.release(spec, data, seed=0)
        begun = time.process_time()
        assert out.publication is not None
        seconds = time.process_time() - begun
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        each = 1e6 * seconds / records / len(truth)
        print(
            f"| {number} | {len(truth)} | {records} | {record_seconds(out.plan, records, simulated=False):.0f} s | "
            f"{seconds:.0f} s | {each:.2f} | {memory:.2f} GiB | {errors(out, truth, records)[0]:.3f} |",
            flush=True,
        )


def projected(table: np.ndarray) -> np.ndarray:
    """The nearest table without negative counts that has the same total."""
    flat, total = np.sort(table, axis=None)[::-1], max(float(table.sum()), 0.0)
    excess = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    return np.maximum(table - excess[np.flatnonzero(flat > excess)[-1]], 0.0) if total else np.zeros_like(table)


def orientation(data: pd.DataFrame, spec: mg.Spec, runs: int) -> None:
    """The error of unbiased tables, each made non-negative on its own, and of the product of exact one-way tables."""
    exact = mg.count(spec, data)
    widest = max(map(len, spec.margins))
    truth = {m: exact.counts[m].reshape(spec.domain.shape(m)) for m in spec.margins if len(m) == widest}
    shares = {name: np.bincount(data[name], minlength=spec.domain[name].size) / len(data) for name in data}
    products = [
        np.abs(len(data) * reduce(np.multiply.outer, [shares[name] for name in margin]) - counts).sum()
        for margin, counts in truth.items()
    ]
    print(f"product of exact one-way tables {np.mean(products) / len(data):.4f}")
    plan, alone = mg.plan(spec), []
    for run in range(runs):
        out = mg.release(plan, data, seed=run)
        off = [np.abs(projected(out.unbiased(margin)) - counts).sum() for margin, counts in truth.items()]
        alone.append(np.mean(off) / len(data))
    spread = np.std(alone, ddof=min(1, runs - 1)) / np.sqrt(runs)
    print(f"each unbiased table projected on its own {np.mean(alone):.4f} ± {spread:.4f}, {runs} runs")


def coverage(data: pd.DataFrame | None, spec: mg.Spec, runs: int) -> None:
    """How often the 95 % intervals hold the true count, and how wide they are: of all cells, and of those whose true
    count is at least the half-width of the unbiased interval.
    """
    plan, exact, found = mg.plan(spec), mg.count(spec, data), []
    for run in range(runs):
        out, cells = mg.release(plan, data, seed=run), []
        for margin in filter(None, spec.margins):
            truth = exact.counts[margin].ravel()
            held = [truth]
            for table in (out.table(*margin), out.noisy(*margin)):
                low, high = table["low"].to_numpy(), table["high"].to_numpy()
                held += [(low <= truth) & (truth <= high), high - low]
            cells.append(np.array(held, dtype=float))
        _, *seen = every = np.concatenate(cells, axis=1)
        away = every[0] >= every[4] / 2
        found.append([*np.mean(seen, axis=1), *np.mean(every[1:, away], axis=1), away.mean()])
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=min(1, runs - 1)) / np.sqrt(runs)
    for label, at in (("all cells", 0), (f"the {mean[8]:.0%} away from zero", 4)):
        print(
            f"{label}: published {mean[at]:.3f} ± {spread[at]:.3f}, width {mean[at + 1]:.1f}; "
            f"unbiased {mean[at + 2]:.3f} ± {spread[at + 2]:.3f}, width {mean[at + 3]:.1f}; {runs} runs",
            flush=True,
        )


def measure(data: pd.DataFrame | None, spec: mg.Spec, ways: int, runs: int) -> None:
    """Release by one spec, again and again, and compare its tables of at least ``ways`` attributes with the truth."""
    begun = time.perf_counter()
    plan = mg.plan(spec)
    print(f"{len(spec.domain)} attributes, {len(spec.margins)} tables", flush=True)
    print(f"planned in {time.perf_counter() - begun:.1f} s", flush=True)
    exact = mg.count(spec, data, tables=[margin for margin in spec.margins if len(margin) >= ways])
    truth = {margin: counts.reshape(spec.domain.shape(margin)) for margin, counts in exact.counts.items()}
    records, found = int(next(iter(truth.values())).sum()), []
    for run in range(runs):
        out = mg.release(plan, data, seed=run)
        begun = time.perf_counter()
        assert out.publication is not None
        seconds = time.perf_counter() - begun
        found.append((*errors(out, truth, records), seconds))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"run {run}: {out.publication.method}, published {found[-1][0]:.4f}, unbiased {found[-1][1]:.4f}, "
            f"fitted in {seconds:.1f} s, peak {memory:.2f} GiB; {out.publication.notes[0]}",
            flush=True,
        )
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=min(1, runs - 1)) / np.sqrt(runs)
    print(f"mean: published {mean[0]:.4f} ± {spread[0]:.4f}, unbiased {mean[1]:.4f}, fitted in {mean[2]:.1f} s")


if __name__ == "__main__":
    main()
