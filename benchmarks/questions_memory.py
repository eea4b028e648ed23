"""How much memory it takes to open a large data set for questions, and to ask it: each in a process of its own.

The rows are made and written to Parquet files first, by another process, so that they are no part of what is measured.
Run with: python benchmarks/questions_memory.py [people]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from machine import header, peak, row
from margrave.budget.units import PureDP
from margrave.measure.questions.engine import Engine, noisy_answer
from margrave.measure.questions.opening import open_data
from margrave.noise import Generator
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.question import PricedQuestion
from questions import SPEC

QUESTIONS = (
    "people by region, age count",
    "people join visits by region, ward count",
    "people join visits by region sum cost low 0 high 1000",
    "people join visits by ward average cost rows 4",
)
_PIECE = 1_000_000


def write(folder: Path, people: int) -> None:
    """People and three times as many visits, in pieces."""
    chance = np.random.default_rng(1)
    regions, wards = np.array(["north", "south", "east", "west"]), np.array(["a", "b", "c"])
    made = {
        "people": lambda first, many: {
            "person": np.arange(first, first + many),
            "region": regions[chance.integers(0, 4, many)],
            "age": chance.integers(0, 100, many),
            "income": np.minimum(200_000, chance.exponential(40_000, many)),
        },
        "visits": lambda first, many: {
            "person": chance.integers(0, people, many),
            "ward": wards[chance.integers(0, 3, many)],
            "cost": chance.uniform(0, 500, many),
        },
    }
    for name, rows in (("people", people), ("visits", 3 * people)):
        writer = None
        for first in range(0, rows, _PIECE):
            piece = pa.table(made[name](first, min(_PIECE, rows - first)))
            writer = writer or pq.ParquetWriter(folder / f"{name}.parquet", piece.schema)
            writer.write_table(piece)
        assert writer is not None
        writer.close()


def job(name: str, folder: Path, people: int) -> None:
    """One job of its own process; its processor time and peak memory are printed as a row."""
    start = time.process_time()
    if name == "write":
        write(folder, people)
        return
    spec = DataSpec.load(SPEC)
    if name == "open":
        files = {table: str(folder / f"{table}.parquet") for table in ("people", "visits")}
        open_data(spec, files, folder / "store")
        title = "opening"
    else:
        text = QUESTIONS[int(name)]
        question = PricedQuestion(spec, parsed(text, spec), PureDP(Fraction(1, 10)))
        noisy_answer(Engine(folder / "store"), question, Generator.system())
        title = f"`{text}`"
    print(row(title, f"{time.process_time() - start:.1f}", f"{peak() / 2**30:.2f}"), flush=True)


def main(people: int) -> None:
    print(header(f"{people:,} people, {3 * people:,} visits", "processor time, s", "peak memory, GiB"), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("write", "open", *map(str, range(len(QUESTIONS)))):
            subprocess.run([sys.executable, __file__, name, folder, str(people)], check=True)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        job(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
