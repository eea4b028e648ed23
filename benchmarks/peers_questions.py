"""An average beside OpenDP's: its error, and the processor time of a question.

OpenDP's context asks for a sum and a count, each at half of ε, and divides. Both see the same ten thousand rows, in the
same range, and protect one row that is added or removed.
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
from margrave.publish.answers import AnswerTable

ROWS, HIGH, EPSILON = 10_000, 200_000, 0.1
SPEC = f"[tables.people]\n[tables.people.columns]\nincome = {{ number = [0, {HIGH}], step = 100 }}\n"


def of_opendp(values: list[float]) -> float:
    """The quotient of a sum and a count by OpenDP's context."""
    context = dp.Context.compositor(
        data=values,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=2,
        domain=dp.vector_domain(dp.atom_domain(T=float, nan=False)),
    )
    total = context.query().clamp((0.0, float(HIGH))).sum().laplace().release()
    return float(total / context.query().count().laplace().release())


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
    print(
        header(
            f"{ROWS:,} rows, ε = {EPSILON}",
            "mean, of the range",
            "error of ours",
            "OpenDP's",
            "ratio",
            "time, ms",
            "OpenDP's",
        )
    )
    for share in (0.1, 0.2, 0.5):
        drawn = np.random.default_rng(1).exponential(share * HIGH, ROWS) if share < 0.5 else None
        values = np.random.default_rng(1).uniform(0, HIGH, ROWS) if drawn is None else np.clip(drawn, 0, HIGH)
        listed = [float(one) for one in values]
        with tempfile.TemporaryDirectory() as folder:
            contenders = (of_ours(listed, Path(folder)), lambda listed=listed: of_opendp(listed))
            found = []
            for ask in contenders:
                ask()
                start = time.process_time()
                errors = np.array([ask() for _ in range(runs)]) - values.mean()
                found.append((float(np.sqrt(np.mean(errors**2))), 1000 * (time.process_time() - start) / runs))
        (ours, fast), (theirs, slow) = found
        cells = [
            f"{values.mean() / HIGH:.2f}",
            f"{ours:.0f}",
            f"{theirs:.0f}",
            f"{ours / theirs:.2f}",
            f"{fast:.1f}",
            f"{slow:.1f}",
        ]
        print(row("average", *cells))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
