"""Looking where to measure: rounds of private selection, each followed by a measurement of what was selected.

In each round a graphical model is fitted to all noisy answers so far (no data), rounded to whole numbers, and every
candidate table ``c`` gets the whole-number loss

    loss(c) = w_c · (a_c − Σ |x_c − m_c|)

with ``x_c`` its exact counts, ``m_c`` those of the model, ``a_c`` the error that is expected to be left after
measuring it (with its part of the rest of the budget, if there is one), and ``w_c`` how much it matters. Given the
answers so far, only ``x_c`` depends on the data, and one record that comes or goes moves one cell of it by one: so
every loss moves by at most ``w_c`` (twice that where a record is replaced), and the selection is private at its price
(docs/adaptive.md). Which tables can be selected, and how large the model may grow, follows from public numbers and
from earlier answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Margin
from margrave.algebra.query import Query, answer
from margrave.budget.events import Measurement, Round
from margrave.crossing import Answer, Measured
from margrave.errors import RefusedError
from margrave.noise import Generator, sample_many
from margrave.noise.selection import permute_and_flip, select
from margrave.planning.forecast.accuracy import Accuracy
from margrave.planning.plan import Plan
from margrave.progress import Progress, counted
from margrave.reconstruct.graphical.looked import SoFar, divided, so_far
from margrave.reconstruct.graphical.selected import Learned

_ABSOLUTE = sqrt(2 / pi)
"""The mean absolute value of a normal error of size 1."""
_WITH_REST = 2
"""A selected table gets about as much of the rest as of its round."""


def look(
    plan: Plan,
    exact: Callable[[Margin], NDArray[np.int64]],
    fixed: Sequence[Answer],
    known: Mapping[Margin, NDArray[np.int64]],
    generator: Generator,
    progress: Progress | None = None,
) -> tuple[Answer, ...]:
    """Do the rounds of a plan. ``exact``: the counts of a candidate. Returns all answers, the fixed ones first."""
    answers, told = list(fixed), None
    step = counted(progress, len(plan.rounds))
    for one in plan.rounds:
        told = so_far(plan, Measured(tuple(answers), known, generator.private), told)
        chosen = choose(seen(plan, told), one, exact, generator)
        counts = exact(chosen).reshape(plan.domain.shape(chosen))
        noise = one.noise.sample(counts.size, generator).reshape(counts.shape)
        answers.append(Answer(Measurement(Query(chosen), one.noise, one.selection), counts + noise))
        step()
    return (*answers, *_ended(plan, exact, Measured(tuple(answers), known, generator.private), generator, told))


def _ended(
    plan: Plan,
    exact: Callable[[Margin], NDArray[np.int64]],
    before: Measured,
    generator: Generator,
    told: SoFar | None,
) -> list[Answer]:
    """What the rest of the budget is spent on: which tables get how much of it follows from the answers before."""
    if not plan.rest:
        return []
    chosen = divided(plan, so_far(plan, before, told))
    if sum(one.parts for one in chosen) != plan.rest.parts:
        raise RefusedError("the rest of the budget was not divided as a whole: nothing is measured with it")
    drawn = dict(sample_many([(one.noise, one.query.outputs(plan.domain)) for one in chosen], generator))
    found = []
    for number, one in enumerate(chosen):
        truth = answer(plan.domain, one.query, exact(one.query.margin))
        found.append(Answer(one, truth + drawn[number].reshape(truth.shape)))
    return found


def choose(view: ModelView, one: Round, exact: Callable[[Margin], NDArray[np.int64]], generator: Generator) -> Margin:
    """The selection of a round."""
    losses = np.array([loss(view, margin, exact(margin), one) for margin in view.offered], dtype=object)
    return [*view.offered][_draw(one, losses, generator)]


def _draw(one: Round, losses: NDArray[np.object_], generator: Generator) -> int:
    rule = permute_and_flip if one.selection.pure else select
    return rule(losses, one.selection.rate, generator)


@dataclass(frozen=True, eq=False)
class ModelView:
    """All that a round goes by but the data: what follows from the answers so far.

    ``offered``: the tables that can be selected, each with its weight and the model's counts of it. ``measured``: how
    many times as precisely as in its round a selected table is measured in the end.
    """

    accuracy: Accuracy
    offered: Mapping[Margin, tuple[int, Floats]]
    measured: int


def seen(plan: Plan, told: SoFar) -> ModelView:
    """What the answers so far tell a round."""
    return ModelView(told.fit.accuracy, _offered(plan, told.learned), _WITH_REST if plan.rest else 1)


def _offered(plan: Plan, told: Learned) -> dict[Margin, tuple[int, Floats]]:
    """The tables that a model can still take in, with their weights and the model's counts of them. It knows no data.

    What it has taken in already is not open where a rest is left to measure it better, unless nothing else is.
    """
    found = {}
    for margin, weight in zip(plan.candidates.margins, plan.candidates.weights, strict=True):
        if told.has_room(margin):
            try:
                found[margin] = (weight, told.model.margin(margin))
            except RefusedError:
                continue  # The model says nothing about it within its room: it cannot be compared.
    others = {margin: view for margin, view in found.items() if margin not in told.taken}
    return others if plan.rest and others else found


def loss(view: ModelView, margin: Margin, counts: Integers, one: Round) -> int:
    """How little is to be gained by measuring a table: a whole number that one record moves by at most its weight."""
    weight, model = view.offered[margin]
    wrong = int(np.abs(counts.reshape(model.shape) - np.rint(model).astype(np.int64)).sum())
    left = expected(model, view.accuracy.cell_variance(margin), one.noise.variance / view.measured)
    return weight * (round(left) - wrong)


def expected(model: Floats, before: float, noise: float) -> float:
    """The error that is about left in a table once it is measured: no cell is further off than it is large."""
    after = 1 / (1 / before + 1 / noise) if before > 0 else 0.0
    return float(np.minimum(_ABSOLUTE * sqrt(after), model).sum())
