"""A report as text, one line each: ``plan,question,symbol,token``.

The plan's hash, the number of the question that was drawn, the randomised symbol (both in hexadecimal digits of fixed
lengths), and a token that may be used once; empty where a shuffler takes the tokens off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margrave.errors import UsageError
from margrave.noise.tape import Tape
from margrave.planning.local.mechanism import Columns, Field, Mechanism, Symbol
from margrave.planning.local.plan import LocalPlan
from margrave.planning.local.question import WEIGHTS

TOKEN = re.compile(rb"[A-Za-z0-9_-]{8,64}")
_NIBBLES = np.full(256, 255, dtype=np.uint8)
_NIBBLES[np.frombuffer(b"0123456789abcdef", dtype=np.uint8)] = np.arange(16, dtype=np.uint8)


@dataclass(frozen=True)
class Report:
    """One report: the question that it is about, by number, and the symbol."""

    plan: LocalPlan
    question: int
    symbol: Symbol
    token: str = ""

    def __post_init__(self) -> None:
        check_token(self.plan, self.token)

    @property
    def line(self) -> str:
        """The report as it leaves the device."""
        number = f"{self.question:0{question_digits(self.plan)}x}"
        mechanism = self.plan.questions[self.question].mechanism
        return ",".join((self.plan.hash, number, mechanism.written(self.symbol), self.token))


def question_digits(plan: LocalPlan) -> int:
    """Hexadecimal digits of the number of a question."""
    return max(1, -(-(len(plan.questions) - 1).bit_length() // 4))


def check_token(plan: LocalPlan, token: str) -> None:
    """Refuse a token where a shuffler takes them off, and none where nobody does."""
    if plan.spec.shuffler is not None and token:
        raise UsageError("reports to a shuffler carry no token: it goes to the shuffler beside the report")
    if plan.spec.shuffler is None and TOKEN.fullmatch(token.encode()) is None:
        raise UsageError("a report needs a token of 8 to 64 letters, digits, - or _ that is used once")


def make_report(plan: LocalPlan, answers: Mapping[str, str], tape: Tape, token: str = "") -> Report:
    """The report of one respondent, by her answers to every attribute that the plan asks for."""
    domain = plan.spec.domain
    if set(answers) != set(plan.asked):
        raise UsageError(f"answers are needed to {', '.join(plan.asked)}, each once")
    codes = {name: domain[name].code(value) for name, value in answers.items()}
    number = draw_question(plan, tape)
    one = plan.questions[number]
    return Report(plan, number, one.mechanism.encode([codes[name] for name in one.margin], tape), token)


def draw_question(plan: LocalPlan, tape: Tape) -> int:
    """Which question is reported on: drawn by the weights, whatever the answers are."""
    drawn = tape.below(WEIGHTS)
    for number, one in enumerate(plan.questions):
        if drawn < one.weight:
            return number
        drawn -= one.weight
    raise AssertionError("the weights add up to all draws")


def read_symbols(mechanism: Mechanism, texts: Sequence[bytes]) -> tuple[Columns, NDArray[np.bool_]]:
    """Many symbols of the right length, field by field, and which of them can be; the others are left out."""
    digits = _NIBBLES[np.frombuffer(b"".join(texts), dtype=np.uint8)].reshape(len(texts), mechanism.digits)
    good = np.asarray((digits < 16).all(axis=1))
    digits = np.minimum(digits, np.uint8(15))
    columns, start = [], 0
    for field in mechanism.fields:
        part = digits[:, start : start + field.digits]
        found, fits = _mask(field, part) if field.mask else _number(field, part)
        columns.append(found)
        good &= fits
        start += field.digits
    return [one[good] for one in columns], good


def _number(field: Field, digits: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    values = np.zeros(len(digits), dtype=np.int64)
    for place in range(field.digits):
        values = values * 16 + digits[:, place]
    return values, (values >= field.least) & (values < field.size)


def _mask(field: Field, digits: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    nibbles = digits[:, ::-1, np.newaxis] >> np.arange(4, dtype=np.uint8) & 1
    bits = nibbles.reshape(len(digits), -1).astype(bool)
    fits: NDArray[np.bool_] = np.asarray(~bits[:, field.size :].any(axis=1))
    if field.chosen is not None:
        fits = fits & (bits.sum(axis=1) == field.chosen)
    return bits[:, : field.size], fits
