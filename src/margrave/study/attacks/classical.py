"""Why not just …: eight classical protections, each with an attack that gets past it, and the same on Margrave's
numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.table import Table
from margrave.budget.units import PureDP
from margrave.examples import path as example
from margrave.models.model import Model
from margrave.noise import Generator
from margrave.planning.asked import Sheet
from margrave.planning.promise.advantage import guessed
from margrave.score.risk import bounds
from margrave.spec.spec import Spec
from margrave.study.attacks.anonymity.linkage import PATIENTS, Town, microdata, named, town
from margrave.study.attacks.anonymity.mondrian import mondrian
from margrave.study.attacks.reconstruction.solver import BLOCK, incidence, margrave_table, overlap, solve, tables_up_to
from margrave.study.attacks.result import Attack, Line, Panel, Row, percent
from margrave.study.attacks.subjects import Subject, bundled, shuffled
from margrave.study.attacks.terms import Terms

COLUMNS = ("protected the classical way", "by knowing people in general", "Margrave")
WAYS = 4
ROUNDED_TO = 5
SMALL = 4
"""Counts from 1 to this are suppressed."""
SWAPPED = 0.1
SAMPLED = 0.2
K = 5
RELEASES = 6
_SECONDS = 10.0


@dataclass(frozen=True, eq=False)
class Stage:
    """What the examples share: a town to link with, a block of households, and what Margrave publishes of both."""

    town: Town
    records: Integers
    told_in_general: float
    told_by_margrave: float
    block: Subject
    rest: Floats
    guessed_records: float
    margrave_records: float

    @property
    def matrix(self) -> csr_array:
        return incidence(self.block.domain, tables_up_to(self.block.domain, WAYS))


def stage(terms: Terms, generator: Generator) -> Stage:
    """An invented town of 1,500 patients, and 100 households of Rochdale."""
    chosen = town(PATIENTS, generator)
    records = microdata(chosen.subject, terms.epsilon, f"{terms.seed} classical town")
    values = len(chosen.subject.domain.attributes[-1].values)
    ours = named(chosen.known, records[:, :-1], records[:, -1], values)
    whole = bundled("rochdale")
    order = shuffled(generator, len(whole))
    block, others = whole.take(order[:BLOCK]), whole.take(order[BLOCK:])
    likely = (others.table().astype(np.float64) + 0.05).ravel()
    likely /= likely.sum()
    table = margrave_table(block, WAYS, terms.epsilon, f"{terms.seed} classical block")
    return Stage(
        chosen,
        records,
        float((chosen.likely.argmax(axis=1) == chosen.secret).mean()),
        float((ours == chosen.secret).mean()),
        block,
        likely,
        overlap(block.table(), np.rint(likely * BLOCK)),
        overlap(block.table(), table),
    )


def de_identify(on: Stage, generator: Generator) -> float:
    """Names are removed: how many diagnoses a register with names tells."""
    values = len(on.town.subject.domain.attributes[-1].values)
    return float((named(on.town.known, on.town.known, on.town.secret, values) == on.town.secret).mean())


def k_anonymise(on: Stage, generator: Generator) -> float:
    """Six hospitals publish 5-anonymous records: the diagnosis that fits all classes of a patient best."""
    people = len(on.town.subject)
    order = shuffled(generator, people)
    shared, others = order[: people // 10], order[people // 10 :]
    values = len(on.town.subject.domain.attributes[-1].values)
    score = np.zeros((people, values))
    for one in range(RELEASES):
        rows = np.concatenate([shared, others[one::RELEASES]])
        found = mondrian(on.town.known[rows], K)
        counts = np.zeros((len(found.low), values))
        np.add.at(counts, (found.classes, on.town.secret[rows]), 1)
        score[rows] += np.log(counts + 1e-9)[found.classes]
    return float((score[shared].argmax(axis=1) == on.town.secret[shared]).mean())


def only_aggregate(on: Stage, generator: Generator) -> float:
    """Tables of at most four attributes, and no records: how many records a solver finds again."""
    truth = on.block.table()
    return overlap(truth, solve(on.matrix, on.matrix @ truth.ravel().astype(float), on.rest).counts)


def round_counts(on: Stage, generator: Generator) -> float:
    """All counts of those tables are rounded to multiples of five."""
    answers = on.matrix @ on.block.table().ravel().astype(float)
    rounded = ROUNDED_TO * np.rint(answers / ROUNDED_TO)
    return overlap(on.block.table(), _between(on, rounded - ROUNDED_TO // 2, rounded + ROUNDED_TO // 2))


def suppress(on: Stage, generator: Generator) -> float:
    """Counts from 1 to 4 are left out of those tables."""
    answers = on.matrix @ on.block.table().ravel().astype(float)
    hidden = (answers >= 1) & (answers <= SMALL)
    return overlap(on.block.table(), _between(on, np.where(hidden, 1, answers), np.where(hidden, SMALL, answers)))


def swap(on: Stage, generator: Generator) -> float:
    """A tenth of the households exchange half of their attributes with another, and exact tables are published."""
    codes = on.block.codes.copy()
    chosen = shuffled(generator, len(codes))[: int(SWAPPED * len(codes))]
    half = shuffled(generator, codes.shape[1])[: codes.shape[1] // 2]
    codes[np.ix_(chosen, half)] = codes[np.ix_(np.roll(chosen, 1), half)]
    swapped = Subject(on.block.domain, codes, "swapped").table()
    found = solve(on.matrix, on.matrix @ swapped.ravel().astype(float), on.rest).counts
    return overlap(on.block.table(), found)


def sample(on: Stage, generator: Generator) -> float:
    """A fifth of all records, names removed: of those in the sample, who is alone in the register with her values."""
    chosen = shuffled(generator, len(on.town.subject))[: int(SAMPLED * len(on.town.subject))]
    return _alone(on, on.town.subject.codes[chosen])


def _alone(on: Stage, records: Integers) -> float:
    """The share of records whose quasi-identifiers one person in the register has alone, and whose secret is hers."""
    seen, place, many = np.unique(on.town.known, axis=0, return_inverse=True, return_counts=True)
    secret = np.zeros(len(seen), dtype=np.int64)
    secret[place.ravel()] = on.town.secret
    named_by = {tuple(one): int(code) for one, code, times in zip(seen, secret, many, strict=True) if times == 1}
    right = [named_by.get(tuple(record[:-1])) == int(record[-1]) for record in records]
    return float(np.mean(right))


def sufficient_margins(table: Floats, truth: Integers, model: Model) -> float:
    """Of the cells with somebody in them, those that the margins of the model alone tell exactly, and rightly."""
    limits = bounds(model, Table(model.domain, model.domain.names, table))
    known = (limits.high == limits.low) & (limits.low == truth)
    return float((known & (truth > 0)).sum() / (truth > 0).sum())


def _sufficient(terms: Terms) -> Row:
    """The exact margins of the model of Journey to Work, as its authors would publish them, and Margrave's."""
    whole = bundled("journey")
    model, truth = Model(whole.domain, Spec.load(example("journey")).margins), whole.table()
    out = whole.released(whole.plan(list(model.generators), terms.epsilon), f"{terms.seed} classical model")
    ours = np.asarray(out.published(whole.domain.names), dtype=np.float64)
    found = (sufficient_margins(table, truth, model) for table in (truth.astype(np.float64), ours))
    exact, margrave = found
    return Row("publish sufficient margins", exact, None, margrave)


def _between(on: Stage, low: Floats, high: Floats) -> Floats:
    """The most likely whole table whose published tables lie between these."""
    cells = on.matrix.shape[1]
    empty = (on.matrix.T @ (high == 0).astype(float)) > 0
    limits = Bounds(0, np.where(empty, 0.0, float(BLOCK)))
    whole = csr_array(np.ones((1, cells)))
    rules = [LinearConstraint(on.matrix, np.maximum(0, low), high), LinearConstraint(whole, BLOCK, BLOCK)]
    options = {"time_limit": _SECONDS, "mip_rel_gap": 0.01}
    found = milp(-np.log(on.rest), constraints=rules, bounds=limits, integrality=np.ones(cells), options=options)
    return np.zeros(cells) if found.x is None else np.asarray(np.rint(found.x))


_LINKED = (("de-identify", de_identify), ("k-anonymise", k_anonymise))
_SOLVED = (
    ("only aggregate", only_aggregate),
    ("round", round_counts),
    ("suppress small cells", suppress),
    ("swap", swap),
)
WORDS = {
    "de-identify": "names removed; diagnoses told by linking with a register",
    "k-anonymise": f"k = {K}, {RELEASES} releases; diagnoses told by intersecting classes",
    "only aggregate": f"exact tables of {WAYS} attributes; records of 100 households recovered",
    "round": f"the same, rounded to multiples of {ROUNDED_TO}; records recovered",
    "suppress small cells": f"the same, counts from 1 to {SMALL} left out; records recovered",
    "swap": f"{percent(SWAPPED)} of households swapped; records recovered",
    "sample": f"a sample of {percent(SAMPLED)}; who in it is alone in the register",
    "publish sufficient margins": "exact margins of the model of Journey to Work; occupied cells known exactly",
}


def classical(terms: Terms) -> Attack:
    """All eight, on the same people."""
    generator = Generator.seeded(f"{terms.seed} classical")
    on = stage(terms, generator)
    cost = PureDP(terms.epsilon)
    told = float(np.mean([guessed(cost, 2, min(float(one), 1 - 1e-9)) for one in on.town.likely.max(axis=1)]))
    rows = [Row(name, run(on, generator), on.told_in_general, on.told_by_margrave, told) for name, run in _LINKED]
    rows += [Row(name, run(on, generator), on.guessed_records, on.margrave_records) for name, run in _SOLVED]
    in_general = sample(on, generator) * on.told_in_general
    rows.append(Row("sample", sample(on, generator), in_general, _alone(on, on.records)))
    rows.append(_sufficient(terms))
    return Attack(
        name="classical",
        title="Why not just …",
        epsilon=terms.epsilon,
        measure="what the attack of each line reaches: a share of people, records or cells",
        columns=COLUMNS,
        rows=tuple(rows),
        paragraph=_paragraph(rows),
        panels=(_panel(rows),),
        more=(Sheet("What was done, and what is counted", ("", "in words"), tuple(WORDS.items())),),
    )


def _panel(rows: Sequence[Row]) -> Panel:
    places = tuple(float(at) for at in range(len(rows)))
    ours = tuple(row.margrave or 0.0 for row in rows)
    exact = tuple(row.exact or 0.0 for row in rows)
    lines = (Line(COLUMNS[0], "exact", places, exact), Line(COLUMNS[2], "margrave", places, ours))
    return Panel("", "", "reached", lines, ticks=tuple(row.label for row in rows))


def _paragraph(rows: Sequence[Row]) -> str:
    by_name = {row.label: percent(row.exact) for row in rows}
    return (
        f"Removing names leaves {by_name['de-identify']} of diagnoses to whoever has a register. Only tables, no "
        f"records: {by_name['only aggregate']} of records come back; rounded, {by_name['round']}; without small "
        f"cells, {by_name['suppress small cells']}; swapped, {by_name['swap']}. None of these says what it promises, "
        "and against whom: that is what a guarantee is for."
    )
