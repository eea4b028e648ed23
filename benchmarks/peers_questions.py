"""An average beside OpenDP's: its error, and the processor time of a question.

OpenDP's context asks for a sum and a count, each at half of ε, and divides. Both see the same ten thousand rows, in the
same range, and protect one row that is added or removed. Errors are those of the scales of the noises that both say
they draw, and measured ones beside; the formula is √(2(μ² + (1 − μ)²))(hi − lo)/(εn) for a mean at the share μ.
Run with: make bench-peers, or python benchmarks/peers_questions.py [runs]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pyarrow as pa

from machine import header, row
from margrave.budget.units import PureDP
from margrave.measure.questions.engine import Engine, noisy_answer
from margrave.measure.questions.opening import open_data
from margrave.noise import Generator
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.question import PricedQuestion
from margrave.publish.questions.answers import AnswerTable

ROWS, HIGH, EPSILON = 10_000, 200_000, 0.1
SPEC = f"[tables.people]\n[tables.people.columns]\nincome = {{ number = [0, {HIGH}], step = 100 }}\n"


def opendp_context(values: list[float]) -> dp.Context:
    return dp.Context.compositor(
        data=values,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=2,
        domain=dp.vector_domain(dp.atom_domain(T=float, nan=False)),
    )


def of_opendp(values: list[float]) -> float:
    """The quotient of a sum and a count by OpenDP's context."""
    context = opendp_context(values)
    total = context.query().clamp((0.0, float(HIGH))).sum().laplace().release()
    return float(total / context.query().count().laplace().release())


def stated_of_opendp(values: list[float]) -> float:
    """Its error by the scales of the two noises: that of the sum, and the mean times that of the count."""
    query = opendp_context(values).query
    scales = (query().clamp((0.0, float(HIGH))).sum().laplace().param(), query().count().laplace().param())
    mean = float(np.mean(values))
    return float(np.sqrt(2 * (scales[0] ** 2 + (mean * scales[1]) ** 2))) / len(values)


def stated_of_ours(values: list[float]) -> float:
    """The error that is forecast for so many rows with that mean."""
    spec = DataSpec.load(SPEC)
    question = PricedQuestion(spec, parsed("people average income", spec), PureDP(Fraction(str(EPSILON))))
    return question.forecast[0].at(len(values), float(np.mean(values)) / HIGH)


def of_ours(values: list[float], folder: Path) -> Callable[[], float]:
    """An average, as the worker and the session compute it; the store is made once."""
    spec = DataSpec.load(SPEC)
    open_data(spec, {"people": pa.table({"income": values})}, folder / "store")
    engine, generator = Engine(folder / "store"), Generator.system()
    node = parsed("people average income", spec)

    def ask() -> float:
        question = PricedQuestion(spec, node, PureDP(Fraction(str(EPSILON))))
        return float(AnswerTable(question, tuple(noisy_answer(engine, question, generator))).value)

    return ask


def main(runs: int) -> None:
    dp.enable_features("contrib")
    names = ("ours", "of the formula", "OpenDP's", "ratio", "measured", "OpenDP's", "time, ms", "OpenDP's")
    print(header(f"mean, of the range ({ROWS:,} rows, ε = {EPSILON})", *names))
    for share in (0.1, 0.2, 0.5, 0.8, 0.9):
        values = np.random.default_rng(1).beta(4 * share, 4 * (1 - share), ROWS) * HIGH
        # All sides see the same steps, and a mean that is just this share of the range.
        values = np.round((values + share * HIGH - values.mean()).clip(0, HIGH), -2)
        listed = [float(one) for one in values]
        stated = stated_of_ours(listed), stated_of_opendp(listed)
        at = values.mean() / HIGH
        formula = np.sqrt(2 * (at**2 + (1 - at) ** 2)) * HIGH / (EPSILON * ROWS)
        with tempfile.TemporaryDirectory() as folder:
            contenders = (of_ours(listed, Path(folder)), lambda listed=listed: of_opendp(listed))
            found = []
            for ask in contenders:
                ask()
                start = time.process_time()
                errors = np.array([ask() for _ in range(runs)]) - values.mean()
                found.append((float(np.sqrt(np.mean(errors**2))), 1000 * (time.process_time() - start) / runs))
        (ours, fast), (theirs, slow) = found
        cells = [f"{stated[0]:.1f}", f"{stated[0] / formula:.3f}", f"{stated[1]:.1f}", f"{stated[0] / stated[1]:.3f}"]
        print(row(f"{at:.2f}", *cells, f"{ours:.0f}", f"{theirs:.0f}", f"{fast:.1f}", f"{slow:.1f}"), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
