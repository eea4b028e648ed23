"""How far answers are off, beside what was said before, and how often intervals hold: over random data.

Each row is many answers, a few for each of many random data sets: exact sums are made up here, and noise is drawn as
the engine draws it. `error / forecast` is the error (root mean square) over the one that was forecast, `covered` how
often the interval of 95 % held the truth; both with a standard error, over data sets.
Run with: python benchmarks/questions_error.py [data sets [part of a row's name]]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import sqrt

import numpy as np

from machine import header, row
from margrave.budget.units import ZCDP, PureDP
from margrave.measure.questions.engine import quantile_losses
from margrave.noise import Generator
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.price.trees import tree_counts
from margrave.planning.questions.question import PricedQuestion
from margrave.publish.questions.answers import AnswerTable
from margrave.publish.questions.best_counts import best_counts

SPEC = DataSpec.load(
    """
[tables.people]
[tables.people.columns]
a = { values = ["x", "y"], other = "z" }
b = { values = ["p", "q", "r"], missing = "s" }
pay = { number = [0, 100] }
"""
)
BUDGETS = {"ε": PureDP(Fraction(1, 10)), "ρ": ZCDP(Fraction(1, 500))}
ANSWERS = 10
"""Answers for each data set."""
Errors = Iterator[tuple[float, float, bool]]
"""The error of each number, the one forecast, and whether the interval held the truth."""


def asked(text: str, budget: PureDP | ZCDP) -> PricedQuestion:
    return PricedQuestion(SPEC, parsed(text, SPEC), budget)


def drawn(question: PricedQuestion, exact: list[int], generator: Generator) -> AnswerTable:
    noise = question.mechanism.noise.sample(len(exact), generator)
    return AnswerTable(question, tuple(one + int(z) for one, z in zip(exact, noise, strict=True)))


def values(chance: np.random.Generator) -> np.ndarray:
    """Whole numbers from 0 to 100: somewhere in the range, more or less spread out, now and then skewed."""
    rows = int(10 ** chance.uniform(3, 5))
    if chance.random() < 0.3:
        return np.clip(chance.exponential(chance.uniform(5, 50), rows), 0, 100).astype(int)
    return np.clip(chance.normal(chance.uniform(10, 90), chance.uniform(5, 30), rows), 0, 100).astype(int)


def hit(one: object, truth: float) -> bool:
    return bool(one.low - 1e-9 <= truth <= one.high + 1e-9)  # type: ignore[attr-defined]


def counts(budget: PureDP | ZCDP, chance: np.random.Generator, generator: Generator) -> Errors:
    question, truth = asked("people by a count", budget), [int(n) for n in chance.integers(50, 10_000, 3)]
    for _ in range(ANSWERS):
        for one, exact in zip(drawn(question, truth, generator).rows, truth, strict=True):
            yield one.value - exact, question.forecast[0].std_error or 0.0, hit(one, exact)


def averages(budget: PureDP | ZCDP, chance: np.random.Generator, generator: Generator) -> Errors:
    question, found = asked("people average pay", budget), values(chance)
    exact, mean = [int(found.sum()), int((100 - found).sum())], float(found.mean())
    told = question.forecast[0].at(len(found), mean / 100)
    for _ in range(ANSWERS):
        answer = drawn(question, exact, generator)
        yield answer.value - mean, told, hit(answer, mean)


def variances(budget: PureDP | ZCDP, chance: np.random.Generator, generator: Generator) -> Errors:
    question, found = asked("people variance pay", budget), values(chance)
    above, below, truth = found, 100 - found, float(found.var())
    exact = [int((above**2).sum()), int((2 * above * below).sum()), int((below**2).sum())]
    for _ in range(ANSWERS):
        answer = drawn(question, exact, generator)
        yield answer.value - truth, answer.std_error or float("nan"), hit(answer, truth)


def cumulatives(budget: PureDP | ZCDP, chance: np.random.Generator, generator: Generator) -> Errors:
    question, found = asked("people cumulative pay", budget), np.bincount(values(chance), minlength=101)
    exact = tree_counts(found, question.mechanism.branching, question.mechanism.levels).tolist()
    for _ in range(ANSWERS):
        answer = drawn(question, exact, generator)
        for one, truth in zip(answer.rows, np.cumsum(found), strict=True):
            yield one.value - truth, question.forecast[0].std_error or 0.0, hit(one, truth)


SHARES = [number / 20 for number in range(1, 20)]
LISTED = ", ".join(map(str, SHARES))


def few(chance: np.random.Generator, size: int, place: int) -> np.ndarray:
    return chance.normal(0.5, 0.15, chance.integers(50, 500)) * size


def thousand(chance: np.random.Generator, size: int, place: int) -> np.ndarray:
    return smooth(chance, size, place)[:1_000]


def skewed(chance: np.random.Generator, size: int, place: int) -> np.ndarray:
    return np.exp(chance.normal(np.log(0.02), 1, many(chance))) * size


def ties(chance: np.random.Generator, size: int, place: int) -> np.ndarray:
    return np.round(np.clip(chance.normal(0.5, 0.2, many(chance)), 0, 1) * 20) / 20 * (size - 1)


def gap(chance: np.random.Generator, size: int, place: int) -> np.ndarray:
    """Nothing lies between two parts, and the first is the share itself, or one row less: the quantile is at an end of
    the gap, and everything between fits what was seen nearly as well.
    """
    rows = 20 * (many(chance) // 20)
    below = rows * (place + 1) // 20 - chance.integers(0, 2)
    return np.concatenate([chance.uniform(0, 0.3, below), chance.uniform(0.6, 1, rows - below)]) * size


def smooth(chance: np.random.Generator, size: int, place: int) -> np.ndarray:
    if chance.random() < 0.3:
        return chance.exponential(chance.uniform(0.05, 0.5), many(chance)) * size
    return chance.normal(chance.uniform(0.1, 0.9), chance.uniform(0.05, 0.3), many(chance)) * size


def many(chance: np.random.Generator) -> int:
    return int(10 ** chance.uniform(3, 5))


def quantiles(size: int, kind: Callable[..., np.ndarray], again: bool = False) -> Callable[..., Errors]:
    """Nineteen of them, over a grid; of a gap the one at it. Their errors are in values, and not forecast.

    ``again``: asked once more, of the rows up to what the median seemed to be.
    """
    spec = DataSpec.load(f"[tables.people]\n[tables.people.columns]\npay = {{ number = [0, {size - 1}] }}\n")

    def errors(budget: PureDP | ZCDP, chance: np.random.Generator, generator: Generator) -> Errors:
        question = PricedQuestion(spec, parsed(f"people quantiles({LISTED}) of pay", spec), budget)
        place = int(chance.integers(0, 19))
        found = np.bincount(np.clip(kind(chance, size, place), 0, size - 1).astype(int), minlength=size)
        answer = in_tree(question, found, generator)
        if again:
            found = np.where(np.arange(size) <= answer.rows[9].value, found, 0)
            answer = in_tree(question, found, generator)
        through = np.cumsum(found)
        for at in [place] if kind is gap else range(19):
            truth = int(np.argmax(through * 20 >= (at + 1) * through[-1]))
            yield float("nan"), 1.0, hit(answer.rows[at], truth)

    return errors


def in_tree(question: PricedQuestion, found: np.ndarray, generator: Generator) -> AnswerTable:
    shape = question.mechanism.branching, question.mechanism.levels
    return drawn(question, tree_counts(found, *shape).tolist(), generator)


def fixed(budget: PureDP | ZCDP, chance: np.random.Generator, generator: Generator) -> Errors:
    """The best estimate from four fixed questions that overlap."""
    yield from _best(budget, chance, generator, adaptive=False)


def adaptive(budget: PureDP | ZCDP, chance: np.random.Generator, generator: Generator) -> Errors:
    """The same from an analyst who asks next what looks most surprising in what she saw."""
    yield from _best(budget, chance, generator, adaptive=True)


def _best(budget: PureDP | ZCDP, chance: np.random.Generator, generator: Generator, adaptive: bool) -> Errors:
    cube = chance.integers(0, 300, (3, 4))
    truths = {
        "people count": [cube.sum()],
        "people by a count": cube.sum(axis=1),
        "people by b count": cube.sum(axis=0),
    }
    truths["people by a, b count"] = cube.reshape(-1)
    wanted = parsed("people by a count", SPEC)
    shares = [budget.with_amount(budget.amount * Fraction(number, 4)) for number in (1, 2, 3)]
    for _ in range(ANSWERS):
        found: list[AnswerTable] = []

        def ask(text: str, at: int, found: list[AnswerTable] = found) -> list[int]:
            exact = [int(one) for one in truths[text]]
            found.append(drawn(asked(text, shares[at]), exact, generator))
            return list(found[-1].numbers)

        first = ask("people by a count", 0)
        if not adaptive:
            ask("people by a, b count", 1)
            ask("people by b count", 0)
            ask("people count", 2)
        elif min(first) < 400:
            # Where a group looks small she looks closer, and once more where that looks smaller still.
            second = np.array(ask("people by a, b count", 1)).reshape(3, 4).sum(axis=1)
            if second.min() < min(first):
                ask("people by a count", 2)
        elif max(first) - min(first) < 200:
            ask("people by a count", 1)
        best = best_counts(SPEC, wanted, found)
        for one, truth in zip(best.rows, truths["people by a count"], strict=True):
            yield one.value - float(truth), one.std_error or 0.0, hit(one, float(truth))


ROWS: dict[str, Callable[..., Errors]] = {
    "count": counts,
    "average": averages,
    "variance": variances,
    "cumulative": cumulatives,
    "19 quantiles over 101 values": quantiles(101, smooth),
    "19 quantiles over 2,001 values": quantiles(2_001, smooth),
    "19 quantiles over 2,001 values, of 1,000 rows": quantiles(2_001, thousand),
    "19 quantiles over 1,001 values, the one at a gap": quantiles(1_001, gap),
    "19 quantiles over 1,001 values, of 50 to 500 rows": quantiles(1_001, few),
    "19 quantiles over 1,001 values, all rows at 21 of them": quantiles(1_001, ties),
    "19 quantiles over 1,001 values, skewed": quantiles(1_001, skewed),
    "19 quantiles over 1,001 values, of rows chosen by what was seen": quantiles(1_001, smooth, again=True),
    "best of four fixed questions": fixed,
    "best, questions chosen by what was seen": adaptive,
}


def shown(kind: Callable[..., Errors], budget: PureDP | ZCDP, name: str, sets: int) -> list[str]:
    """The ratio of errors and the coverage, each with its standard error over data sets."""
    squares, covered, many = [], [], 0
    for number in range(sets):
        chance, generator = np.random.default_rng(number), Generator.seeded(f"{name} {number}")
        found = list(kind(budget, chance, generator))
        many += len(found)
        squares.append(float(np.mean([(error / told) ** 2 for error, told, _ in found])))
        covered.append(float(np.mean([held for _, _, held in found])))
    ratio, of_ratio = sqrt(np.mean(squares)), np.std(squares) / sqrt(sets) / 2
    told = "" if np.isnan(ratio) else f"{ratio:.3f} ± {of_ratio:.3f}"
    return [f"{many:,}", told, f"{100 * np.mean(covered):.1f} ± {100 * np.std(covered) / sqrt(sets):.1f} %"]


def ranks(size: int, runs: int) -> float:
    """The error in rank of nineteen quantiles from one tree, against selecting each with its share of ε."""
    spec = DataSpec.load(f"[tables.people]\n[tables.people.columns]\npay = {{ number = [0, {size - 1}] }}\n")
    epsilon, shares = Fraction(1, 10), [Fraction(number, 20) for number in range(1, 20)]
    tree = PricedQuestion(spec, parsed(f"people quantiles({LISTED}) of pay", spec), PureDP(epsilon))
    ours, separate = [], []
    for run in range(runs):
        chance, generator = np.random.default_rng(run), Generator.seeded(f"ranks {run}")
        found = np.clip(chance.normal(0.5, 0.15, 10_000) * size, 0, size - 1).astype(int)
        held = np.bincount(found, minlength=size)
        through = np.cumsum(held)
        answer = drawn(tree, tree_counts(held, tree.mechanism.branching, tree.mechanism.levels).tolist(), generator)
        for one, share in zip(answer.rows, shares, strict=True):
            off = np.maximum(0, np.maximum(through - held - share * 10_000, share * 10_000 - through)).astype(float)
            rate = float(epsilon / 19 / (2 * max(share, 1 - share)))
            losses = quantile_losses(held, share).astype(float) / share.denominator
            chances = np.exp(-rate * (losses - losses.min()))
            ours.append(float(off[int(one.value)]))
            separate.append(float((chances / chances.sum()) @ off))
    return float(np.mean(ours) / np.mean(separate))


def main(sets: int, only: str = "") -> None:
    print(header(f"{sets:,} random data sets", "numbers", "error / forecast", "covered"))
    for name, kind in ROWS.items():
        if only not in name:
            continue
        for symbol, budget in BUDGETS.items():
            print(row(f"{name}, in {symbol}", *shown(kind, budget, f"{name} {symbol}", sets)), flush=True)
    told = ", ".join(f"{ranks(size, max(2, sets // 50)):.2f} over {size:,} values" for size in (101, 401, 2_001))
    print(f"\nNineteen quantiles of 10,000 rows at ε = 0.1, error in rank of that of separate selections: {told}.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000, *sys.argv[2:])
