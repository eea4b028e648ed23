"""Stores of small data sets, made as a curator makes them."""

from __future__ import annotations

import pyarrow as pa

from margrave.budget.units import exact_text
from margrave.measure.questions.engine import Engine
from margrave.measure.questions.opening import open_data


def arrow(rows, table, unit):
    """Rows (unit, values by name) as an Arrow table, every value as text; None is empty."""
    found = {unit: pa.array([f"p{u}" for u, _ in rows], pa.string())}
    for column in table.columns:
        found[column.name] = pa.array([written(row[column.name]) for _, row in rows], pa.string())
    return pa.table(found)


def written(value):
    if value is None or isinstance(value, str):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else exact_text(value)


def engine_of(spec, data, place):
    """The engine over a new store of the data: rows by table."""
    open_data(spec, {table.name: arrow(data[table.name], table, table.unit) for table in spec.tables}, place)
    return Engine(place)
