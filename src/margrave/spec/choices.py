"""The words that a spec may choose between, each list in one place."""

from __future__ import annotations

from typing import Literal, get_args

from margrave.budget.neighbours import Neighbours as Neighbours

Strategy = Literal["auto", "search", "residual", "fourier", "efron-stein", "margins", "base", "adaptive"]
Objective = Literal["mean", "max"]
Nonnegative = Literal[
    "auto", "least-squares", "linear-program", "simple", "simple-table", "simple-margins", "none", "records"
]
Rounding = Literal["controlled", "nearest", "none"]
Induced = Literal["worst-case", "positive", "markov"]
Engine = Literal["auto", "local", "sql", "spark"]

AUTO: Engine = "auto"

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
NONNEGATIVE: tuple[Nonnegative, ...] = get_args(Nonnegative)
ROUNDING: tuple[Rounding, ...] = get_args(Rounding)
NEIGHBOURS: tuple[Neighbours, ...] = get_args(Neighbours)
INDUCED: tuple[Induced, ...] = get_args(Induced)
ENGINES: tuple[Engine, ...] = get_args(Engine)
