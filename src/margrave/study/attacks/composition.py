"""Composition: many small questions, and questions that depend on the answers, against three accountants.

Each question is a noisy count that one person is in or not: with sensitivity 1 discrete Laplace noise is randomised
response, the worst there is. The naive accountant looks at each question alone; the hasty one composes what was asked
as if it had been fixed beforehand; the ledger is Margrave's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import product
from math import comb, exp, expm1, log1p
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from margrave.budget.composition import compose
from margrave.budget.units import ApproxDP, Budget, PureDP
from margrave.errors import RefusedError
from margrave.files.temporary import temporary_folder
from margrave.ledger import DataSetName, Ledger, Notion, Request
from margrave.noise import DiscreteLaplace, Generator
from margrave.planning.asked import Sheet
from margrave.planning.promise.advantage import guessed
from margrave.study.attacks.result import Attack, Row, percent, rows_panel
from margrave.study.attacks.terms import Terms

QUESTIONS = (1, 4, 16, 64, 256)
COLUMNS = ("exact answers", "each looked at alone", "Margrave's ledger")
SHARE = 4
"""Each question costs this part of the cap."""
CAP = ApproxDP(Fraction(1), Fraction(1, 100))
FIRST = (Fraction("0.04999"),) * 2
LUCKY = (Fraction("0.49999"),) * 2
OTHERWISE = (Fraction("0.07999"),) * 43
_DATA = DataSetName("people", "1")


@dataclass(frozen=True)
class Accepted:
    """What an accountant lets pass of the first questions, and of what follows after luck and otherwise."""

    first: tuple[Fraction, ...]
    lucky: tuple[Fraction, ...]
    otherwise: tuple[Fraction, ...]


def loss_beyond(accepted: Accepted, epsilon: float) -> float:
    """δ at ε of the whole adaptive strategy, exactly: E[(1 − e^(ε − loss))₊] over all answers."""
    total = 0.0
    for signs in product((1, -1), repeat=len(accepted.first)):
        chance, begun = 1.0, 0.0
        for sign, one in zip(signs, accepted.first, strict=True):
            chance *= _likely(float(one), sign)
            begun += sign * float(one)
        rest = accepted.lucky if all(sign > 0 for sign in signs) else accepted.otherwise
        total += chance * _tail(rest, begun, epsilon)
    return total


def _likely(epsilon: float, sign: int) -> float:
    """The probability that a question of this ε loses it (or wins it back), for who is in the data."""
    return 1 / (1 + exp(-sign * epsilon))


def _tail(equal: Sequence[Fraction], begun: float, epsilon: float) -> float:
    """E[(1 − e^(ε − begun − loss))₊] over questions of one and the same ε."""
    if not equal:
        return max(0.0, -expm1(epsilon - begun))
    one, count = float(equal[0]), len(equal)
    total = 0.0
    for right in range(count + 1):
        loss = begun + (2 * right - count) * one
        if loss > epsilon:
            logs = -right * log1p(exp(-one)) - (count - right) * log1p(exp(one))
            total += comb(count, right) * exp(logs) * -expm1(epsilon - loss)
    return total


def hasty() -> Accepted:
    """What passes if each sequence is composed, optimally, as if it had been fixed beforehand."""
    for rest in (LUCKY, OTHERWISE):
        spent = compose([PureDP(one) for one in (*FIRST, *rest)], CAP.delta)
        assert isinstance(spent, ApproxDP)
        if spent.epsilon > CAP.epsilon:
            raise RefusedError("the hasty accountant is no longer fooled by this sequence")
    return Accepted(FIRST, LUCKY, OTHERWISE)


def by_ledger(cap: Budget, questions: Sequence[Fraction], folder: Path) -> int:
    """How many of these questions a ledger with such a cap lets pass, in their order."""
    name = sha256(repr((cap, tuple(questions))).encode()).hexdigest()
    with Ledger.create(folder / f"{name}.db") as ledger:
        ledger.register(_DATA, Notion(), cap)
        ledger.add_account("ann")
        ledger.grant("ann", str(_DATA), cap)
        for number, cost in enumerate(questions):
            question = sha256(f"question {number}".encode()).hexdigest()
            try:
                ledger.reserve(Request(_DATA, "ann", question, PureDP(cost), Notion()))
            except RefusedError:
                return number
    return len(questions)


def composition(terms: Terms) -> Attack:
    """The attack by the number of questions, and the adaptive one."""
    generator = Generator.seeded(f"{terms.seed} composition")
    cost = terms.epsilon / SHARE
    runs = terms.times(4000)
    with temporary_folder(Path(gettempdir()), "margrave-attack-") as folder:
        passed = {count: by_ledger(PureDP(terms.epsilon), [cost] * count, folder) for count in QUESTIONS}
        careful = _by_filter(folder)
    bound = guessed(PureDP(terms.epsilon), 1, 0.5)
    rows = tuple(
        Row(
            f"{count} questions",
            1.0,
            told(cost, count, runs, generator),
            told(cost, passed[count], runs, generator),
            bound,
        )
        for count in QUESTIONS
    )
    sheet = _sheet(careful)
    return Attack(
        name="composition",
        title="Composition: asking again, and asking cleverly",
        epsilon=terms.epsilon,
        measure="how often it is told rightly whether she is in the data; a coin tells half",
        columns=COLUMNS,
        rows=rows,
        paragraph=_paragraph(rows, careful, passed[QUESTIONS[-1]]),
        panels=(rows_panel(rows, "questions", "told rightly", [float(count) for count in QUESTIONS], COLUMNS),),
        more=(sheet,),
    )


def told(cost: Fraction, questions: int, runs: int, generator: Generator) -> float:
    """How often the sum of so many noisy answers tells a bit, which is 0 or 1 with equal chances."""
    noise = DiscreteLaplace.at_least(1 / cost)
    truth = generator.below(2, runs)
    score = np.zeros(runs)
    for _ in range(questions):
        answers = truth + noise.sample(runs, generator)
        score += np.abs(answers) - np.abs(answers - 1)
    coin = generator.below(2, runs)
    guess = np.where(score == 0, coin, score > 0)
    return float((guess == truth).mean())


def _by_filter(folder: Path) -> Accepted:
    """What the ledger lets pass of the adaptive strategy."""
    lengths = [by_ledger(CAP, (*FIRST, *rest), folder) for rest in (LUCKY, OTHERWISE)]
    first = min(len(FIRST), *lengths)
    lucky, otherwise = (rest[: length - first] for rest, length in zip((LUCKY, OTHERWISE), lengths, strict=True))
    return Accepted(FIRST[:first], lucky, otherwise)


def _sheet(careful: Accepted) -> Sheet:
    rows = []
    for name, one in (("composed as if fixed beforehand", hasty()), ("Margrave's ledger", careful)):
        reached = loss_beyond(one, float(CAP.epsilon))
        passed = f"2 + {len(one.lucky)} or {len(one.otherwise)}"
        rows.append((name, passed, f"{reached:.4f}", f"{float(CAP.delta):g}"))
    title = "A cap of ε = 1, δ = 0.01, and questions that depend on the answers"
    return Sheet(title, ("accountant", "questions passed", "real δ at ε = 1", "δ of the cap"), tuple(rows))


def _paragraph(rows: Sequence[Row], careful: Accepted, passed: int) -> str:
    last = rows[-1]
    hurried, real = loss_beyond(hasty(), float(CAP.epsilon)), loss_beyond(careful, float(CAP.epsilon))
    return (
        f"Each question costs a quarter of the cap. {QUESTIONS[-1]} of them, each small enough when looked at alone, "
        f"tell {percent(last.wrong)} of the time whether she is in the data. The ledger lets {passed} pass, whoever "
        f"asks: {percent(last.margrave)}, and never more than {percent(last.bound, 1)}. Adding up is not all: an "
        f"analyst who asks for much after lucky answers and for little otherwise reaches δ = {hurried:.4f} against an "
        f"accountant who composes, optimally, what was asked, where the cap says {float(CAP.delta):g}. The ledger's "
        f"rule holds for questions that depend on answers: {real:.4f}."
    )
