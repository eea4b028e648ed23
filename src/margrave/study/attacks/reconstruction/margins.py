"""Reconstruction from margins with one sensitive attribute: the lower bound of Dwork, McSherry and Talwar (2007),
section 5.

Everybody has many attributes that are public, each a fair coin, and one that is secret. The two-way tables of the
secret with each public attribute are published. Each is a count of the secret over a random half of the people, so
that reconstruction from random counts applies: noise of less than √n protects nobody once there are enough attributes.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.budget.units import PureDP
from margrave.noise import Generator
from margrave.planning.promise.advantage import guessed
from margrave.study.attacks.draws import gaussian_like
from margrave.study.attacks.reconstruction.counts import Groups, by_least_squares, random_groups, told
from margrave.study.attacks.result import Attack, Row, percent, rows_panel
from margrave.study.attacks.subjects import Subject, domain_of
from margrave.study.attacks.terms import Terms

PEOPLE = 60
MULTIPLES = (1, 2, 5, 10)
COLUMNS = ("exact", "noise of 0.2 √n in each", "Margrave: ε for all")
SECRET = "secret"


def as_subject(groups: Groups, attributes: int) -> Subject:
    """The people with their public attributes, and their secret last."""
    values = {f"a{at}": ("0", "1") for at in range(attributes)} | {SECRET: ("0", "1")}
    codes = np.concatenate([groups.members[:attributes].T, groups.secret[:, None]], axis=1)
    return Subject(domain_of(values), codes.astype(np.int64), "coins")


def published(subject: Subject, epsilon: Fraction, seed: str) -> Floats:
    """What a release of Margrave says of each group: the unbiased count of the secret in each two-way table."""
    public = [name for name in subject.domain.names if name != SECRET]
    # The strategy that is planned fastest; the search for a better one would gain a part in fifty here.
    settings = {"sensitive": (SECRET,), "neighbours": "replace", "strategy": "residual"}
    plan = subject.plan([(name, SECRET) for name in public], epsilon, **settings)
    out = subject.released(plan, seed)
    return np.array([out.unbiased((name, SECRET))[1, 1] for name in public])


def reconstruction_margins(terms: Terms) -> Attack:
    """The attack by the number of public attributes."""
    generator = Generator.seeded(f"{terms.seed} margins")
    found = np.mean([_once(terms, generator, run) for run in range(terms.times(3))], axis=0)
    bound = guessed(PureDP(terms.epsilon), 1, 0.5)
    rows = tuple(
        Row.of(f"{PEOPLE * times} attributes", found[at].tolist(), bound) for at, times in enumerate(MULTIPLES)
    )
    x = [float(PEOPLE * times) for times in MULTIPLES]
    return Attack(
        name="reconstruction-margins",
        title="Reconstruction from margins with one sensitive attribute",
        epsilon=terms.epsilon,
        measure=f"share of {PEOPLE} people whose secret bit is told rightly; a coin tells half",
        columns=COLUMNS,
        rows=rows,
        paragraph=_paragraph(rows),
        panels=(rows_panel(rows, "public attributes", "secrets told rightly", x, COLUMNS),),
    )


def _once(terms: Terms, generator: Generator, run: int) -> list[list[float]]:
    most = PEOPLE * MULTIPLES[-1]
    groups = random_groups(PEOPLE, most, generator)
    exact, noise = groups.counts, gaussian_like(0.2 * sqrt(PEOPLE), most, generator)
    found = []
    for times in MULTIPLES:
        counts = PEOPLE * times
        subject = as_subject(groups, counts)
        released = published(subject, terms.epsilon, f"{terms.seed} margins {run} {times}")
        answers = np.stack([exact[:counts], exact[:counts] + noise[:counts], released], axis=1)
        found.append(told(by_least_squares(groups.members[:counts], answers), groups.secret).tolist())
    return found


def _paragraph(rows: tuple[Row, ...]) -> str:
    last = rows[-1]
    return (
        "Every table has one sensitive attribute and one that anybody may know. With enough of them, tables with "
        f"noise below √n tell {percent(last.wrong)} of the secrets. The release of Margrave spends ε on all tables "
        f"together, only the sensitive attribute being protected: the same attack tells {percent(last.margrave)}, and "
        f"no attack more than {percent(last.bound, 1)}. That noise must grow with the number of tables is no weakness "
        "of the method: this attack is the proof that it has to."
    )
