"""Linkage: records without names, found again by what a register with names knows of everybody.

Sweeney (1997) linked hospital records with the voters' list by birth date, sex and ZIP code. Here the town is invented.
k-anonymous records are attacked by homogeneity and background knowledge (Machanavajjhala et al. 2006) and by the
intersection of two releases (Ganta et al. 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from margrave.algebra.arrays import Flags, Floats, Integers
from margrave.budget.units import PureDP
from margrave.errors import RefusedError
from margrave.noise import DiscreteLaplace, Generator
from margrave.planning.asked import Sheet
from margrave.planning.promise.advantage import guessed
from margrave.study.attacks.anonymity.mondrian import Anonymised, mondrian
from margrave.study.attacks.result import Attack, Row, percent, rows_panel
from margrave.study.attacks.subjects import Subject, domain_of, drawn, shuffled, uniform
from margrave.study.attacks.terms import Terms

PATIENTS = 1500
MONTHS = 12
KS = (2, 5, 10, 25)
RELEASES = (2, 6)
"""How many hospitals the patients who are in all of them go to."""
COLUMNS = ("names removed", f"ε each month, for {MONTHS} months", "Margrave's microdata")
DIAGNOSES = (
    "hypertension", "asthma", "diabetes", "depression", "back pain", "chest pain", "obesity", "migraine", "fracture",
    "pregnancy", "pneumonia", "arthritis", "gallstones", "epilepsy", "hepatitis", "cancer", "HIV", "ulcer",
    "kidney stones", "burns",
)  # fmt: skip
"""The most frequent ones first."""


@dataclass(frozen=True, eq=False)
class Town:
    """Patients with quasi-identifiers and a diagnosis, the last attribute; and how likely each diagnosis is to be
    theirs for who knows the town, but not their records."""

    subject: Subject
    likely: Floats

    @property
    def known(self) -> Integers:
        """The quasi-identifiers."""
        return self.subject.codes[:, :-1]

    @property
    def secret(self) -> Integers:
        return self.subject.codes[:, -1]


def town(patients: int, generator: Generator) -> Town:
    """An invented town: birth year, sex, ZIP code and marital status, and a diagnosis that depends on age and sex."""
    ages, zips = 40, 8
    age = (uniform(generator, patients) * ages).astype(np.int64)
    sex = generator.below(2, patients)
    place = generator.below(zips, patients)
    married = drawn(generator, np.stack([0.5 - age / 160, 0.3 + age / 200, 0.1 + age / 1000, 0.1 - age / 1000], axis=1))
    rank = np.arange(len(DIAGNOSES))
    # The older, the more of the first; each sex has its own order of the rest.
    weights = 0.7**rank * (1 + 2 * (age[:, None] / ages) * (rank < 3) + ((rank + sex[:, None]) % 2 == 0))
    likely = weights / weights.sum(axis=1, keepdims=True)
    codes = np.stack([age, sex, place, married, drawn(generator, likely)], axis=1)
    domain = domain_of(
        {
            "birth_year": [str(1960 + at) for at in range(ages)],
            "sex": ("male", "female"),
            "zip": [f"021{30 + at}" for at in range(zips)],
            "marital": ("single", "married", "divorced", "widowed"),
            "diagnosis": DIAGNOSES,
        }
    )
    return Town(Subject(domain, codes, "an invented town"), likely)


def of_subject(subject: Subject) -> Town:
    """Records of the user's: the last attribute is the secret, and what is likely is its share among all."""
    shares = np.bincount(subject.codes[:, -1], minlength=subject.domain.shape()[-1]) / len(subject)
    return Town(subject, np.tile(shares, (len(subject), 1)))


def named(codes: Integers, records: Integers, secrets: Integers, values: int) -> Integers:
    """For each person the most frequent secret among the records with her quasi-identifiers.

    Where there is none, the last quasi-identifier is let go, and so on.
    """
    guess = np.full(len(codes), -1, dtype=np.int64)
    for width in range(codes.shape[1], -1, -1):
        left = np.flatnonzero(guess < 0)
        if not left.size:
            break
        groups, place = np.unique(
            np.concatenate([records[:, :width], codes[left, :width]]), axis=0, return_inverse=True
        )
        place = place.ravel()
        votes = np.zeros((len(groups), values))
        np.add.at(votes, (place[: len(records)], secrets), 1)
        found = votes[place[len(records) :]]
        seen = found.sum(axis=1) > 0
        guess[left[seen]] = found[seen].argmax(axis=1)
    return guess


def linkage(terms: Terms) -> Attack:
    """The attack by what the register knows, and against k-anonymous records."""
    generator = Generator.seeded(f"{terms.seed} linkage")
    chosen = town(PATIENTS, generator) if terms.subject is None else of_subject(terms.subject)
    if chosen.subject.domain.cells() > 1 << 20:
        raise RefusedError("this attack needs a full table of at most 2^20 cells: leave attributes out")
    rows = tuple(_row(chosen, width, terms, generator) for width in range(1, chosen.known.shape[1] + 1))
    sheet = tuple(_against(chosen, k, generator) for k in KS if k * 4 <= len(chosen.subject))
    chance = float((chosen.likely.argmax(axis=1) == chosen.secret).mean())
    return Attack(
        name="linkage",
        title="Linkage with a register",
        epsilon=terms.epsilon,
        measure=f"share of {len(chosen.subject):,} people whose {chosen.subject.domain.names[-1]} is told rightly; "
        f"{percent(chance)} by knowing people in general",
        columns=COLUMNS,
        rows=rows,
        paragraph=_paragraph(rows, sheet, chance, "knew the town" if terms.subject is None else _KNEW_SHARES),
        panels=(
            rows_panel(
                rows, "quasi-identifiers known", "told rightly", [*map(float, range(1, len(rows) + 1))], COLUMNS
            ),
        ),
        more=(
            Sheet(
                "k-anonymous by Mondrian: whose secret is certain",
                ("k", "classes", "homogeneity", "knowing one she has not", "2 releases", "6 releases"),
                sheet,
            ),
        ),
        confidential=chosen.subject.confidential,
    )


def _row(chosen: Town, width: int, terms: Terms, generator: Generator) -> Row:
    known, values = chosen.known[:, :width], len(chosen.subject.domain[chosen.subject.domain.names[-1]].values)
    names = chosen.subject.domain.names
    part = chosen.subject.only((*names[:width], names[-1]))
    exact = named(known, known, chosen.secret, values)
    place = np.ravel_multi_index(tuple(known.T), part.domain.shape()[:-1])
    wrong = _noisy(part, terms.epsilon, generator).reshape(-1, values)[place].argmax(axis=1)
    records = microdata(part, terms.epsilon, f"{terms.seed} linkage {width}")
    ours = named(known, records[:, :-1], records[:, -1], values)
    best = np.minimum(chosen.likely.max(axis=1), 1 - 1e-9)
    bound = float(np.mean([guessed(PureDP(terms.epsilon), 2, float(one)) for one in best]))
    told = [float((guess == chosen.secret).mean()) for guess in (exact, wrong, ours)]
    return Row.of(", ".join(names[:width]), told, bound)


def _noisy(part: Subject, epsilon: Fraction, generator: Generator) -> Floats:
    """The mean of a year of monthly releases of the same full table, each with fresh noise for ε."""
    truth = part.table().astype(np.float64)
    noise = DiscreteLaplace.at_least(1 / epsilon)
    total = sum(noise.sample(truth.size, generator).astype(np.float64) for _ in range(MONTHS))
    return np.asarray(truth + np.asarray(total).reshape(truth.shape) / MONTHS)


def microdata(part: Subject, epsilon: Fraction, seed: str) -> Integers:
    """Synthetic records of a release: each quasi-identifier with the secret."""
    names = part.domain.names
    out = part.released(part.plan([(name, names[-1]) for name in names[:-1]], epsilon, strategy="residual"), seed)
    return part.coded(out.microdata())


def _against(chosen: Town, k: int, generator: Generator) -> tuple[str, ...]:
    """Homogeneity, background knowledge and intersection, against Mondrian's classes."""
    whole = mondrian(chosen.known, k)
    values = int(chosen.secret.max()) + 1
    present = present_in(whole, chosen.secret, values)
    certain = present[whole.classes].sum(axis=1) == 1
    excluded = _one_she_has_not(chosen)
    left = present[whole.classes].copy()
    left[np.arange(len(left)), excluded] = False
    knowing = left.sum(axis=1) == 1
    met = (intersected(chosen, k, values, releases, generator) for releases in RELEASES)
    return str(k), str(len(whole.low)), *(f"{100 * float(one.mean()):.1f} %" for one in (certain, knowing, *met))


def present_in(found: Anonymised, secrets: Integers, values: int) -> Flags:
    """Which secrets occur in each class."""
    present = np.zeros((len(found.low), values), dtype=bool)
    present[found.classes, secrets] = True
    return present


def _one_she_has_not(chosen: Town) -> Integers:
    """For each person a diagnosis that the attacker knows she does not have: the likeliest other one."""
    other = chosen.likely.copy()
    other[np.arange(len(other)), chosen.secret] = -1
    return np.asarray(other.argmax(axis=1))


def intersected(chosen: Town, k: int, values: int, releases: int, generator: Generator) -> Flags:
    """Hospitals publish k-anonymous records, and a tenth of all people are in all of them: whose secret is the only one
    that all their classes have."""
    people = len(chosen.subject)
    order = shuffled(generator, people)
    shared, others = order[: people // 10], order[people // 10 :]
    visits = [np.sort(np.concatenate([shared, others[one::releases]])) for one in range(releases)]
    allowed = np.ones((people, values), dtype=bool)
    for rows in visits:
        found = mondrian(chosen.known[rows], k)
        here = np.zeros((people, values), dtype=bool)
        here[rows] = present_in(found, chosen.secret[rows], values)[found.classes]
        allowed &= here
    return np.asarray(allowed[shared].sum(axis=1) == 1)


_KNEW_SHARES = "knew how frequent each secret is"


def _paragraph(rows: Sequence[Row], sheet: Sequence[tuple[str, ...]], chance: float, knew: str) -> str:
    last = rows[-1]
    words = (
        f"With all quasi-identifiers, records without names tell {percent(last.exact)} of people's secrets; a year of "
        f"noisy tables, each month for ε and nobody adding up, {percent(last.wrong)}. Margrave's records tell "
        f"{percent(last.margrave)}, where knowing people in general tells {percent(chance)}, and no attacker who "
        f"{knew}, and whatever records of others, more than {percent(last.bound)}."
    )
    if len(sheet) > 2:
        words += (
            f" k-anonymity promises nothing of the kind: with k = {sheet[1][0]}, {sheet[1][2]} are certain because "
            f"all in their class share a secret, {sheet[1][3]} for who can rule one secret out, {sheet[1][4]} from "
            f"two releases about the same people and {sheet[1][5]} from six."
        )
    return words
