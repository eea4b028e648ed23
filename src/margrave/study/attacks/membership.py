"""Membership: is she in the case group, from the published frequency of each of many attributes?

Homer et al. (2008): Σ_j |y_j − p_j| − |y_j − f_j| for her values y, the population's frequencies p and the group's f.
Sankararaman et al. (2009): the likelihood ratio Σ_j y_j log(f_j/p_j) + (1 − y_j) log((1 − f_j)/(1 − p_j)).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.budget.units import PureDP
from margrave.noise import Generator
from margrave.planning.asked import Sheet
from margrave.planning.promise.advantage import advantage, power
from margrave.study.attacks.draws import laplace
from margrave.study.attacks.result import THREE, Attack, Line, Panel, Row, percent, rows_panel
from margrave.study.attacks.subjects import Subject, domain_of, uniform
from margrave.study.attacks.terms import Terms

GROUP = 100
"""Members, on average."""
ATTRIBUTES = (50, 200, 800)
ALARMS = 0.05
COLUMNS = ("exact frequencies", "each at ε, summed by nobody", "Margrave: ε for all")
_CURVE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_OUTSIDERS = 2000


def population(attributes: int, generator: Generator) -> Floats:
    """How frequent each attribute is among all people."""
    return 0.1 + 0.8 * uniform(generator, attributes)


def people(frequencies: Floats, count: int, generator: Generator) -> Integers:
    """So many people at random."""
    drawn = uniform(generator, count * len(frequencies)).reshape(count, len(frequencies))
    return np.asarray(drawn < frequencies, dtype=np.int64)


def homer(who: Integers, frequencies: Floats, published: Floats) -> Floats:
    """Homer's statistic of each person: how much nearer she is to the group than to the population."""
    return np.asarray((np.abs(who - frequencies) - np.abs(who - published)).sum(axis=1))


def likelihood(who: Integers, frequencies: Floats, published: Floats) -> Floats:
    """The log-likelihood ratio of each person: from the group against from the population."""
    seen = np.clip(published, 1 / (2 * GROUP), 1 - 1 / (2 * GROUP))
    yes, no = np.log(seen / frequencies), np.log((1 - seen) / (1 - frequencies))
    return np.asarray(who @ yes + (1 - who) @ no)


def found_at(members: Floats, outsiders: Floats, alarms: float) -> float:
    """The share of members above the score that this share of outsiders exceeds."""
    return float((members > np.quantile(outsiders, 1 - alarms)).mean())


def membership(terms: Terms) -> Attack:
    """The attack by the number of published frequencies."""
    generator = Generator.seeded(f"{terms.seed} membership")
    runs = terms.times(3)
    limit = power(PureDP(terms.epsilon), 1, ALARMS)
    rows, sheet, curves = [], [], []
    for attributes in ATTRIBUTES:
        scores = [_once(attributes, terms, generator, run) for run in range(runs)]
        pooled = [[np.concatenate([one[column][side] for one in scores]) for side in range(4)] for column in range(3)]
        found = [found_at(column[2], column[3], ALARMS) for column in pooled]
        rows.append(Row.of(f"{attributes} frequencies", found, limit))
        homers = (f"{100 * found_at(column[0], column[1], ALARMS):.1f} %" for column in pooled)
        sheet.append((f"{attributes} frequencies", *homers))
        curves = [[found_at(column[2], column[3], alarms) for alarms in _CURVE] for column in pooled]
    return Attack(
        name="membership",
        title="Membership in a case group",
        epsilon=terms.epsilon,
        measure=f"share of about {GROUP} members found, {percent(ALARMS)} of others being accused (likelihood ratio)",
        columns=COLUMNS,
        rows=tuple(rows),
        paragraph=_paragraph(rows, terms.epsilon),
        panels=(
            rows_panel(rows, "frequencies published", "members found", [float(a) for a in ATTRIBUTES], COLUMNS),
            _power(curves, terms.epsilon),
        ),
        more=(Sheet("The same by Homer's statistic", ("", *COLUMNS), tuple(sheet)),),
    )


def _once(attributes: int, terms: Terms, generator: Generator, run: int) -> list[tuple[Floats, Floats, Floats, Floats]]:
    """For each column the scores of members and of others, by Homer's statistic and by the likelihood ratio.

    Everybody is in the group with the same probability, whoever else is: so a member and another differ by one record
    more or less, which is what ε is about. In a group of a known size they would differ by two.
    """
    frequencies = population(attributes, generator)
    everybody = people(frequencies, GROUP + _OUTSIDERS, generator)
    inside = uniform(generator, len(everybody)) < GROUP / len(everybody)
    members, others = everybody[inside], everybody[~inside]
    exact = members.mean(axis=0)
    wrong = exact + laplace(1 / terms.epsilon, attributes, generator) / len(members)
    ours = released(members, terms.epsilon, f"{terms.seed} membership {attributes} {run}")
    return [
        (
            homer(members, frequencies, published),
            homer(others, frequencies, published),
            likelihood(members, frequencies, published),
            likelihood(others, frequencies, published),
        )
        for published in (exact, wrong, ours)
    ]


def released(members: Integers, epsilon: Fraction, seed: str) -> Floats:
    """How frequent each attribute is among the members, as a release of Margrave tells it: counts without bias, over
    the number of members that all tables tell together."""
    names = [f"a{at}" for at in range(members.shape[1])]
    subject = Subject(domain_of(dict.fromkeys(names, ("0", "1"))), members, "a case group")
    out = subject.released(subject.plan([(name,) for name in names], epsilon, strategy="margins"), seed)
    counts = np.array([out.unbiased((name,)) for name in names])
    return np.asarray(counts[:, 1] / max(1.0, float(counts.sum(axis=1).mean())))


def _power(curves: list[list[float]], epsilon: Fraction) -> Panel:
    lines = [Line(COLUMNS[at], THREE[at], _CURVE, tuple(curve)) for at, curve in enumerate(curves)]
    limits = tuple(power(PureDP(epsilon), 1, alarms) for alarms in _CURVE)
    lines += [Line("bound for Margrave", "bound", _CURVE, limits), Line("a coin", "chance", _CURVE, _CURVE)]
    title = f"Power with {ATTRIBUTES[-1]} frequencies"
    return Panel(title, "others accused", "members found", tuple(lines), log_x=True)


def _paragraph(rows: list[Row], epsilon: Fraction) -> str:
    last = rows[-1]
    return (
        f"Each frequency is about some {GROUP} people, and no cell is small. Yet with {ATTRIBUTES[-1]} of them the "
        f"likelihood ratio finds {percent(last.exact)} of the members while accusing {percent(ALARMS)} of others. "
        f"Noise for ε in each frequency, with nobody adding up, still gives {percent(last.wrong)}. With ε for all "
        f"together it finds {percent(last.margrave, 1)}, and no test finds more than {percent(last.bound, 1)}: the "
        f"advantage of any test is at most {100 * advantage(PureDP(epsilon), 1):.0f} points."
    )
