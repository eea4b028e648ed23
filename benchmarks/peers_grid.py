"""The table with peers: data sets × budgets × contenders, error, time and memory, into docs/peers.md.

    make bench-grid                                       # what is missing of the grid, then the page
    python benchmarks/peers_grid.py run --files DIR --data adult vocab --budgets e1 --runs 3 --seconds 600
    python benchmarks/peers_grid.py page                  # the page anew, from what was measured
    python benchmarks/peers_grid.py check                 # whether lean rivals reach what the originals do

Wanted are all two-way tables (``adult, triples``: all three-way ones), and each contender gets the same ρ: ``r0.01``
is ρ itself, ``e0.1`` the ρ of ε = 0.1 at δ = 1e-9. The error is the mean over the tables of the sum over cells of
|published − true|, as a share of the records. Every measurement is a line of
``benchmarks/measured/peers_grid.csv``, and what is there is not measured again: a grid can be filled in over many runs
(``--again CONTENDER`` forgets what was measured of one). Each contender has a process of its own, for its peak memory;
time is processor time of a release, compiled code warm, planning left out. Of Margrave's releases it is counted as well
how many 95 % intervals hold the true count, of cells away from zero (whose true count is at least the half-width of the
unbiased interval) and of the tenth of them with the largest counts. ``DIR`` holds adult.csv, adult-domain.json and so
on; trees and mixtures are made from a seed (benchmarks/peers_budgets.py).
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from math import prod, sqrt
from pathlib import Path

import numpy as np
import pandas as pd

import margrave as mg
import rivals
from margrave.algebra.domain import Attribute, Domain, Margin
from margrave.planning.limits import FULL_CELLS
from peers_budgets import mixture, planned, product, rho_of, tree

HERE = Path(__file__).parent
MEASURED = HERE / "measured" / "peers_grid.csv"
PAGE = HERE.parent / "docs" / "peers.md"
HELD = ("away", "held", "large", "large held")
COLUMNS = ("data", "budget", "contender", "seed", "error", "seconds", "mebibytes", *HELD)
BUDGETS = ("e0.1", "e0.3", "e1", "e3", "r0.01", "r0.1")
DATA = (
    *("adult", "adult, triples", "nltcs", "vocab", "tree 1", "tree 2", "mixture 1"),
    *("chile", "titanic", "tree 21", "tree 22", "mixture 21"),
)
APART = frozenset({"chile", "titanic", "tree 21", "tree 22", "mixture 21"})
"""Kept apart: never looked at while anything was tuned. Said on the page before the first of them was measured."""
_FULL = 1 << 20
"""The largest full table that mbi is given: all pairs make one clique of all attributes."""
REFERENCE = {
    ("adult", "e1", "AIM"): 0.051,
    ("adult, triples", "e1", "AIM"): 0.113,
    ("adult", "e1", "MST"): 0.084,
    ("adult, triples", "e1", "MST"): 0.179,
}
"""What the private-pgm repository's own reach."""


@dataclass(frozen=True)
class Subject:
    """Records as codes, the sizes of their attributes, and the wanted tables."""

    records: pd.DataFrame
    sizes: dict[str, int]
    ways: int

    @property
    def wanted(self) -> list[Margin]:
        return list(combinations(self.sizes, self.ways))

    @property
    def domain(self) -> Domain:
        return Domain(tuple(Attribute(name, tuple(map(str, range(size)))) for name, size in self.sizes.items()))

    def private(self, rho: str, seed: int) -> rivals.Confidential:
        random = np.random.default_rng(seed)
        return rivals.Confidential(self.domain, self.records.to_numpy(), float(rho), random)


def subject(name: str, files: Path) -> Subject:
    made = {"tree": tree, "mixture": mixture}
    kind, _, seed = name.partition(" ")
    if kind in made:
        records, sizes = made[kind](int(seed))
        return Subject(records, sizes, 2)
    stem, _, more = name.partition(", ")
    records, told = pd.read_csv(files / f"{stem}.csv"), json.loads((files / f"{stem}-domain.json").read_text())
    return Subject(records, {one: told[one] for one in records.columns}, 3 if more else 2)


Tables = Callable[[Margin], np.ndarray]


@dataclass(frozen=True)
class Released:
    """What Margrave publishes, as a contender's tables, with intervals."""

    out: mg.Release

    def __call__(self, margin: Margin) -> np.ndarray:
        return self.out.published(margin)

    def held(self, exact: dict[Margin, np.ndarray]) -> list[int]:
        """How many cells are away from zero, how many of these are held, and both for the largest tenth of them."""
        found = []
        for margin, counts in exact.items():
            truth, shown, unbiased = counts.ravel(), self.out.table(*margin), self.out.noisy(*margin)
            inside = (shown["low"] <= truth) & (truth <= shown["high"])
            away = truth >= (unbiased["high"] - unbiased["low"]) / 2
            found.append(np.stack([truth[away], inside[away]]))
        truth, inside = np.concatenate(found, axis=1)
        large = truth >= np.quantile(truth, 0.9) if len(truth) else truth > 0
        return [len(truth), int(inside.sum()), int(large.sum()), int(inside[large].sum())]


def _margrave(one: Subject, rho: str, **release: object) -> Callable[[int], Tables]:
    plan = planned(one.sizes, rho, one.ways, **release)
    return lambda seed: Released(mg.release(plan, one.records, seed=seed))


def fixed(one: Subject, rho: str) -> Callable[[int], Tables]:
    return _margrave(one, rho)


def expecting(one: Subject, rho: str) -> Callable[[int], Tables]:
    return _margrave(one, rho, expected_size=len(one.records))


def adaptive(one: Subject, rho: str) -> Callable[[int], Tables]:
    return _margrave(one, rho, strategy="adaptive")


def independent(one: Subject, rho: str) -> Callable[[int], Tables]:
    plan = planned(one.sizes, rho, 1)

    def made(seed: int) -> Tables:
        out = mg.release(plan, one.records, seed=seed)
        if one.ways == 2:
            return product(out, one.sizes, len(one.records)).__getitem__
        alone = {name: np.maximum(out.fit.margin((name,)), 0.0) for name in one.sizes}
        total = max(float(out.fit.margin(())), 0.0)

        def table(margin: Margin) -> np.ndarray:
            found = np.array(total)
            for name in margin:
                found = np.multiply.outer(found, alone[name] / max(alone[name].sum(), 1e-9))
            return found

        return table

    return made


def plain(one: Subject, rho: str) -> Callable[[int], Tables]:
    def made(seed: int) -> Tables:
        data = one.private(rho, seed)
        sigma = sqrt(len(one.wanted) / (2 * data.rho))
        return lambda margin: data.measured(margin, sigma).counts

    return made


def mbi_margins(one: Subject, rho: str) -> Callable[[int], Tables]:
    import mbi

    domain = mbi.Domain(tuple(one.sizes), tuple(one.sizes.values()))

    def made(seed: int) -> Tables:
        noisy, sigma = plain(one, rho)(seed), sqrt(len(one.wanted) / (2 * float(rho)))
        measured = [mbi.LinearMeasurement(noisy(margin).ravel(), margin, stddev=sigma) for margin in one.wanted]
        model = mbi.estimation.mirror_descent(domain, measured)
        return lambda margin: np.asarray(model.project(margin).datavector(flatten=False))

    return made


def _rival(mechanism: Callable[..., Tables]) -> Callable[[Subject, str], Callable[[int], Tables]]:
    return lambda one, rho: lambda seed: mechanism(one.private(rho, seed), one.wanted)


CONTENDERS: dict[str, Callable[[Subject, str], Callable[[int], Tables]]] = {
    "Margrave": fixed,
    "Margrave, expected size": expecting,
    "Margrave, adaptive": adaptive,
    "AIM": _rival(rivals.aim),
    "MST": _rival(rivals.mst),
    "MWEM": _rival(rivals.mwem),
    "mbi on plain margins": mbi_margins,
    "plain margins": plain,
    "one-way product": independent,
}


def lines() -> list[dict[str, str]]:
    """All that was measured."""
    if not MEASURED.exists():
        return []
    with MEASURED.open() as file:
        return list(csv.DictReader(file))


def one_cell(data: str, budget: str, contender: str, seeds: Iterable[int], files: Path) -> None:
    """Measure some releases in this process, and add a line for each."""
    one = subject(data, files)
    exact = {margin: one.private("1", 0).counts(margin) for margin in one.wanted}
    made = CONTENDERS[contender](one, rho_of(budget))
    if contender != "mbi on plain margins":
        made(0)  # Compiles what is compiled.
    for seed in seeds:
        begun = time.process_time()
        table = made(seed)
        found = {margin: table(margin) for margin in one.wanted}
        seconds = time.process_time() - begun
        error = np.mean([np.abs(found[margin] - exact[margin]).sum() for margin in one.wanted]) / len(one.records)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        new = not MEASURED.exists()
        with MEASURED.open("a", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            if new:
                out.writerow(COLUMNS)
            held = table.held(exact) if isinstance(table, Released) and one.ways == 2 else [""] * len(HELD)
            out.writerow([data, budget, contender, seed, f"{error:.5f}", f"{seconds:.2f}", memory, *held])


def run(chosen: argparse.Namespace) -> None:
    """Measure what is missing, the data sets in turn, until the seconds on the clock are used up."""
    done, begun = defaultdict(set), time.monotonic()
    for line in lines():
        done[line["data"], line["budget"], line["contender"]].add(int(line["seed"]))
    for budget in chosen.budgets:
        for data in chosen.data:
            for contender in chosen.contenders:
                missing = [seed for seed in range(chosen.runs) if seed not in done[data, budget, contender]]
                left = chosen.seconds - (time.monotonic() - begun)
                if not missing or left <= 0 or not possible(contender, data, chosen.files):
                    continue
                told = [data, budget, contender, json.dumps(missing), str(chosen.files)]
                try:
                    subprocess.run([sys.executable, __file__, "cell", *told], check=True, timeout=left)
                except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as problem:
                    print(f"{data}, {budget}, {contender}: {type(problem).__name__}", flush=True)


def possible(contender: str, data: str, files: Path) -> bool:
    """Whether there is something to measure: adaptive plans of large tables are what Margrave plans by itself."""
    if contender not in ("mbi on plain margins", "Margrave, adaptive"):
        return True
    cells = prod(subject(data, files).sizes.values())
    if contender == "Margrave, adaptive":
        return cells <= FULL_CELLS
    return find_spec("mbi") is not None and cells <= _FULL


def told(values: list[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / sqrt(len(values))) if len(values) > 1 else np.nan


def check_table() -> tuple[str, bool]:
    """What the lean rivals reach beside the originals, and whether all are within 5 % of these."""
    good, rows = True, ["| | here | original | ratio |", "|---|---|---|---|"]
    for (data, budget, contender), asked in REFERENCE.items():
        key = (data, budget, contender)
        errors = [float(one["error"]) for one in lines() if (one["data"], one["budget"], one["contender"]) == key]
        mean = float(np.mean(errors)) if errors else np.nan
        good &= abs(mean / asked - 1) <= 0.05
        rows.append(f"| {contender}, {data}, {words(budget)} | {_cell(errors, False)} | {asked} | {mean / asked:.3f} |")
    return "\n".join(rows) + "\n", good


def page() -> None:
    """Write the tables between the marks of the page."""
    text = PAGE.read_text()
    tables = {"check": check_table()[0], "errors": errors_table(), "held": held_table(), "cost": cost_table()}
    for name, block in tables.items():
        begin, end = f"<!-- grid {name} -->\n", f"<!-- end of grid {name} -->"
        before, rest = text.split(begin)
        text = before + begin + block + end + rest.split(end)[1]
    PAGE.write_text(text)


def words(budget: str) -> str:
    return f"{'ε' if budget[0] == 'e' else 'ρ'} = {budget[1:]}"


def errors_table() -> str:
    """A row for each data set and budget; the least error is bold."""
    found = defaultdict(list)
    for one in lines():
        found[one["data"], one["budget"], one["contender"]].append(float(one["error"]))
    rows = [f"| data | budget | {' | '.join(CONTENDERS)} |", f"|---|---|{'---|' * len(CONTENDERS)}"]
    for data in DATA:
        for budget in BUDGETS:
            cells = {name: found[data, budget, name] for name in CONTENDERS if (data, budget, name) in found}
            if not cells:
                continue
            best = min(cells, key=lambda name: np.mean(cells[name]))
            mark = ", kept apart" if data in APART else ""
            shown = [_cell(cells.get(name, []), name == best) for name in CONTENDERS]
            rows.append(f"| {data}{mark} | {words(budget)} | {' | '.join(shown)} |")
    return "\n".join(rows) + "\n"


def _cell(values: list[float], bold: bool) -> str:
    if not values:
        return ""
    mean, spread = told(values)
    number = f"**{mean:.4f}**" if bold else f"{mean:.4f}"
    return f"{number} ± {spread:.4f} ({len(values)})" if len(values) > 1 else f"{number} (1)"


def held_table() -> str:
    """How often intervals of Margrave hold: cells away from zero, and the largest tenth of them."""
    found = defaultdict(list)
    for one in lines():
        if one["away"]:
            key = (one["data"], one["budget"], one["contender"])
            found[key].append([int(one[name]) for name in HELD])
    names = [name for name in CONTENDERS if any(key[2] == name for key in found)]
    head = "".join(f" {name} | large |" for name in names)
    rows = [f"| data | budget |{head}", f"|---|---|{'---|---|' * len(names)}"]
    for data in DATA:
        for budget in BUDGETS:
            if any((data, budget, name) in found for name in names):
                shown = [_held(np.array(found.get((data, budget, name), np.zeros((0, 4))))) for name in names]
                rows.append(f"| {data}{', kept apart' * (data in APART)} | {words(budget)} | {' | '.join(shown)} |")
    return "\n".join(rows) + "\n"


def _held(runs: np.ndarray) -> str:
    """The share of cells that are held, ± its standard error over runs, whose cells share their noise."""
    shown = []
    for cells, held in ((runs[:, 0], runs[:, 1]), (runs[:, 2], runs[:, 3])):
        if not cells.sum():
            shown.append("no cell" if len(runs) else "")
            continue
        mean, off = held.sum() / cells.sum(), held - held.sum() / cells.sum() * cells
        spread = sqrt(len(runs) / max(len(runs) - 1, 1) * float(off @ off)) / cells.sum()
        shown.append(f"{mean:.3f} ± {spread:.3f}" if len(runs) > 1 else f"{mean:.3f}")
    return " | ".join(shown)


def cost_table() -> str:
    """The least and the most processor time and memory of each contender on each data set."""
    found = defaultdict(list)
    for one in lines():
        found[one["data"], one["contender"]].append((float(one["seconds"]), int(one["mebibytes"])))
    rows = [f"| data | {' | '.join(CONTENDERS)} |", f"|---|{'---|' * len(CONTENDERS)}"]
    for data in DATA:
        if any((data, name) in found for name in CONTENDERS):
            shown = [_cost(found.get((data, name), [])) for name in CONTENDERS]
            rows.append(f"| {data} | {' | '.join(shown)} |")
    return "\n".join(rows) + "\n"


def _cost(values: list[tuple[float, int]]) -> str:
    if not values:
        return ""
    seconds, memory = zip(*values, strict=True)
    return f"{min(seconds):.1f}–{max(seconds):.1f} s, {max(memory)} MiB"


def main() -> None:
    if sys.argv[1:2] == ["cell"]:
        data, budget, contender, seeds, files = sys.argv[2:]
        one_cell(data, budget, contender, json.loads(seeds), Path(files))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "page", "check", "all"])
    parser.add_argument("--files", type=Path, default=Path())
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--budgets", nargs="+", choices=BUDGETS, default=BUDGETS)
    parser.add_argument("--contenders", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--again", nargs="+", choices=list(CONTENDERS), default=[])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3600.0, help="on the clock; what is not begun then stays out")
    chosen = parser.parse_args()
    if chosen.again:
        kept = [one for one in lines() if one["contender"] not in chosen.again]
        with MEASURED.open("w", newline="") as file:
            out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            out.writeheader()
            out.writerows(kept)
    if chosen.what in ("run", "all"):
        run(chosen)
    if chosen.what in ("page", "all"):
        page()
    if chosen.what == "check":
        table, good = check_table()
        print(table)
        sys.exit(not good)


if __name__ == "__main__":
    main()
