"""Local collections: pairs of a data set by several methods, coverage of intervals, and a million reports.

Run with: python benchmarks/local.py [accuracy|coverage|mechanisms|unbiased|speed ...] [--data FILE.csv] [--seeds N]

FILE.csv has whole numbers from 0 on, a column for each attribute, and is not confidential. Without one, sixteen yes/no
questions are answered by 21,574 generated people of four kinds.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from machine import header, row
from margrave.local.collector import collect
from margrave.local.simulate import simulate, simulate_lines
from margrave.noise import Generator
from margrave.planning.local.odds import Odds
from margrave.planning.local.plan import LocalPlan, make_local_plan
from margrave.planning.local.question import MECHANISMS, WEIGHTS, LocalQuestion, candidates
from margrave.planning.local.spec import LocalSpec
from margrave.publish.local.release import LocalRelease
from margrave.reconstruct.local import LocalFit, publish_local

LN3 = "1.0986122886681098"


def generated(count: int = 21_574) -> np.ndarray:
    """People of four kinds, each with chances of its own to say yes."""
    generator = np.random.default_rng(1)
    chances = np.clip(generator.normal([[0.1], [0.25], [0.5], [0.85]], 0.1, (4, 16)), 0.02, 0.98)
    kinds = generator.choice(4, count, p=[0.4, 0.3, 0.2, 0.1])
    return (generator.random((count, 16)) < chances[kinds]).astype(int)


def spec_of(people: np.ndarray, epsilon: str, width: int = 2) -> LocalSpec:
    names = [f"a{axis:02}" for axis in range(people.shape[1])]
    attributes = {name: [str(v) for v in range(int(k) + 1)] for name, k in zip(names, people.max(axis=0), strict=True)}
    tables = [list(pair) for pair in combinations(names, width)]
    return LocalSpec.load(
        {
            "attributes": attributes,
            "release": {"tables": tables},
            "privacy": {"epsilon": epsilon},
            "local": {"expected_size": len(people)},
        }
    )


def truths(spec: LocalSpec, people: np.ndarray) -> dict[tuple[str, ...], np.ndarray]:
    found = {}
    for margin in spec.margins:
        axes, shape = [spec.domain.position(name) for name in margin], spec.domain.shape(margin)
        numbers = np.ravel_multi_index(tuple(people[:, axes].T), shape)
        found[margin] = np.bincount(numbers, minlength=int(np.prod(shape))).reshape(shape) / len(people)
    return found


def planned(spec: LocalSpec, how: str) -> LocalPlan:
    """The plan, or one by a simpler rule: one pair each, or each residual as often as any other."""
    if how == "margrave":
        return make_local_plan(spec)
    odds = Odds.of(spec.epsilon)
    pairs = [margin for margin in spec.margins if len(margin) == 2]
    if how == "residuals":
        single = [(name,) for name in spec.domain.names]
        wanted = [(margin, False) for margin in pairs] + [(margin, True) for margin in single]
    else:
        wanted = [(margin, True) for margin in pairs]
    made = [LocalQuestion(one, candidates(spec.domain.shape(one), odds, whole=whole)[0], 1) for one, whole in wanted]
    even = [replace(one, weight=WEIGHTS // len(made)) for one in made]
    even[0] = replace(even[0], weight=even[0].weight + WEIGHTS % len(made))
    return LocalPlan(spec, tuple(even))


def projected(table: np.ndarray) -> np.ndarray:
    """The nearest shares that are not negative and add up to 1: each table for itself."""
    flat = np.sort(table.ravel())[::-1]
    sums = (np.cumsum(flat) - 1) / np.arange(1, flat.size + 1)
    level = sums[np.flatnonzero(flat > sums)[-1]]
    return np.maximum(table - level, 0.0)


def accuracy(people: np.ndarray, seeds: int) -> None:
    print(header("all pairs, mean L1/n", "ε = ln 3", "ε = 1"))
    rows: dict[str, list[str]] = {}
    for epsilon in (LN3, "1"):
        spec = spec_of(people, epsilon)
        true = truths(spec, people)
        for how in ("pairs", "residuals", "margrave"):
            plan = planned(spec, how)
            found = []
            for seed in range(seeds):
                fit = LocalFit.of(plan, simulate(plan, people, Generator.seeded(f"{how} {epsilon} {seed}")))
                found.append(_losses(plan, fit, true, how, len(people)))
            for name in found[0]:
                values = [one[name] for one in found]
                rows.setdefault(name, []).append(f"{np.mean(values):.4f} (at most {max(values):.4f})")
    ones = [np.bincount(people[:, axis]) / len(people) for axis in range(people.shape[1])]
    alone = {m: np.outer(*(ones[spec.domain.position(name)] for name in m)) for m in true}
    apart = np.mean([np.abs(alone[m] - true[m]).sum() for m in true])
    rows["independence, exact one-way tables"] = [f"{apart:.4f}"] * 2
    for name, cells in rows.items():
        print(row(name, *cells))
    print(f"\n{len(people)} respondents, {people.shape[1]} attributes, {seeds} seeds.")


def _losses(plan: LocalPlan, fit: LocalFit, true: dict, how: str, size: int) -> dict[str, float]:
    if how != "margrave":
        name = {"pairs": "one pair each by subset selection", "residuals": "residuals drawn evenly"}[how]
        tables = {margin: projected(fit.shares(margin)) for margin in true}
        return {f"{name}, each table projected": _mean(tables, true)}
    published = publish_local(plan, fit, "benchmark")
    assert published is not None
    tables = {margin: published.margin(margin) / size for margin in true}
    return {"Margrave, published whole tables": _mean(tables, true)}


def _mean(tables: dict, true: dict) -> float:
    return float(np.mean([np.abs(tables[margin] - true[margin]).sum() for margin in true]))


def coverage(people: np.ndarray, seeds: int) -> None:
    """How often 95 % intervals hold the population's share: respondents are drawn from the people with replacement."""
    part = people[:, :4]
    print(crossed_header("pairs of four attributes", seeds))
    for epsilon in (LN3, "1", "3"):
        plan = make_local_plan(spec_of(part, epsilon))
        print(row(f"ε = {float(epsilon):.3g}", *covered(plan, part, seeds, f"pairs {epsilon}")), flush=True)


OTHERS = 50
"""For each collection with intervals, so many without: these take a fiftieth of the time."""


def crossed_header(what: str, seeds: int) -> str:
    return header(
        f"95 % intervals that hold the truth, {what}",
        f"as wide as those of {seeds} collections, around {OTHERS * seeds} others",
        f"of the {seeds} themselves",
    )


def covered(plan: LocalPlan, people: np.ndarray, seeds: int, title: str) -> list[str]:
    """Published tables: intervals around the counts of other collections than those that gave their widths, and around
    their own. ± is the standard error over collections, for the cells of one of them go together.
    """
    true, generator = truths(plan.spec, people), np.random.default_rng(77)
    truth = len(people) * np.concatenate([true[margin].ravel() for margin in plan.spec.margins])

    def released(kind: str, seed: int) -> LocalRelease:
        asked = people[generator.integers(0, len(people), len(people))]
        return LocalRelease.of(plan, simulate(plan, asked, Generator.seeded(f"{kind} {title} {seed}")))

    def errors(out: LocalRelease) -> np.ndarray:
        return np.abs(np.concatenate([out.published(margin).ravel() for margin in plan.spec.margins]) - truth)

    own = [released("full", seed) for seed in range(seeds)]
    widths = np.array([np.concatenate([one.error_bars(margin)[1] for margin in plan.spec.margins]) for one in own])
    others = [errors(released("cheap", seed)) for seed in range(OTHERS * seeds)]
    held = [(one <= widths).mean() for one in others]
    itself = [(errors(one) <= width).mean() for one, width in zip(own, widths, strict=True)]
    return [f"{np.mean(one):.1%} ± {np.std(one, ddof=1) / np.sqrt(len(one)):.1%}" for one in (held, itself)]


CASES = {
    "response, 2 answers (Warner)": ("response", (2,)),
    "response, 5 answers": ("response", (5,)),
    "subset selection, 6 answers": ("subset", (6,)),
    "optimised unary encoding, 5 answers": ("unary", (5,)),
    "Hadamard response, 6 answers": ("hadamard", (6,)),
    "one sign (Fourier), 2 × 2": ("signs", (2, 2)),
    "products of random signs, 2 × 3": ("signs", (2, 3)),
    "sums modulo 3, 3 × 3": ("modular", (3, 3)),
}


def made_up(shape: tuple[int, ...]) -> np.ndarray:
    """People with skewed answers."""
    generator = np.random.default_rng(8)
    shares = np.sort(generator.dirichlet(np.full(int(np.prod(shape)), 1.0)))[::-1]
    return np.stack(np.unravel_index(generator.choice(shares.size, 5000, p=shares), shape), axis=1)


def mechanisms(people: np.ndarray, seeds: int) -> None:
    """The same for each mechanism, where everybody reports by it: on skewed answers of made-up people, ε = 1."""
    print(crossed_header("ε = 1", seeds))
    for title, (name, shape) in CASES.items():
        part = made_up(shape)
        plan = by_one(spec_of(part, "1", len(shape)), name)
        print(row(title, *covered(plan, part, seeds, f"{title} 1")), flush=True)


def unbiased(people: np.ndarray, seeds: int) -> None:
    """Unbiased tables alone, which take no time: many more seeds, also for the largest cell."""
    print(header("unbiased intervals that hold the truth", "ε = 1", "largest cell", "ε = 3", "largest cell"))
    for title, (name, shape) in CASES.items():
        part, cells = made_up(shape), []
        for epsilon in ("1", "3"):
            plan, generator = by_one(spec_of(part, epsilon, len(shape)), name), np.random.default_rng(3)
            margin, held = plan.spec.margins[0], []
            true = truths(plan.spec, part)[margin]
            for seed in range(seeds):
                asked = part[generator.integers(0, len(part), len(part))]
                fit = LocalFit.of(plan, simulate(plan, asked, Generator.seeded(f"unbiased {name} {shape} {seed}")))
                held.append(np.abs(fit.shares(margin) - true) <= 1.96 * np.sqrt(fit.errors.variances(margin)))
            found = np.array(held).reshape(seeds, -1)
            cells += [f"{found.mean():.1%}", f"{found[:, true.argmax()].mean():.1%}"]
        print(row(title, *cells), flush=True)


def by_one(spec: LocalSpec, name: str) -> LocalPlan:
    """A plan with this mechanism; where it tells of a residual alone, each attribute is asked for as well."""
    odds, every, kind = Odds.of(spec.epsilon), tuple(spec.domain.names), MECHANISMS[name]
    made = [LocalQuestion(every, kind(spec.domain.shape(every), odds), 1)]
    if not kind.whole:
        made += [LocalQuestion((one,), candidates(spec.domain.shape((one,)), odds, whole=True)[0], 1) for one in every]
    even = [replace(one, weight=WEIGHTS // len(made)) for one in made]
    return LocalPlan(spec, (replace(even[0], weight=even[0].weight + WEIGHTS % len(made)), *even[1:]))


def speed(people: np.ndarray, seeds: int) -> None:
    """A million reports: reading and adding up, and making tables of them."""
    spec = spec_of(people, LN3)
    plan = make_local_plan(spec)
    many = people[np.random.default_rng(4).integers(0, len(people), 1_000_000)]
    path = Path("local-reports.txt")
    path.write_bytes(b"\n".join(simulate_lines(plan, many, Generator.seeded("speed"))))
    start = time.process_time()
    collected = collect(plan, [path])
    read = time.process_time() - start
    path.unlink()
    out = LocalRelease.of(plan, collected)
    assert out.publication is not None
    fitted = time.process_time() - start - read
    print(header("a million reports", "seconds of processor time"))
    print(row("collected", f"{read:.1f}"))
    print(row(f"tables fitted ({out.publication.method}), whole", f"{fitted:.1f}"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["accuracy", "coverage", "mechanisms", "unbiased", "speed"])
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    people = generated() if given.data is None else pd.read_csv(given.data).to_numpy()
    every = (accuracy, coverage, mechanisms, unbiased, speed)
    parts = {one.__name__: one for one in every}
    for part in given.parts:
        parts[part](people, given.seeds)
        print()


if __name__ == "__main__":
    main()
