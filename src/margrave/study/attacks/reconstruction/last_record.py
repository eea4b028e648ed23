"""The record of one person, told by who knows everybody else in the block: the strongest attacker there is.

She weighs every record that the person may have by how frequent it is in the rest of the population, and by how likely
it makes what was published. No guess is right more often; so here a bound on guesses means something, where one on
records recovered from whole tables says nothing, because most of them come out by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Margin
from margrave.budget.units import PureDP
from margrave.noise import DiscreteLaplace, Generator, Noise
from margrave.planning.promise.advantage import guessed
from margrave.study.attacks.subjects import Subject
from margrave.study.audit.neighbours import answers

MOST_SUPPOSED = 64
"""Records that a person may have, at most."""
_LEAST = 1e-300


@dataclass(frozen=True)
class Told:
    """How often the last record is told rightly, from three kinds of tables, by guessing, and at most by ε."""

    exact: float
    wrong: float
    margrave: float
    chance: float
    bound: float


def mean_of(found: Sequence[Told]) -> Told:
    """The mean over several blocks."""
    return Told(*(float(np.mean(shares)) for shares in zip(*map(astuple, found), strict=True)))


@dataclass(frozen=True, eq=False)
class _Published:
    """Numbers with noise. ``of_cell``: for each possible record, a row, what it adds to each of them."""

    noise: Noise
    of_cell: Integers

    def evidence(self, drawn: Integers) -> Floats:
        """For each true record (row) and each supposed one (column) the log-likelihood of what was published, if
        ``drawn`` was added to it."""
        if_true = drawn + self.of_cell[:, None, :] - self.of_cell[None, :, :]
        return np.asarray(np.log(np.maximum(self.noise.pmf(if_true), _LEAST)).sum(axis=2))


def last_record(
    block: Subject, likely: Floats, tables: Sequence[Margin], epsilon: Fraction, runs: int, seed: str
) -> Told:
    """Everybody in the block is the last one in turn, under so many draws; ``likely``: how likely each record is."""
    people = block.table().ravel()
    codes = np.indices(block.domain.shape()).reshape(len(block.domain), -1).T
    exact = np.concatenate([_cells(block, codes, table) for table in tables], axis=1)
    generator = Generator.seeded(f"{seed} last")
    each = DiscreteLaplace.at_least(1 / epsilon)
    alone = [_Published(each, exact)]
    plan = block.plan(tables, epsilon, strategy="residual")
    parts = zip(
        plan.measurements, zip(*(answers(plan, [tuple(one)]) for one in codes.tolist()), strict=True), strict=True
    )
    ours = [_Published(one.noise, np.stack([np.ravel(cell) for cell in cells])) for one, cells in parts]
    same = (exact[:, None, :] == exact[None, :, :]).all(axis=2)
    said = np.where(same, likely, 0).argmax(axis=1)
    shares = [
        np.mean([_right(people, likely, kind, generator) for _ in range(runs)]) if kind else _share(people, said)
        for kind in ([], alone, ours)
    ]
    first = int(likely.argmax())
    # Everybody in turn: the truth is drawn from the block itself, where some record may be more frequent than outside.
    before = min(max(float(likely.max()), float(people.max() / people.sum())), 1 - 1e-9)
    chance = float(people[first] / people.sum())
    known, wrong, ours_told = map(float, shares)
    return Told(known, wrong, ours_told, chance, guessed(PureDP(epsilon), 2, before))


def _right(people: Integers, likely: Floats, published: Sequence[_Published], generator: Generator) -> float:
    """The share of the block that is told rightly from one release."""
    score = np.log(likely)[None, :]
    for one in published:
        score = score + one.evidence(one.noise.sample(one.of_cell.shape[1], generator))
    return _share(people, score.argmax(axis=1))


def _share(people: Integers, said: Integers) -> float:
    return float(people[said == np.arange(len(people))].sum() / people.sum())


def _cells(block: Subject, codes: Integers, table: Margin) -> Integers:
    """What each record adds to each cell of a table."""
    axes, shape = [block.domain.position(name) for name in table], block.domain.shape(table)
    place = np.ravel_multi_index([codes[:, axis] for axis in axes], shape)
    return np.asarray(np.eye(int(np.prod(shape)), dtype=np.int64)[place])
