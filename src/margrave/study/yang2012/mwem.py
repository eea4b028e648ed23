"""MWEM: multiplicative weights with the exponential mechanism, which the paper's conclusions call promising.

M. Hardt, K. Ligett, F. McSherry: A Simple and Practical Algorithm for Differentially Private Data Release, 2010/2012.
It keeps a table A over all attributes, at first uniform with sum n. In each of T rounds

    1. a query q is selected by the exponential mechanism with ε/2T, by its score Σ |q(B) − q(A)| with B the true table;
    2. it is measured: m = q(B) + noise, with discrete Laplace noise of scale 2T/ε on each answer, cut off at 0 and n;
    3. weights are multiplied: A(x) ∝ A(x) · exp((m − q(A)) / 2n) for the answer of q that counts the cell x. This is
       done for all measurements so far, one after another, in ``PASSES`` passes: the authors' improved variant.

What is released is the last A, as whole numbers. A query is a wanted table (`table_queries`), or one cell of one
(`cell_queries`).

*Price.* n is told, as in the original: a public parameter, the same for both of two neighbours B. Here it is the true
number of records, which is therefore not protected. Given n and the answers so far A is fixed, and it is rounded to
whole numbers before it is compared. One record that is added or removed changes one answer of q(B) by one, or none: so
Δ = 1 both for every score and for the answers in L1. The exponential mechanism at rate r, P ∝ exp(r · score), costs
2rΔ, and noise of scale s costs Δ/s. With r = ε/4T and s = 2T/ε a round costs ε/2T + ε/2T, and all T rounds cost ε.

For experiments with data that is not confidential: the tables of the study are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.table import Table
from margrave.errors import UsageError
from margrave.noise import DiscreteLaplace, Generator
from margrave.noise.selection import select
from margrave.reconstruct.whole import whole

PASSES = 1000
"""Passes over all measurements in a round: with 100 the error on Journey to work is larger by two thirds at ε = 1."""


@dataclass(frozen=True)
class Rounds:
    """What is fixed before data is opened: the budget ε and the number T of rounds."""

    epsilon: Fraction
    count: int

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or self.count < 1:
            raise UsageError("MWEM needs a budget above zero and at least one round")

    @property
    def rate(self) -> Fraction:
        """r = ε/4T: a query is selected with probability proportional to exp(r · score)."""
        return self.epsilon / (4 * self.count)

    @cached_property
    def noise(self) -> DiscreteLaplace:
        """The noise of a measured answer, of scale 2T/ε."""
        return DiscreteLaplace.at_least(2 * self.count / self.epsilon)

    @property
    def cost(self) -> Fraction:
        """The exact ε of all rounds, for one record that is added or removed."""
        return self.count * (2 * self.rate + self.noise.price(1, 1))


@dataclass(frozen=True, eq=False)
class CellSums:
    """A query: ``labels`` says for each cell of the full table, in a row, which answer counts it.

    Answers are 0 … ``answers`` − 1; the label ``answers`` stands for none.
    """

    labels: Integers
    answers: int

    def of(self, table: Floats | Integers) -> Floats:
        """The answers about a full table, in a row."""
        found = np.bincount(self.labels, table, self.answers + 1)
        return np.asarray(found[: self.answers], dtype=np.float64)

    def whole(self, table: Floats | Integers) -> Integers:
        """The same as whole numbers: exact for counts, rounded for a model."""
        return np.rint(self.of(table)).astype(np.int64)

    def spread(self, values: Floats) -> Floats:
        """For each cell of the full table the value of the answer that counts it, or zero."""
        spread: Floats = np.append(values, 0.0)[self.labels]
        return spread


@dataclass(frozen=True, eq=False)
class Answered:
    """A query with its noisy answers, none below 0 or above n."""

    query: CellSums
    noisy: Integers


def table_queries(domain: Domain, wanted: Sequence[Margin]) -> list[CellSums]:
    """Whole tables: a record is in one cell of each, so that all cells of a table cost no more than one of them."""
    cells = np.indices(domain.shape()).reshape(len(domain), -1)
    return [
        CellSums(
            np.ravel_multi_index(tuple(cells[domain.position(name)] for name in margin), domain.shape(margin)),
            domain.cells(margin),
        )
        for margin in wanted
    ]


def cell_queries(domain: Domain, wanted: Sequence[Margin]) -> list[CellSums]:
    """The cells of the wanted tables, each a query of its own: the linear counting queries of the original."""
    return [
        CellSums((table.labels != cell).astype(np.int64), 1)
        for table in table_queries(domain, wanted)
        for cell in range(table.answers)
    ]


def scores(queries: Sequence[CellSums], truth: Integers, model: Floats) -> list[int]:
    """By how much the model is wrong about each query: Σ |q(B) − q(A)| in whole numbers, moved by a record by ≤ 1."""
    return [int(np.abs(query.whole(truth) - query.whole(model)).sum()) for query in queries]


def selected(queries: Sequence[CellSums], found: Sequence[int], rounds: Rounds, generator: Generator) -> CellSums:
    """The query of a round by the exponential mechanism: the larger a score that was ``found``, the likelier."""
    return queries[select(np.array([-score for score in found], dtype=object), rounds.rate, generator)]


def measured(query: CellSums, truth: Integers, rounds: Rounds, total: int, generator: Generator) -> Answered:
    """The noisy answers to a selected query."""
    noisy = query.whole(truth) + rounds.noise.sample(query.answers, generator)
    return Answered(query, np.clip(noisy, 0, total))


def mwem(
    truth: Integers, queries: Sequence[CellSums], rounds: Rounds, total: int, generator: Generator, passes: int = PASSES
) -> Floats:
    """The last model A, a row of cells with sum ``total``, of true counts in a row."""
    model, answered = np.full(truth.size, total / truth.size), list[Answered]()
    for _ in range(rounds.count):
        query = selected(queries, scores(queries, truth, model), rounds, generator)
        answered.append(measured(query, truth, rounds, total, generator))
        model = multiplied(model, answered, total, passes)
    return model


def multiplied(model: Floats, answered: Sequence[Answered], total: int, passes: int) -> Floats:
    """The model after passes of multiplicative updates, in logarithms, so that no weight is lost or overflows."""
    logs = np.log(np.maximum(model, np.finfo(float).tiny))
    for _ in range(passes):
        for one in answered:
            logs = logs + one.query.spread((one.noisy - one.query.of(model)) / (2 * total))
            logs -= logs.max()
            model = np.exp(logs)
            model *= total / model.sum()
    return model


def mwem_release(truth: Table, wanted: Sequence[Margin], rounds: Rounds, seed: str) -> Table:
    """The table that MWEM releases with whole tables as queries, in whole numbers; it is told how many records."""
    domain, total = truth.domain, int(truth.total)
    row = truth.counts.ravel().astype(np.int64)
    found = mwem(row, table_queries(domain, wanted), rounds, total, Generator.seeded(seed))
    return Table(domain, domain.names, whole(found.reshape(domain.shape()), domain, wanted).table)
