"""Who will count, and what that takes: said by plans before data is opened, and decided by the same rules after it is.

Rates are microseconds of processor time for each record, measured on one machine (docs/benchmarks.md, docs/spark.md).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from margrave.algebra.domain import Margin
from margrave.files.extensions import DUCKDB
from margrave.planning.forecast.prediction import columns_read, reading_seconds
from margrave.spec.choices import AUTO, Engine
from margrave.spec.document import SPARK, SPARK_PARQUET

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

_EXACT = 2.5
"""To read an exact number from a record: one object for each."""
_FILES, _HANDED = 1.2, 0.16
"""Of Spark: how many times what one machine takes to read files and count; and to hand over a value of a frame."""
_CELL = 2
"""Bytes of a cell on its way from task to task, about."""
_MILLION = 10**6


@dataclass(frozen=True)
class Costs:
    """Of a database and of Margrave together, by ``benchmarks/databases.py``.

    To count a ``table`` inside, and for each column that it is ``grouped`` by; to have records ``read``, and for each
    column of theirs that is ``moved``.
    """

    table: float
    grouped: float
    read: float
    moved: float

    def inside(self, tables: Collection[Margin]) -> float:
        """To count tables inside the database."""
        return sum(self.table + self.grouped * len(margin) for margin in tables)

    def reading(self, columns: int, exact: int = 0) -> float:
        """To read records instead; ``exact`` of their columns hold numbers of any precision."""
        return self.read + self.moved * columns + _EXACT * exact


POSTGRESQL = Costs(table=0.05, grouped=0.14, read=0.3, moved=0.15)
DUCKDB_FILE = Costs(table=0.03, grouped=0.015, read=0.1, moved=0.05)
SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class EngineWork:
    """Who counts, how many tables and cells, and the ``seconds`` of processor time for a million records.

    ``words`` say it to people.
    """

    engine: Engine
    tables: int
    cells: int
    seconds: float
    words: str

    def as_dict(self) -> dict[str, Any]:
        return {"engine": self.engine, "tables": self.tables, "cells": self.cells, "seconds_per_million": self.seconds}


def predicted(plan: Plan) -> EngineWork:
    """The work of counting, by what the spec names as data."""
    tables = plan.covering
    cells = sum(map(plan.spec.domain.cells, tables))
    section = plan.spec.data
    source = (section.source if section is not None else None) or ""
    engine = AUTO if section is None else section.engine
    size = f"{_several(len(tables), 'table')} of {_several(cells, 'cell')}"
    here = reading_seconds(plan, _MILLION)
    if source.startswith(SPARK) and engine != "local":
        handed = 0.0 if source.startswith(SPARK_PARQUET) else _HANDED * len(columns_read(plan))
        seconds = _FILES * here + handed
        words = f"{size}, by the workers of Spark (spark); each task hands on about {_CELL * cells / 2**20:.2g} MiB"
        return EngineWork("spark", len(tables), cells, seconds, f"Counting: {words}.")
    costs = costs_of(source)
    if costs is not None and engine != "local":
        inside, reading = costs.inside(tables), costs.reading(len(columns_read(plan)))
        units = section is not None and (section.unit is not None or section.count is not None)
        if engine == "sql" or (inside < reading and not units):
            words = f"{size}, inside the database (sql), one GROUP BY for each"
            return EngineWork("sql", len(tables), cells, inside, f"Counting: {words}.")
        here = reading
    if not source:
        return EngineWork(
            engine, len(tables), cells, here, f"Counting: {size}, wherever the data will be, in one pass."
        )
    return EngineWork("local", len(tables), cells, here, f"Counting: {size}, on this machine (local), in one pass.")


def costs_of(source: str) -> Costs | None:
    """What a database costs, by its name; None for what is no database."""
    if source.startswith(SCHEMES):
        return POSTGRESQL
    return DUCKDB_FILE if source.partition("?")[0].lower().endswith(DUCKDB) else None


def _several(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
