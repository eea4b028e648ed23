"""Questions beside plain DuckDB on the same recoded store: processor time of one answer, ledger and wire apart.

Each pair is run in turns, and the least of several is shown. Prices, noise and SQL are part of an answer; the plain
query is what somebody would write by hand who knows the store. ``explain`` opens nothing.
Run with: python benchmarks/questions.py [people]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from machine import header, peak, row
from margrave.budget.units import PureDP
from margrave.measure.questions.engine import Engine, noisy_answer
from margrave.measure.questions.opening import open_data
from margrave.noise import Generator
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.question import PricedQuestion

SPEC = """
unit = "person"
[tables.people]
max_records = 1
rows = 10000000
[tables.people.columns]
region = ["north", "south", "east", "west"]
age = { range = [0, 99] }
income = { number = [0, 200000], step = 100 }
[tables.visits]
max_records = 20
rows = 30000000
[tables.visits.columns]
ward = ["a", "b", "c"]
cost = { number = [0, 500], step = 0.5 }
"""
# The columns of the store are in the order of their names: people age, income, region; visits cost, ward.
PAIRS = {
    "people where age >= 18 and age <= 64 count": "SELECT count(*) FROM t0 WHERE c0 >= 18 AND c0 <= 64",
    "people by region count": "SELECT c2, count(*) FROM t0 GROUP BY c2",
    "people by region average income": "SELECT c2, sum(c1), count(*) FROM t0 GROUP BY c2",
    "people by region, age count": "SELECT c2, c0, count(*) FROM t0 GROUP BY c2, c0",
    "people join visits by region, ward count": (
        "SELECT a.c2, b.c1, count(*) FROM t0 a JOIN t1 b ON a.u = b.u GROUP BY a.c2, b.c1"
    ),
    "people join visits by region sum cost": "SELECT a.c2, sum(b.c0) FROM t0 a JOIN t1 b ON a.u = b.u GROUP BY a.c2",
}
TURNS = 7


def tables(people: int) -> dict[str, pa.Table]:
    """People and three times as many visits."""
    chance = np.random.default_rng(1)
    visits = 3 * people
    first = {
        "person": np.arange(people),
        "region": np.array(["north", "south", "east", "west"])[chance.integers(0, 4, people)],
        "age": chance.integers(0, 100, people),
        "income": np.minimum(200_000, chance.exponential(40_000, people)),
    }
    second = {
        "person": chance.integers(0, people, visits),
        "ward": np.array(["a", "b", "c"])[chance.integers(0, 3, visits)],
        "cost": chance.uniform(0, 500, visits),
    }
    return {"people": pa.table(first), "visits": pa.table(second)}


def least(*jobs: Callable[[], object]) -> list[float]:
    """The least processor time of each job, run in turns."""
    best = [float("inf")] * len(jobs)
    for _ in range(TURNS):
        for at, job in enumerate(jobs):
            start = time.process_time()
            job()
            best[at] = min(best[at], time.process_time() - start)
    return best


def main(people: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spec, place = DataSpec.load(SPEC), Path(folder) / "store"
        start = time.process_time()
        open_data(spec, tables(people), place)
        opening = time.process_time() - start
        engine, generator = Engine(place), Generator.system()
        print(
            header(
                f"{people:,} people, {3 * people:,} visits",
                "plain DuckDB, ms",
                "answer, ms",
                "beyond 2 ms, ratio",
                "explain, ms",
            )
        )
        for text, plain in PAIRS.items():
            node = parsed(text, spec)

            def answer(node=node) -> object:
                return noisy_answer(engine, PricedQuestion(spec, node, PureDP(Fraction(1, 10))), generator)

            def explain(node=node) -> object:
                return PricedQuestion(spec, node, PureDP(Fraction(1, 10))).to_json()

            by_hand = lambda plain=plain: engine._connection.execute(plain).fetchall()  # noqa: E731
            one, other, told = least(by_hand, answer, explain)
            cells = [f"{1000 * one:.1f}", f"{1000 * other:.1f}", f"{(other - 0.002) / one:.2f}", f"{1000 * told:.1f}"]
            print(row(f"`{text}`", *cells))
        print(f"\nOpening took {opening:.1f} s of processor time; peak memory {peak() / 2**30:.2f} GiB.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
