"""A full table from its published tables: by a solver of whole numbers, the nearest one, or what Margrave publishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, hstack, identity, vstack

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Domain, Margin
from margrave.errors import RefusedError
from margrave.noise import Generator
from margrave.study.attacks.subjects import Subject

BLOCK = 100
"""People in a block."""
_SECONDS = 20.0


def tables_up_to(domain: Domain, ways: int) -> tuple[Margin, ...]:
    """All sets of so many attributes; tables of fewer follow from these."""
    return tuple(combinations(domain.names, min(ways, len(domain))))


def incidence(domain: Domain, margins: Sequence[Margin]) -> csr_array:
    """One row for each cell of each table, one column for each cell of the full table."""
    shape, cells = domain.shape(), domain.cells()
    places = np.indices(shape).reshape(len(shape), cells)
    parts = []
    for margin in margins:
        axes = [domain.position(name) for name in margin]
        row = np.ravel_multi_index([places[axis] for axis in axes], [shape[axis] for axis in axes])
        parts.append(csr_array((np.ones(cells), (row, np.arange(cells))), shape=(domain.cells(margin), cells)))
    return vstack(parts, format="csr")


@dataclass(frozen=True, eq=False)
class Solved:
    """A full table with the published counts; ``unique``: there is no other (None: not decided in time)."""

    counts: Floats
    unique: bool | None


def solve(matrix: csr_array, answers: Floats, likely: Floats) -> Solved:
    """The most likely whole table that has the answers exactly, ``likely`` being how likely each record is."""
    cells = matrix.shape[1]
    # A cell of the full table below an empty cell of a published one is empty.
    empty = (matrix.T @ (answers == 0).astype(float)) > 0
    limits = Bounds(0, np.where(empty, 0.0, float(answers.max())))
    rules = LinearConstraint(matrix, answers, answers)
    found = milp(-np.log(likely), constraints=rules, bounds=limits, integrality=np.ones(cells), options=_options())
    if found.x is None:
        raise RefusedError("the solver found no table with the published counts in time: take a smaller block")
    counts = np.rint(found.x)
    return Solved(counts, _unique(rules, limits, cells))


def _options() -> dict[str, float]:
    return {"time_limit": _SECONDS, "mip_rel_gap": 0.0}


def _unique(rules: LinearConstraint, limits: Bounds, cells: int) -> bool | None:
    """Whether no other whole table has the answers: then the least and the largest of any weighted sum are the same.

    With random weights two different tables have the same sum with a probability of about one in a million.
    """
    weights = 1.0 + Generator.seeded("weights").below(1 << 20, cells)
    ends = []
    for sign in (1.0, -1.0):
        found = milp(sign * weights, constraints=rules, bounds=limits, integrality=np.ones(cells), options=_options())
        if found.x is None or found.status != 0:
            return None
        ends.append(np.rint(found.x))
    return bool((ends[0] == ends[1]).all())


def nearest(matrix: csr_array, answers: Floats, total: int) -> Floats:
    """A non-negative table with the least sum of absolute errors, and so many records, rounded."""
    rows, cells = matrix.shape
    both = hstack([matrix, identity(rows), -identity(rows)], format="csr")
    whole = csr_array(np.concatenate([np.ones(cells), np.zeros(2 * rows)])[None, :])
    goal = np.concatenate([np.zeros(cells), np.ones(2 * rows)])
    found = linprog(goal, A_eq=vstack([both, whole]), b_eq=np.append(answers, total), method="highs")
    return np.asarray(np.rint(found.x[:cells]))


def overlap(truth: Integers, guess: npt.ArrayLike) -> float:
    """The share of records that are in both tables."""
    return float(np.minimum(truth.ravel(), np.maximum(0, np.ravel(guess))).sum() / truth.sum())


def margrave_table(block: Subject, ways: int, epsilon: Fraction, seed: str) -> Floats:
    """What a release of all tables of so many attributes publishes: a whole table."""
    plan = block.plan(tables_up_to(block.domain, ways), epsilon, strategy="residual")
    return np.asarray(block.released(plan, seed).published(block.domain.names), dtype=np.float64)
