"""What the runs say: means and deviations, ratios, and from which ε on a released table is usable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Floats
from margrave.budget.numbers import exact_text
from margrave.errors import UsageError
from margrave.study.yang2012.grid import CONTENDERS, OFTEN, RIVALS, TABLES, Task
from margrave.study.yang2012.journal import Rows, Settings
from margrave.study.yang2012.subjects import Studied, private_as_printed, real_factor, replaced_factor, subject

LEVEL = 0.05
"""The level of the model's test."""
MISPLACED = Fraction(1, 10)
"""The part of the records that may be counted in a wrong cell of the worst table."""
ZERO = 1e-6
"""An optimum b below this, in units of Fourier coefficients, is zero."""

MEASURES: dict[str, Callable[[Studied, Mapping[str, Floats]], Floats]] = {
    "size": lambda _, runs: runs["size"],
    "largest": lambda _, runs: runs["largest"],
    "mean": lambda _, runs: runs["mean"],
    "g2_difference": lambda whose, runs: np.abs(runs["g2"] - whose.fit.g2),
    "l1": lambda _, runs: runs["l1"],
    "l2": lambda _, runs: runs["l2"],
    "bound": lambda _, runs: runs["bound"],
    "infeasible": lambda _, runs: (runs["bound"] > ZERO).astype(float),
}
"""What is averaged over runs, by name."""

CRITERIA: dict[str, Callable[[Studied, Mapping[str, Floats]], NDArray[np.bool_]]] = {
    "margins": lambda whose, runs: runs["largest"] <= 2 * float(MISPLACED) * whose.total,
    "verdict": lambda whose, runs: (runs["size"] > 0) & ((runs["p_value"] >= LEVEL) == (whose.fit.p_value >= LEVEL)),
    "fit": lambda whose, runs: runs["l1"] <= whose.from_uniform / 2,
}
"""When one release is good enough. A record in a wrong cell counts twice in an L1 distance: it is missing elsewhere."""


@dataclass(frozen=True)
class RunSpread:
    """A mean over runs and the standard deviation of one run."""

    mean: float
    deviation: float
    runs: int

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / sqrt(self.runs)


@dataclass(frozen=True, eq=False)
class Summary:
    """The results of a finished study."""

    settings: Settings
    done: Mapping[Task, Rows]

    def __post_init__(self) -> None:
        missing = [task for task in self.settings.tasks if task not in self.done]
        if missing:
            raise UsageError(
                f"the study is not finished: {len(missing)} of {len(self.settings.tasks)} blocks are missing"
            )

    @cached_property
    def _runs(self) -> dict[tuple[str, str, str], dict[str, Floats]]:
        rows: dict[tuple[str, str, str], Rows] = {}
        for task in sorted(self.settings.tasks, key=lambda task: task.start):
            rows.setdefault((task.table, task.contender, task.epsilon), []).extend(self.done[task])
        return {
            key: {name: np.array([row[name] for row in found], dtype=float) for name in found[0]}
            for key, found in rows.items()
        }

    def runs(self, table: str, contender: str, epsilon: Fraction) -> Mapping[str, Floats]:
        """Every measured number of every run, by name."""
        return self._runs[table, contender, exact_text(epsilon)]

    def spread(self, measure: str, table: str, contender: str, epsilon: Fraction) -> RunSpread:
        values = MEASURES[measure](subject(table), self.runs(table, contender, epsilon))
        return RunSpread(float(values.mean()), float(values.std(ddof=1)), len(values))

    def ratio(self, table: str, other: str, epsilon: Fraction) -> float:
        """Margrave's mean maximal L1 error over another contender's: below 1 Margrave is better."""
        mine, theirs = (self.spread("largest", table, one, epsilon).mean for one in ("margrave", other))
        return mine / theirs

    def ratio_error(self, table: str, other: str, epsilon: Fraction) -> float:
        """The standard error of a ratio, to first order."""
        parts = [self.spread("largest", table, one, epsilon) for one in ("margrave", other)]
        return self.ratio(table, other, epsilon) * sqrt(sum((part.error / part.mean) ** 2 for part in parts))

    def worst_ratio(self, table: str, other: str) -> tuple[Fraction, float]:
        """The ε at which the ratio is largest, and the ratio there."""
        ratios = {epsilon: self.ratio(table, other, epsilon) for epsilon in self.settings.epsilons}
        worst = max(ratios, key=lambda epsilon: ratios[epsilon])
        return worst, ratios[worst]

    def holds(self, criterion: str, table: str, contender: str, epsilon: Fraction) -> float:
        """In which part of the runs one criterion holds, or with ``all`` every one of them."""
        runs, whose = self.runs(table, contender, epsilon), subject(table)
        names = CRITERIA if criterion == "all" else (criterion,)
        return float(np.logical_and.reduce([CRITERIA[name](whose, runs) for name in names]).mean())

    def holds_error(self, criterion: str, table: str, contender: str, epsilon: Fraction) -> float:
        """The standard error of that part, as if one good and one bad run were added: few runs are never certain."""
        runs = self.settings.runs
        part = (self.holds(criterion, table, contender, epsilon) * runs + 1) / (runs + 2)
        return sqrt(part * (1 - part) / (runs + 2))

    def usable_from(self, criterion: str, table: str, contender: str) -> Fraction | None:
        """The least ε of the grid from which on a criterion holds often enough; None if it does not at the largest."""
        return self._from(lambda epsilon: self.holds(criterion, table, contender, epsilon) >= OFTEN)

    def below_sampling_from(self, table: str, contender: str) -> Fraction | None:
        """The least ε of the grid from which on the mean maximal L1 is at most that of a sample of as many records."""
        most = subject(table).sampling
        return self._from(lambda epsilon: self.spread("largest", table, contender, epsilon).mean <= most)

    def _from(self, good: Callable[[Fraction], bool]) -> Fraction | None:
        """The least ε of the grid that is good, as all larger ones are."""
        found = None
        for epsilon in reversed(self.settings.epsilons):
            if not good(epsilon):
                break
            found = epsilon
        return found

    def theorem_3_violated(self, contender: str, failure: float = 0.05) -> float:
        """In which part of the runs on Journey to work the L1 bound of Theorem 3, as printed, does not hold.

        It should be at most ``failure``, the paper's δ: the bound is ``84.5/ε · log(169/δ) + 169`` there.
        """
        whose = subject("journey")
        widest = max(whose.domain.cells(margin) for margin in whose.wanted)
        factor = 2 * widest * whose.terms / whose.domain.cells()
        broken = [
            self.runs("journey", contender, epsilon)["largest"]
            > factor / float(epsilon) * log(whose.terms / failure) + whose.terms
            for epsilon in self.settings.epsilons
        ]
        return float(np.mean(broken))

    @property
    def reference(self) -> Fraction:
        """The ε that texts and tables quote: 1, or the nearest one of the grid."""
        return min(self.settings.epsilons, key=lambda epsilon: abs(epsilon - 1))

    def as_dict(self) -> dict[str, Any]:
        """Everything that the figures show, for other programs."""
        return {
            "study": "yang2012",
            **self.settings.as_dict(),
            "not_private": "the noise is seeded; the data is public",
            "theorem_3_violated": {one: self.theorem_3_violated(one) for one in ("printed", "corrected")},
            "tables": {table: self._table(table) for table in TABLES},
        }

    def _table(self, table: str) -> dict[str, Any]:
        whose = subject(table)
        return {
            "records": whose.total,
            "model": whose.letters,
            "printed_scale": {
                "real_epsilon_over_stated": {
                    "add-remove": float(real_factor(whose)),
                    "replace": float(replaced_factor(whose)),
                },
                "private_as_printed": private_as_printed(whose),
            },
            "contenders": {contender: self._series(table, contender) for contender in CONTENDERS},
            "usable_from": {
                contender: {name: _plain(self.usable_from(name, table, contender)) for name in (*CRITERIA, "all")}
                for contender in CONTENDERS
            },
            "maximal_l1_of_sampling": whose.sampling,
            "below_sampling_from": {one: _plain(self.below_sampling_from(table, one)) for one in CONTENDERS},
            "part_of_good_runs": {
                contender: [self.holds("all", table, contender, epsilon) for epsilon in self.settings.epsilons]
                for contender in CONTENDERS
            },
            "ratio_of_mean_maximal_l1": {
                other: [self.ratio(table, other, epsilon) for epsilon in self.settings.epsilons] for other in RIVALS
            },
        }

    def _series(self, table: str, contender: str) -> dict[str, dict[str, list[float]]]:
        series = {}
        for measure in MEASURES:
            spreads = [self.spread(measure, table, contender, epsilon) for epsilon in self.settings.epsilons]
            if not any(np.isnan(one.mean) for one in spreads):
                series[measure] = {
                    "mean": [one.mean for one in spreads],
                    "deviation": [one.deviation for one in spreads],
                }
        return series


def _plain(epsilon: Fraction | None) -> float | None:
    return None if epsilon is None else float(epsilon)
