"""How wrong releases of a spec are at several budgets, strategies and methods, beside the forecast. Compares with the
truth, so only for data that the spec declares not confidential.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod, sqrt
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from margrave.algebra.domain import Margin
from margrave.algebra.table import Table
from margrave.budget.units import amount
from margrave.crossing import ExactTables
from margrave.errors import RefusedError, UsageError, suggest
from margrave.models.model import Model
from margrave.pipeline import count, release
from margrave.planning.plan import Plan
from margrave.planning.target import sweep
from margrave.progress import Progress
from margrave.publish.release import Release
from margrave.reconstruct.publishable import publishable
from margrave.score.measures import margin_errors
from margrave.score.risk import frechet_bounds, small_cells
from margrave.spec.choices import NONNEGATIVE, STRATEGIES, Nonnegative, Strategy
from margrave.spec.spec import Spec

if TYPE_CHECKING:
    import pandas as pd


LARGEST = 1 << 20
"""The most cells of a full table whose small counts are looked at."""
SMALL = 3
"""Counts from 1 to this are small."""


@dataclass(frozen=True)
class Comparison:
    """What to compare: budgets (ε or ρ, as in the spec), strategies, methods of non-negativity, and how many runs."""

    budgets: tuple[Fraction, ...]
    strategies: tuple[Strategy, ...] = ("auto",)
    methods: tuple[Nonnegative, ...] = ("auto", "none")
    runs: int = 10
    seed: int | str = 1

    def __post_init__(self) -> None:
        for name in ("budgets", "strategies", "methods"):
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))
            if not getattr(self, name):
                raise UsageError(f"there are no {name} to compare")
        if any(value <= 0 for value in self.budgets):
            raise UsageError("every budget must be greater than 0")
        for names, known, what in (
            (self.strategies, STRATEGIES, "strategy"),
            (self.methods, NONNEGATIVE, "method of non-negativity"),
        ):
            for name in names:
                if name not in known:
                    raise UsageError(f"unknown {what} {name!r}{suggest(name, known)}; there are {', '.join(known)}")
        if self.runs < 1:
            raise UsageError(f"runs ({self.runs}) must be at least 1")


@dataclass(frozen=True)
class TableError:
    """The error of one table, over all runs.

    ``forecast_l1`` and ``forecast_rmse`` are what the plan promises of the unbiased table: its mean L1 error, and the
    root mean squared error of a cell. ``l1_error`` is the standard error of ``l1``, the mean over runs.
    """

    strategy: str
    budget: Fraction
    method: str
    table: Margin
    forecast_l1: float
    l1: float
    l1_error: float
    forecast_rmse: float
    rmse: float


@dataclass(frozen=True)
class Risk:
    """One point of a risk–utility curve: means over all runs.

    ``mean_l1``: over the wanted tables. Of the full published table: ``uniques`` cells hold exactly one record in
    truth, ``shown`` such cells are published, ``matched`` are both; ``small`` cells hold 1 to 3 records, of which
    ``small_matched`` are published exactly and ``pinned`` follow, rightly, from the published tables alone, whose
    bounds on them meet. Nones where no full table is published, or where it is too large.
    """

    strategy: str
    budget: Fraction
    method: str
    mean_l1: float
    uniques: int | None
    shown: float | None
    matched: float | None
    small: int | None
    small_matched: float | None
    pinned: float | None


@dataclass(frozen=True)
class Evaluation:
    """All comparisons. ``exact_pinned``: how many small cells the exact tables would give away."""

    question: Comparison
    unit: str
    errors: tuple[TableError, ...]
    risks: tuple[Risk, ...]
    exact_pinned: int | None

    def errors_frame(self) -> pd.DataFrame:
        """One row for each strategy, budget, method and table."""
        return _frame(self.errors)

    def risks_frame(self) -> pd.DataFrame:
        """One row for each strategy, budget and method."""
        return _frame(self.risks)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "unit": self.unit,
            "runs": self.question.runs,
            "errors": [_plain(one) for one in self.errors],
            "risks": [_plain(one) for one in self.risks],
            "exact_pinned": self.exact_pinned,
        }


def evaluate(spec: Spec, question: Comparison, data: Any = None, *, progress: Progress | None = None) -> Evaluation:
    """Release again and again, each time with noise from a seed, and compare with the truth.

    All methods of one strategy and budget see the same noise, so their differences are their own.
    """
    if spec.confidential:
        raise RefusedError(
            "evaluating compares releases with the exact tables, which needs data that is not confidential: say so in "
            "the spec with 'confidential = false' under [data], or evaluate on data that may be public"
        )
    truth, full = _truth(spec, data)
    planned = [
        plan for strategy in question.strategies for plan in sweep(replace(spec, strategy=strategy), question.budgets)
    ]
    for plan in planned:
        for method in question.methods:
            publishable(_with_method(plan, method))
    errors: list[TableError] = []
    risks: list[Risk] = []
    for number, plan in enumerate(planned):
        strategy = question.strategies[number // len(question.budgets)]
        runs = []
        for run in range(question.runs):
            if progress is not None:
                progress(number * question.runs + run, len(planned) * question.runs)
            runs.append(
                release(plan, data, seed=f"evaluate {question.seed} {strategy} {amount(plan.spec.budget)} {run}")
            )
        for method in question.methods:
            found = [Release(_with_method(plan, method), one.measured) for one in runs]
            errors += _errors(strategy, method, plan, found, truth)
            risks.append(_risk(strategy, method, plan, found, truth, full))
    exact = None if full is None else _pinned(_model(planned[0], full), full, full)
    unit = "rho" if "rho" in spec.budget.as_dict() else "epsilon"
    return Evaluation(question, unit, tuple(errors), tuple(risks), exact)


def _with_method(plan: Plan, method: Nonnegative) -> Plan:
    return replace(plan, spec=replace(plan.spec, nonnegative=method))


def _truth(spec: Spec, data: Any) -> tuple[ExactTables, Table | None]:
    """The exact wanted tables, and the full table of all attributes that they use if it is not too large."""
    used = spec.domain.margin(name for margin in spec.margins for name in margin)
    small = prod(spec.domain.shape(used)) <= LARGEST
    exact = count(spec, data, tables=[*spec.margins, *([used] if small else [])])
    full = Table(spec.domain.restrict(used), used, exact.counts[used]) if small else None
    return exact, full


def _errors(
    strategy: str, method: str, plan: Plan, runs: Sequence[Release], truth: ExactTables
) -> Iterator[TableError]:
    for row in plan.forecast:
        exact = truth.table(row.margin).counts
        off = np.array([one.published(row.margin) - exact for one in runs])
        sums = np.abs(off).reshape(len(runs), -1).sum(axis=1)
        error = float(sums.std(ddof=1)) / sqrt(len(runs)) if len(runs) > 1 else 0.0
        yield TableError(
            strategy=strategy,
            budget=amount(plan.spec.budget),
            method=method,
            table=row.margin,
            forecast_l1=row.expected_l1,
            l1=float(sums.mean()),
            l1_error=error,
            forecast_rmse=row.std_error,
            rmse=float(np.sqrt((off**2).mean())),
        )


def _risk(
    strategy: str, method: str, plan: Plan, runs: Sequence[Release], truth: ExactTables, full: Table | None
) -> Risk:
    tables = [truth.table(margin) for margin in truth.counts if margin in plan.spec.margins]
    l1 = np.mean(
        [
            margin_errors(tables, [Table(truth.domain, one.margin, run.published(one.margin)) for one in tables]).mean
            for run in runs
        ]
    )
    key = (strategy, amount(plan.spec.budget), method, float(l1))
    if full is None or any(run.publication is None for run in runs):
        return Risk(*key, None, None, None, None, None, None)
    model, counted = _model(plan, full), []
    for run in runs:
        assert run.publication is not None
        seen = Table(full.domain, full.margin, run.publication.table)
        one, few = small_cells(full, seen, 1), small_cells(full, seen, SMALL)
        counted.append((one.shown, one.matched, few.matched, _pinned(model, full, seen)))
    shown, matched, small_matched, pinned = np.mean(counted, axis=0).tolist()
    return Risk(*key, one.true, shown, matched, few.true, small_matched, pinned)


def _model(plan: Plan, full: Table) -> Model:
    return Model(full.domain, tuple(plan.spec.margins))


def _pinned(model: Model, truth: Table, seen: Table) -> int:
    """How many small cells of the truth are given, rightly, by bounds that follow from the tables of ``seen``."""
    bounds = frechet_bounds(model, seen)
    right = (bounds.low == bounds.high) & (bounds.low == truth.counts)
    return int((right & (truth.counts >= 1) & (truth.counts <= SMALL)).sum())


def _plain(one: TableError | Risk) -> dict[str, Any]:
    values: Mapping[str, Any] = vars(one)
    return {name: _word(value) for name, value in values.items()}


def _word(value: Any) -> Any:
    if isinstance(value, Fraction):
        return float(value)
    return list(value) if isinstance(value, tuple) else value


def _frame(rows: Sequence[TableError | Risk]) -> pd.DataFrame:
    import pandas as pd

    plain = (_plain(one) for one in rows)
    return pd.DataFrame(
        [{name: ",".join(value) if isinstance(value, list) else value for name, value in row.items()} for row in plain]
    )


def __getattr__(name: str) -> Any:
    """The name that :class:`Comparison` had in 0.1.0, for one more version."""
    if name != "Question":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn("Question is called Comparison now", DeprecationWarning, stacklevel=2)
    return Comparison
