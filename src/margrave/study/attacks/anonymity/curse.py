"""What k-anonymity leaves of the data as attributes grow (Aggarwal 2005), beside Margrave at equal protection.

Equal protection against linkage: before a release she may be any of n records, 1/n. k-anonymity lets that become 1/k.
Pure ε lets odds grow by e^{2ε}, so that 1/n becomes 1/k at 2ε = log((n − 1)/(k − 1)).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.budget.units import PureDP
from margrave.noise import Generator
from margrave.planning.asked import Sheet
from margrave.planning.promise.advantage import epsilon_for, guessed
from margrave.study.attacks.anonymity.mondrian import mondrian, spread_evenly
from margrave.study.attacks.draws import laplace
from margrave.study.attacks.result import Attack, Row, percent, rows_panel
from margrave.study.attacks.subjects import Subject, domain_of, drawn
from margrave.study.attacks.terms import Terms

PEOPLE = 2000
K = 10
WIDTHS = (2, 4, 6, 8, 10)
VALUES = 3
COLUMNS = (f"{K}-anonymous", "each table at ε, summed by nobody", "Margrave, equal protection")
_CLASSES = 5


def generated(width: int, generator: Generator) -> Subject:
    """People of five kinds, each with its own habits: attributes of three values that depend on one another."""
    kind = generator.below(_CLASSES, PEOPLE)
    habits = 0.1 + (generator.words(_CLASSES * width * VALUES) >> np.uint64(32)).astype(float) * 2.0**-32
    habits = habits.reshape(_CLASSES, width, VALUES) ** 3
    habits /= habits.sum(axis=2, keepdims=True)
    codes = np.stack([drawn(generator, habits[kind, at]) for at in range(width)], axis=1)
    values = tuple(str(value) for value in range(VALUES))
    return Subject(domain_of({f"a{at}": values for at in range(width)}), codes, "people of five kinds")


def lost(truth: Sequence[Integers], found: Sequence[Floats]) -> float:
    """The mean over tables of the share of records that stand in the wrong cell."""
    shares = [float(np.abs(t - f).sum()) / (2 * float(t.sum())) for t, f in zip(truth, found, strict=True)]
    return float(np.mean(shares))


def equal_epsilon(people: int, k: int) -> Fraction:
    """The ε at which odds of 1/n become 1/k and no more, for which of two values somebody has (two steps)."""
    return Fraction(epsilon_for(1 / people, 1 / k, 2)).limit_denominator(1000)


def curse(terms: Terms) -> Attack:
    """The error of all two-way tables, by the number of attributes."""
    generator = Generator.seeded(f"{terms.seed} curse")
    subjects = _growing(generated(WIDTHS[-1], generator), WIDTHS) if terms.subject is None else _growing(terms.subject)
    epsilon = equal_epsilon(len(subjects[0]), K)
    found = [_one(subject, epsilon, terms, generator) for subject in subjects]
    rows = tuple(row for row, _, _ in found)
    sheet = tuple((row.label, nothing, at_terms) for row, nothing, at_terms in found)
    widths = [float(len(subject.domain)) for subject in subjects]
    headers = ("", "nothing known (all cells equal)", f"Margrave at ε = {float(terms.epsilon):g}")
    return Attack(
        name="k-anonymity",
        title="What k-anonymity leaves as attributes grow",
        epsilon=epsilon,
        measure="share of records in the wrong cell, over all two-way tables: less is better",
        columns=COLUMNS,
        rows=rows,
        paragraph=_paragraph(rows, sheet, epsilon, len(subjects[0])),
        panels=(rows_panel(rows, "attributes", "records in the wrong cell", widths, COLUMNS),),
        more=(Sheet("For comparison", headers, sheet),),
        confidential=subjects[0].confidential,
    )


def _growing(subject: Subject, widths: Sequence[int] = ()) -> list[Subject]:
    """The first so many attributes; by default the first two, the first three, and so on."""
    return [subject.only(subject.domain.names[:width]) for width in widths or range(2, len(subject.domain) + 1)]


def _one(subject: Subject, epsilon: Fraction, terms: Terms, generator: Generator) -> tuple[Row, str, str]:
    names, shape = subject.domain.names, subject.domain.shape()
    pairs = list(combinations(range(len(names)), 2))
    truth = [subject.table([names[a], names[b]]) for a, b in pairs]
    classes = mondrian(subject.codes, K)
    anonymous = lost(truth, [spread_evenly(classes, shape, pair) for pair in pairs])
    noisy = [np.maximum(0, t + laplace(1 / epsilon, t.size, generator).reshape(t.shape)) for t in truth]
    ours, at_terms = (
        lost(truth, _released(subject, one, f"{terms.seed} curse {len(names)} {one}"))
        for one in (epsilon, terms.epsilon)
    )
    even = lost(truth, [np.full(t.shape, t.sum() / t.size) for t in truth])
    row = Row(f"{len(names)} attributes", anonymous, lost(truth, noisy), ours)
    return row, f"{100 * even:.1f} %", f"{100 * at_terms:.1f} %"


def _released(subject: Subject, epsilon: Fraction, seed: str) -> list[Floats]:
    tables = list(combinations(subject.domain.names, 2))
    out = subject.released(subject.plan(tables, epsilon, strategy="residual"), seed)
    return [np.asarray(out.published(table), dtype=np.float64) for table in tables]


def _paragraph(rows: Sequence[Row], sheet: Sequence[tuple[str, str, str]], epsilon: Fraction, people: int) -> str:
    first, last = rows[0], rows[-1]
    reached = guessed(PureDP(epsilon), 2, 1 / people)
    return (
        f"With {rows[0].label} {K}-anonymous classes leave {percent(first.exact)} of records in the wrong cell of a "
        f"two-way table; with {rows[-1].label} {percent(last.exact)}, where knowing nothing would leave "
        f"{sheet[-1][1]}: each class must be as wide as its {K} nearest records, and in many dimensions the nearest "
        f"are far. Margrave at ε = {float(epsilon):.2f} limits linkage to the same {percent(reached)}, for every "
        f"attacker and not only for one who knows just the quasi-identifiers, and leaves {percent(last.margrave)}. "
        "The second column is not private: its ε is spent on every table anew."
    )
