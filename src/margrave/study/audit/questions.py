"""The audit of a data set for questions: what units that are made up move answers by, through the real engine.

No price of a question is used but the noise that is drawn: sums of neighbouring data sets are compared with the noise
taken out, then answers with the noise are sampled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, islice, pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, roots_legendre

from margrave.algebra.arrays import Floats
from margrave.budget.units import ZCDP, PureDP, amount
from margrave.errors import RefusedError, UsageError
from margrave.noise import Generator
from margrave.pipeline import rehearsal
from margrave.planning.questions.data_spec import DataSpec, TableSpec
from margrave.planning.questions.kinds import Days, Kind, Numbers, Values, size_of
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.parts import Partition
from margrave.planning.questions.language.public import Lookup, PublicColumn, PublicTable
from margrave.planning.questions.price.mechanisms import Price, Selected, Tree
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.partition import PartPurse, PricedPartition
from margrave.study.audit.bounds import loss_at_least
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.mechanism import log_ratio
from margrave.study.audit.units import Unit, as_declared, frames, units, within

EPSILON, RHO = PureDP(Fraction(1)), ZCDP(Fraction(1, 2))
_MOST_CELLS = 4096
_ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0)

_HALF = e.Numeral(Fraction(1, 2))

Sums = npt.NDArray[Any]


def aggregates(spec: DataSpec) -> Iterator[a.Aggregate]:
    """Questions of every kind about every table, about two tables joined, and about what later operators make more."""
    for table in spec.tables:
        yield from _about(r.Rows(table.name), table)
        yield from _more(r.Rows(table.name), table)
    if len(spec.tables) > 1:
        one, other = spec.tables[:2]
        joined = r.Join(r.Rows(one.name), r.Select(r.Rows(other.name), (r.Named("joined", _value(other)),)))
        yield a.Count(joined)
        yield a.Count(joined, _keys(one))


def _value(table: TableSpec) -> e.Value:
    return e.Column(table.columns[0].name)


def _keys(table: TableSpec) -> tuple[r.Key, ...]:
    name = _first(table, Values)
    return () if name is None else (r.Key(name, e.Column(name)),)


def _first(table: TableSpec, *kinds: type[Kind]) -> str | None:
    """The column of these kinds with the fewest values."""
    fitting = [one for one in table.columns if isinstance(one.kind, kinds) and size_of(one.kind) > 1]
    return min(fitting, key=lambda one: size_of(one.kind)).name if fitting else None


def _about(rows: r.Relation, table: TableSpec) -> Iterator[a.Aggregate]:
    keys = _keys(table)
    yield a.Count(rows)
    yield a.Count(rows, most_rows=1)
    if keys:
        yield a.Count(rows, keys)
        yield a.UnitCount(rows, keys)
        yield a.Choose(rows, keys[0].value)
    number, ordered = _first(table, Numbers), _first(table, Numbers, Days)
    if number is not None:
        for kind in (a.Sum, a.Average, a.Variance):
            yield kind(rows, e.Column(number), keys)
    if ordered is not None:
        yield a.Quantiles(rows, e.Column(ordered), (_HALF,), keys)
        yield a.Quantiles(rows, e.Column(ordered), (e.Numeral(Fraction(1, 4)), _HALF), interval=_HALF)
        yield a.Cumulative(rows, e.Column(ordered))


def _more(rows: r.Relation, table: TableSpec) -> Iterator[a.Aggregate]:
    """More rows of a unit than its table has: each twice, or two for each key of a public table; totals clamped."""
    keys, number = _keys(table), _first(table, Numbers)
    yield a.Count(r.Union(rows, rows), keys)
    if number is not None:
        kind = next(one.kind for one in table.columns if one.name == number)
        assert isinstance(kind, Numbers)
        ends = (e.Numeral(kind.least), e.Numeral(kind.most))
        yield a.Sum(r.Union(rows, rows), e.Column(number), keys, *ends)
    if keys:
        kind = next(one.kind for one in table.columns if one.name == keys[0].name)
        assert isinstance(kind, Values)
        known = tuple(e.Text(value) for value in kind.values for _ in range(2))
        places = tuple(e.Text(f"place {number % 2}") for number in range(len(known)))
        public = PublicTable((PublicColumn("known", known), PublicColumn("place", places)))
        yield a.Count(Lookup(rows, keys[0].value, public), (r.Key("place", e.Column("place")),))


def priced(spec: DataSpec, budget: Price) -> tuple[list[PricedQuestion], int]:
    """The questions that can be asked, and how many cannot, or are too large for an audit."""
    found, left = [], 0
    for aggregate in aggregates(spec):
        try:
            question = PricedQuestion(spec, aggregate, budget)
        except (UsageError, RefusedError):
            left += 1
            continue
        if question.sought.cells * question.sought.grid_size > _MOST_CELLS:
            left += 1
            continue
        found.append(question)
    return found, left


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring data sets, by their numbers, and what a question loses between them."""

    loss: float
    near: int
    far: int


World = tuple[Unit, ...]
"""A data set: its units."""


def audit_questions(spec: DataSpec, effort: Effort) -> Audit:
    """Every question on neighbours that are made up; then the answers of the dearest, sampled."""
    spec = as_declared(spec)
    questions, left = priced(spec, EPSILON)
    if not questions:
        raise RefusedError("no question about this data set is small enough for an audit")
    worlds = data_sets(spec, Generator.seeded(f"{effort.seed} units"))
    parted = list(_parted(spec))
    exact = _exact(spec, [*questions, *chain(*parted)], worlds)
    of_parts, exact = iter(exact[len(questions) :]), exact[: len(questions)]
    pairs = neighbours(spec, len(worlds))
    dearest = [dearest_pair(one, sums, pairs) for one, sums in zip(questions, exact, strict=True)]
    stated = float(EPSILON.epsilon)
    findings = [
        Finding(one.title, "recomputed", stated, pair.loss, len(pairs), complete=False)
        for one, pair in zip(questions, dearest, strict=True)
    ]
    findings.append(_concentrated(questions, exact, pairs))
    findings += [_together(parts, list(islice(of_parts, len(parts))), pairs) for parts in parted]
    telling = _telling(questions, dearest)
    findings += [_sampled(questions[at], worlds, exact[at], dearest[at], effort) for at in telling]
    remarks = [f"Prices were compared with {len(pairs)} pairs of neighbours that were made up, not with all."]
    remarks.append("Recoding is not audited: the data sets are made of the declared values.")
    if left:
        remarks.append(f"Left out: {left} questions that cannot be asked here, or have too many cells.")
    return Audit("questions", effort.confidence, tuple(findings), tuple(remarks))


def _parted(spec: DataSpec) -> Iterator[list[PricedQuestion]]:
    """For each table with a key the parts of a partition: each spends its purse on a count of its rows."""
    budgets: tuple[Price, ...] = (EPSILON, RHO)
    for table, budget in product(spec.tables, budgets):
        if not (keys := _keys(table)):
            continue
        try:
            partition = PricedPartition.equal(spec, Partition(r.Rows(table.name), keys[0]), budget, "audit")
        except (UsageError, RefusedError):
            continue
        purses = [PartPurse(partition, at) for at in range(len(partition.purses))]
        yield [PricedQuestion(spec, a.Count(one.part), budget, one) for one in purses]


def _together(parts: list[PricedQuestion], exact: list[list[Sums]], pairs: list[tuple[int, int]]) -> Finding:
    """What all parts of a partition lose together, beside what was paid for all of them once."""
    hidden = [[_hidden(one, sums) for sums in several] for one, several in zip(parts, exact, strict=True)]
    lost = [sum(_loss(one, sums[x], sums[y]) for one, sums in zip(parts, hidden, strict=True)) for x, y in pairs]
    assert parts[0].purse is not None
    partition = parts[0].purse.partition
    stated = float(amount(partition.cost))
    title = f"{partition.title}, {parts[0].budget} for each part"
    return Finding(title, "recomputed", stated, max(lost), len(pairs), complete=False)


def _telling(questions: list[PricedQuestion], dearest: list[Pair]) -> Iterator[int]:
    """One question with noise and one selection: the dearest, of most rows of a unit; one of the fewest candidates."""
    numbers = range(len(questions))
    noisy = [at for at in numbers if not isinstance(questions[at].mechanism, Selected)]
    selected = [at for at in numbers if at not in noisy]
    if noisy:
        yield max(noisy, key=lambda at: (round(dearest[at].loss, 6), questions[at].sought.bounds.rows))
    if selected:
        yield min(selected, key=lambda at: (questions[at].sought.grid_size, -dearest[at].loss))


def data_sets(spec: DataSpec, generator: Generator) -> list[World]:
    """Two units; then these with one more, each time another.

    The two have no more rows than they may. Else which of these are kept would be drawn anew for each data set, by the
    key of its store; a proof goes through for every key, and a comparison needs the same.
    """
    several = list(units(spec, generator))
    others = tuple(within(spec, one) for one in (several[0], several[-1]))
    return [others, *((*others, one) for one in several)]


def neighbours(spec: DataSpec, count: int) -> list[tuple[int, int]]:
    """Which of the data sets are neighbours: one unit more, or one replaced."""
    if spec.neighbours == "replace":
        return list(combinations(range(1, count), 2))
    return [(0, number) for number in range(1, count)]


def _exact(spec: DataSpec, questions: list[PricedQuestion], worlds: list[World]) -> list[list[Sums]]:
    """By question and data set the sums that noise would be added to."""
    found: list[list[Sums]] = [[] for _ in questions]
    for world in worlds:
        with rehearsal(spec, frames(spec, world)) as held:
            for sums, question in zip(found, questions, strict=True):
                sums.append(held.exact(question))
    return found


def dearest_pair(question: PricedQuestion, exact: list[Sums], pairs: list[tuple[int, int]]) -> Pair:
    """The neighbours between which a question loses most."""
    hidden = [_hidden(question, sums) for sums in exact]
    return max((Pair(_loss(question, hidden[x], hidden[y]), x, y) for x, y in pairs), key=lambda pair: pair.loss)


def _hidden(question: PricedQuestion, sums: Sums) -> list[Sums]:
    """What a mechanism hides: the numbers that get noise, or the chances of every candidate of each selection."""
    mechanism = question.mechanism
    if isinstance(mechanism, Selected):
        return list(_chances(question, mechanism, sums[:, :, 0]))
    if isinstance(mechanism, Tree):
        return [level for group in sums[:, :, 0] for level in _levels(group, mechanism)]
    return [sums.reshape(-1)]


def _levels(counts: Sums, tree: Tree) -> Iterator[Sums]:
    """The counts of stretches, the largest first."""
    size = tree.branching**tree.levels
    leaves = np.zeros(size, dtype=object)
    leaves[: len(counts)] = counts
    for level in range(1, tree.levels + 1):
        yield leaves.reshape(tree.branching**level, -1).sum(axis=1)


def _chances(question: PricedQuestion, mechanism: Selected, counts: Sums) -> Iterator[Floats]:
    aggregate = question.aggregate
    shares = [one.value for one in aggregate.shares] if isinstance(aggregate, a.Quantiles) else [None]
    for group in counts:
        for at, (share, rate) in enumerate(zip(shares, mechanism.rates, strict=True)):
            several = [(max(group) - group if share is None else _off(group, share), rate)]
            if share is not None and mechanism.ends:
                of_ends, reach = mechanism.ends[at]
                several += [(losses, of_ends) for losses in _off_ends(group, share, reach)]
            for losses, one in several:
                weights = np.exp(-float(one) * (losses - min(losses)).astype(float))
                yield _flipped(weights) if mechanism.flips else weights / weights.sum()


def _flipped(coins: Floats) -> Floats:
    """The chances of permute-and-flip, p ∫ ∏(1 − u·p of another) du: of a polynomial, so exact at enough nodes."""
    nodes, sizes = roots_legendre(len(coins) // 2 + 1)
    lost = np.log1p(-np.outer((nodes + 1) / 2, coins))
    others: Floats = lost.sum(axis=1, keepdims=True) - lost
    found: Floats = coins * (np.exp(others) * sizes[:, np.newaxis] / 2).sum(axis=0)
    return found


def _off(counts: Sums, share: Fraction) -> Sums:
    """How far each candidate is from having the share below it, in whole numbers."""
    below = np.concatenate([np.zeros(1, dtype=object), np.cumsum(counts)[:-1]])
    above = counts.sum() - below - counts
    missed: Sums = np.abs((share.denominator - share.numerator) * below - share.numerator * above)
    return missed


def _off_ends(counts: Sums, share: Fraction, reach: int) -> Iterator[Sums]:
    """How far the aims of both ends are from what each candidate holds of q·below − p·n, in whole numbers.

    Below the first value, for the lower end, and above the last, for the upper, all numbers are held.
    """
    p, q = share.numerator, share.denominator
    edges = [q * int(one) - p * int(counts.sum()) for one in (0, *np.cumsum(counts))]
    held = list(pairwise(edges))
    for aim, several in (
        (-reach, [(min(-reach, edges[0]), edges[0]), *held]),
        (reach, [*held, (edges[-1], max(reach, edges[-1]))]),
    ):
        yield np.array([max(0, low - aim, aim - high) for low, high in several], dtype=object)


def _loss(question: PricedQuestion, near: list[Sums], far: list[Sums]) -> float:
    """ε, or ρ, between two data sets: by the noise that is drawn, or by the chances of selections."""
    mechanism = question.mechanism
    if not isinstance(mechanism, Selected):
        moved = np.abs(np.concatenate(near) - np.concatenate(far))
        return float(mechanism.noise.price(int(moved.sum()), int((moved**2).sum())))
    both = list(zip(near, far, strict=True))
    if not question.budget.gaussian[0]:
        # The nudge down is that of rounding: these chances are no fractions.
        return float(sum(np.abs(np.log(p) - np.log(q)).max() for p, q in both)) * (1 - 1e-12)
    return max(
        sum(float(logsumexp(order * np.log(p) + (1 - order) * np.log(q))) for p, q in both) / (order * (order - 1))
        for order in _ORDERS
    )


def _concentrated(questions: list[PricedQuestion], exact: list[list[Sums]], pairs: list[tuple[int, int]]) -> Finding:
    """The dearest of all questions in ρ."""
    losses = [dearest_pair(question.at(RHO), sums, pairs).loss for question, sums in zip(questions, exact, strict=True)]
    looked = len(pairs) * len(questions)
    return Finding("all of these in ρ", "recomputed", float(RHO.rho), max(losses), looked, complete=False)


def _sampled(question: PricedQuestion, worlds: list[World], exact: list[Sums], pair: Pair, effort: Effort) -> Finding:
    """Answers about two neighbours, from rows to noisy numbers."""
    near, far = (_hidden(question, exact[number]) for number in (pair.near, pair.far))
    scores = []
    for number in (pair.near, pair.far):
        generator = Generator.seeded(f"{effort.seed} answers {number}")
        with rehearsal(question.data, frames(question.data, worlds[number])) as held:
            answers = [held.noisy(question, generator) for _ in range(effort.releases // 2)]
        scores.append(np.array([_score(question, answer, near, far) for answer in answers]))
    shown = loss_at_least(question.cost, scores[0], scores[1], effort.confidence)
    stated = float(amount(question.budget))
    return Finding(f"answers to {question.title}", "sampled", stated, shown.loss, effort.releases)


def _score(question: PricedQuestion, answer: list[int], near: list[Sums], far: list[Sums]) -> float:
    """The log-likelihood ratio of an answer."""
    mechanism = question.mechanism
    if isinstance(mechanism, Selected):
        return float(sum(np.log(p[at] / q[at]) for at, p, q in zip(answer, near, far, strict=True)))
    drawn = np.array(answer, dtype=np.int64)
    one, other = (np.concatenate(part).astype(np.int64) for part in (near, far))
    return float(log_ratio(mechanism.noise, drawn, one, other).sum())
