"""Margrave beside its peers: the same data, budget and error measure, one process for each contender.

    make bench-peers                                                   # sets up .venv-peers, then runs this
    python benchmarks/peers.py --runs 10 --epsilon 1 --rho 0.1
    python benchmarks/peers.py --records nltcs.csv --ways 2            # a file of 0/1 records with a header

Every contender gets the records, the wanted tables and the budget (pure ε, or ρ-zCDP), protects one record that is
added or removed, and gives back the wanted tables. The error is the mean over the wanted tables of the sum over cells
of |released − true|, in the mean over runs. ``first`` is the processor time of the first release in a fresh process,
planning and compiling included, imports too where they come late; ``each`` that of the later ones, in the median;
memory is the peak of the process. A contender that has used up its seconds makes no further run.

What a contender cannot do, or does not finish in time, is said in its row.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd

import margrave as mg
from margrave.budget.units import ZCDP, PureDP
from margrave.noise import DiscreteGaussian, DiscreteLaplace, Generator
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.sections import DataSection
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted

Tables = dict[tuple[str, ...], np.ndarray]


@dataclass(frozen=True)
class Task:
    """Records, one row each, the spec that names their attributes and wanted tables, and the budget: (unit, amount)."""

    spec: Spec
    records: pd.DataFrame
    unit: str
    amount: Fraction

    @property
    def truth(self) -> Tables:
        return {margin: self.counts(margin) for margin in self.spec.margins}

    def counts(self, margin: tuple[str, ...]) -> np.ndarray:
        """The exact table of a margin."""
        domain = self.spec.domain
        table = np.zeros(domain.shape(margin), dtype=np.int64)
        codes = [pd.Categorical(self.records[name], list(domain[name].values)).codes for name in margin]
        np.add.at(table, tuple(codes), 1)
        return table

    def noise(self, share: Fraction) -> DiscreteLaplace | DiscreteGaussian:
        """The noise on a plain table that costs a share of the budget."""
        if self.unit == "epsilon":
            return DiscreteLaplace(1 / (self.amount * share))
        return DiscreteGaussian(1 / (2 * self.amount * share))


Contender = Callable[[Task, int], Tables]


def margrave_published(task: Task, run: int) -> Tables:
    """Margrave's published tables: non-negative whole numbers."""
    out = mg.release(_plan(task), task.records, seed=run)
    return {margin: np.asarray(out.published(margin)) for margin in task.spec.margins}


def margrave_unbiased(task: Task, run: int) -> Tables:
    """Margrave's unbiased tables."""
    out = mg.release(_plan(task), task.records, seed=run)
    return {margin: out.unbiased(margin) for margin in task.spec.margins}


_plans: dict[int, object] = {}


def _plan(task: Task) -> mg.Plan:
    if id(task) not in _plans:
        _plans[id(task)] = mg.plan(task.spec)
    return _plans[id(task)]  # type: ignore[return-value]


def plain_margins(task: Task, run: int) -> Tables:
    """Independent noise on each wanted table, the budget split evenly."""
    generator, wanted = Generator.seeded(run), task.spec.margins
    noise = task.noise(Fraction(1, len(wanted)))
    found = {}
    for margin in wanted:
        exact = task.counts(margin)
        found[margin] = exact + noise.sample(exact.size, generator).reshape(exact.shape)
    return found


def base_table(task: Task, run: int) -> Tables:
    """Noise on every cell of the full table, summed to the wanted tables."""
    generator, names = Generator.seeded(run), task.spec.domain.names
    full = task.counts(names)
    noisy = full + task.noise(Fraction(1)).sample(full.size, generator).reshape(full.shape)
    outside = {m: tuple(axis for axis, name in enumerate(names) if name not in m) for m in task.spec.margins}
    return {margin: noisy.sum(axis=axes) for margin, axes in outside.items()}


def mbi_margins(task: Task, run: int) -> Tables:
    """The same noisy tables as ``plain margins``, made consistent and non-negative by mbi's mirror descent."""
    import mbi

    wanted = task.spec.margins
    deviation = sqrt(task.noise(Fraction(1, len(wanted))).variance)
    noisy = plain_margins(task, run)
    domain = mbi.Domain(task.spec.domain.names, task.spec.domain.shape())
    measured = [
        mbi.LinearMeasurement(counts.astype(float).ravel(), margin, stddev=deviation)
        for margin, counts in noisy.items()
    ]
    model = mbi.estimation.mirror_descent(domain, measured)
    return {margin: np.asarray(model.project(margin).values) for margin in wanted}


def opendp_fixed(task: Task, run: int) -> Tables:
    """OpenDP's contingency table with the wanted tables as its fixed queries."""
    from opendp.extras.mbi import Count, Fixed

    return _opendp(task, Fixed(queries=[Count(by=margin) for margin in task.spec.margins]))


def opendp_aim(task: Task, run: int) -> Tables:
    """OpenDP's contingency table by AIM, its default, with the wanted tables as the workload."""
    from opendp.extras.mbi import AIM, Count

    return _opendp(task, AIM(queries=[Count(by=margin) for margin in task.spec.margins]))


def _opendp(task: Task, algorithm: object) -> Tables:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    names = task.spec.domain.names
    frame = pl.DataFrame({name: task.records[name].tolist() for name in names}).lazy()
    keys = {name: list(task.spec.domain[name].values) for name in names}
    loss = {task.unit: float(task.amount)}
    context = dp.Context.compositor(
        data=frame, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(**loss), margins=[]
    )
    table = context.query(**loss).contingency_table(keys=keys, algorithm=algorithm).release()
    found = {}
    for margin in task.spec.margins:
        # OpenDP adds a category for values that are not among the keys: the last along each axis, left out here.
        found[margin] = np.asarray(table.project(margin))[tuple(slice(len(keys[name])) for name in margin)]
    return found


CONTENDERS: dict[str, Contender] = {
    "Margrave, published": margrave_published,
    "Margrave, unbiased": margrave_unbiased,
    "plain margins": plain_margins,
    "noisy base table": base_table,
    "mbi on plain margins": mbi_margins,
    "OpenDP contingency table, Fixed": opendp_fixed,
    "OpenDP contingency table, AIM": opendp_aim,
}


def bundled(name: str, unit: str, amount: Fraction) -> Task:
    spec = mg.Spec.load(mg.examples.path(name))
    exact = mg.count(spec, tables=[spec.domain.names]).table(spec.domain.names).to_pandas()
    records = exact.loc[exact.index.repeat(exact["count"]), list(spec.domain.names)].reset_index(drop=True)
    return _task(replace(spec, data=DataSection(None, None, False, None, None)), records, unit, amount)


def binary(path: Path, ways: int, unit: str, amount: Fraction) -> Task:
    records = pd.read_csv(path, dtype=str)
    records.columns = [f"a{place}" for place in range(len(records.columns))]
    entries = tuple(CodebookEntry(name, Categories(("0", "1"))) for name in records.columns)
    wanted = tuple(Wanted(margin) for margin in combinations(records.columns, ways))
    return _task(Spec(Codebook(entries), PureDP(Fraction(1)), wanted), records, unit, amount)


def _task(spec: Spec, records: pd.DataFrame, unit: str, amount: Fraction) -> Task:
    budget = PureDP(amount) if unit == "epsilon" else ZCDP(amount)
    return Task(replace(spec, budget=budget), records, unit, amount)


def one(task: Task, contender: Contender, runs: int, most: float) -> dict[str, object]:
    """Some releases by one contender, in this process."""
    truth, errors, seconds = task.truth, [], []
    for run in range(runs):
        if sum(seconds) > most:
            break
        begun = time.process_time()
        found = contender(task, run)
        seconds.append(time.process_time() - begun)
        errors.append(float(np.mean([np.abs(found[margin] - truth[margin]).sum() for margin in truth])))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"errors": errors, "seconds": seconds, "memory": peak}


def row(name: str, label: str, outcome: dict[str, object] | str) -> str:
    if isinstance(outcome, str):
        return f"| {label} | {name} | 0 | {outcome} | | | |"
    errors, seconds = np.array(outcome["errors"]), np.array(outcome["seconds"])
    spread = f" ± {errors.std(ddof=1) / sqrt(len(errors)):.2g}" if len(errors) > 1 else ""
    each = f"{np.median(seconds[1:]):.2f} s" if len(seconds) > 1 else ""
    took = f"{seconds[0]:.2f} s | {each} | {outcome['memory']:.0f} MiB"
    return f"| {label} | {name} | {len(errors)} | {errors.mean():.1f}{spread} | {took} |"


def apart(arguments: Sequence[str], contender: str, seconds: float) -> dict[str, object] | str:
    """The outcome of one contender in a process of its own, or why there is none."""
    command = [sys.executable, __file__, *arguments, "--one", contender]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"not finished in {seconds:.0f} s"
    if done.returncode == 0:
        outcome: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return outcome
    if done.returncode < 0:
        return f"killed by signal {-done.returncode} (out of memory?)"
    lines = [line.strip() for line in done.stderr.splitlines() if sum(map(str.isalpha, line)) > 3]
    return f"failed: {lines[-1][:160] if lines else 'without a word'}"


def versions() -> str:
    found = []
    for package in ("margrave", "opendp", "mbi", "jax", "polars", "numpy"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", type=Fraction)
    parser.add_argument("--rho", type=Fraction)
    parser.add_argument("--example", choices=mg.examples.names(), action="append")
    parser.add_argument("--records", type=Path)
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60, help="of processor time, after which no run is begun")
    parser.add_argument("--memory", type=int, default=8, help="GiB of address space for one contender")
    parser.add_argument("--contender", choices=CONTENDERS, action="append")
    parser.add_argument("--one", choices=CONTENDERS, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    given = [(unit, getattr(chosen, unit)) for unit in ("epsilon", "rho") if getattr(chosen, unit) is not None]
    budgets = given or [("epsilon", Fraction(1)), ("rho", Fraction(1, 10))]
    subjects = [str(chosen.records)] if chosen.records else chosen.example or ["fungus", "czech", "rochdale", "journey"]
    if chosen.one:
        resource.setrlimit(resource.RLIMIT_AS, (chosen.memory << 30,) * 2)
        unit, amount = budgets[0]
        if chosen.records:
            task = binary(chosen.records, chosen.ways, unit, amount)
        else:
            task = bundled(subjects[0], unit, amount)
        print(json.dumps(one(task, CONTENDERS[chosen.one], chosen.runs, chosen.seconds)))
        return
    limits = [f"--{name}={getattr(chosen, name)}" for name in ("runs", "seconds", "memory", "ways")]
    print(versions(), end="\n\n")
    print("| table, budget | contender | runs | mean L1 | first | each | memory |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for unit, amount in budgets:
        for subject in subjects:
            arguments = [f"--{'records' if chosen.records else 'example'}={subject}", f"--{unit}={amount}", *limits]
            label = f"{Path(subject).stem}, {'ε' if unit == 'epsilon' else 'ρ'} = {float(amount):g}"
            for name in chosen.contender or CONTENDERS:
                # Imports, and a machine that is busy, take their time as well.
                print(row(name, label, apart(arguments, name, 10 * chosen.seconds)), flush=True)


if __name__ == "__main__":
    main()
