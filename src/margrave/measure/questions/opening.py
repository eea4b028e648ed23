"""Opening a data set for questions: it is recoded once into a private store, a folder that only its owner can read.

The store has a table of whole numbers for each declared one, with numbers in place of the units' ids, and at most
``max_records`` rows of each unit. Which rows are kept beyond the bound depends on the unit's own rows and on a key that
never leaves the store: on no order, and on nobody else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from margrave.errors import DataError, RefusedError, UsageError
from margrave.ledger.journal import canonical
from margrave.measure.failures import Failures, guarded
from margrave.measure.questions.recoding import recoder_of
from margrave.measure.questions.store import FORMAT, STORE
from margrave.measure.records import unit_ids
from margrave.measure.sources.files.commas import as_written, number_columns
from margrave.measure.sources.sources import Source, check_columns, open_source
from margrave.planning.questions.data_spec import DataSpec, TableSpec
from margrave.planning.questions.kinds import Kind, Numbers
from margrave.progress import Progress
from margrave.spec.codebook import Codebook

_FULL = "the private store cannot be written: is there room on its disk?"
_MEMORY = "800MB"
"""What the engine may hold while it recodes; the rest is on disk, beside the store, until it is done."""
_TYPES = ((0, 255, "UTINYINT"), (0, 65535, "USMALLINT"), (-(1 << 31), (1 << 31) - 1, "INTEGER"))


def open_data(spec: DataSpec, data: Mapping[str, Any], place: Path, progress: Progress | None = None) -> None:
    """Write the store of a data set to a new folder. ``data``: the rows of each table, by its name."""
    if place.exists():
        raise RefusedError(f"{place} exists already: a data set is opened once, into a new folder")
    missing = [table.name for table in spec.tables if data.get(table.name) is None]
    if missing:
        raise UsageError(f"no data is named for the table {missing[0]!r}: give it, or its source in the spec")
    made = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    made.mkdir(mode=0o700)
    try:
        _write(spec, data, made, progress)
        made.rename(place)
    except BaseException:
        with suppress(OSError):
            rmtree(made)
        raise


def _write(spec: DataSpec, data: Mapping[str, Any], folder: Path, progress: Progress | None) -> None:
    duckdb = _duckdb()
    stage = folder / "stage.duckdb"
    config = {"temp_directory": str(folder / "spill"), "memory_limit": _MEMORY, "preserve_insertion_order": "false"}
    connection = duckdb.connect(str(stage), config=config)
    try:
        failures = Failures()
        for number, table in enumerate(spec.tables):
            _stage(connection, number, table, _opened(table, data[table.name]), failures, progress)
        failures.check()
        guarded(lambda: _finish(connection, spec, folder / STORE), _FULL)
    finally:
        connection.close()
    stage.unlink()
    (folder / STORE).chmod(0o600)


def _opened(table: TableSpec, data: Any) -> Source:
    """The rows of a table, read as the spec says that they are written."""
    numbers = [column.name for column in table.columns if column.entry is None and isinstance(column.kind, Numbers)]
    declared = Codebook(tuple(column.entry for column in table.columns if column.entry is not None))
    return as_written(open_source(data, dialect=table.dialect), table.dialect, [*numbers, *number_columns(declared)])


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise UsageError("questions need DuckDB: pip install 'margrave[duckdb]'") from None
    return duckdb


def _stage(
    connection: Any, number: int, table: TableSpec, source: Source, failures: Failures, progress: Progress | None
) -> None:
    """The recoded rows of one table, with the ids of their units as they are."""
    names = [column.name for column in table.columns]
    wanted = names if table.unit is None else [*names, table.unit]
    check_columns(source, wanted)
    recoders = [recoder_of(column) for column in table.columns]
    fields = ", ".join(f"c{at} {store_type(column.kind)}" for at, column in enumerate(table.columns))
    guarded(lambda: connection.execute(f"CREATE TABLE stage{number} (id BLOB, {fields})"), _FULL)
    done, total = 0, source.total if progress else None
    for batch in source.batches(wanted):
        columns = {
            f"c{at}": recoders[at](batch.column(column.name), failures) for at, column in enumerate(table.columns)
        }
        ids = _numbered(done, batch.num_rows) if table.unit is None else _ids(batch.column(table.unit), table, failures)
        done += batch.num_rows
        if not failures:
            content = pa.table({"id": ids, **columns})
            guarded(lambda content=content: _insert(connection, number, content), _FULL)  # type: ignore[misc]
        if progress:
            progress(done, total)
    if done > table.rows:
        raise DataError(
            f"the table {table.name!r} has more rows than the {table.rows:,} that are declared for it: limits on the "
            "work of questions rest on that number, so declare a larger one, rows = …"
        )


def store_type(kind: Kind) -> str:
    """The narrowest type of the engine that holds a kind."""
    return next((name for low, high, name in _TYPES if low <= kind.low and kind.high <= high), "BIGINT")


def _insert(connection: Any, number: int, content: pa.Table) -> None:
    connection.register("content", content)
    connection.execute(f"INSERT INTO stage{number} SELECT * FROM content")
    connection.unregister("content")


def _numbered(start: int, rows: int) -> pa.Array:
    """Where each row is a unit, its id is the number of the row."""
    return pa.array([str(start + at).encode() for at in range(rows)], type=pa.binary())


def _ids(column: pa.Array, table: TableSpec, failures: Failures) -> pa.Array:
    """The ids of the units as text, so that a number and the same number in words are one unit in all tables."""
    assert table.unit is not None
    found = unit_ids(column, table.unit, failures)
    trouble = f"the unit column {table.unit!r} cannot be read: convert it to text or whole numbers"
    return guarded(lambda: _as_text(found), trouble)


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_floating(column.type):
        column = column.cast(pa.int64())
    if not pa.types.is_large_binary(column.type):
        column = column.cast(pa.large_string()).cast(pa.large_binary())
    return pc.fill_null(column, b"").cast(pa.binary())


def _finish(connection: Any, spec: DataSpec, store: Path) -> None:
    """The tables of the store from what was staged: units numbered and salted, rows beyond the bound left out."""
    key = os.urandom(32).hex()
    # How well rows can be compressed depends on what they hold, and so would the time to read them; it is also longer.
    connection.execute("SET force_compression = 'uncompressed'")
    connection.execute(f"ATTACH '{_quoted(store)}' AS store")
    every = " UNION ALL ".join(f"SELECT id FROM stage{number}" for number in range(len(spec.tables)))
    connection.execute(
        f"CREATE TABLE named AS SELECT id, CAST(row_number() OVER () AS INTEGER) AS u, "
        f"hash(sha256('{key}' || lower(hex(id)))) AS s FROM (SELECT DISTINCT id FROM ({every}))"
    )
    connection.execute("CREATE TABLE store.units AS SELECT u, s FROM named")
    for number, table in enumerate(spec.tables):
        connection.execute(f"CREATE TABLE store.t{number} AS {_bounded(number, table, key)}")
    connection.execute("CREATE TABLE store.meta (name VARCHAR, value VARCHAR)")
    told = {"format": str(FORMAT), "spec": canonical(spec.public_dict())}
    connection.executemany("INSERT INTO store.meta VALUES (?, ?)", list(told.items()))
    connection.execute("DETACH store")


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _bounded(number: int, table: TableSpec, key: str) -> str:
    """All rows of units within their bound; of the others those for which a keyed hash of the row is least."""
    fields = [f"c{at}" for at in range(len(table.columns))]
    named = "".join(f", {one}" for one in fields)
    rows = f"SELECT named.u AS u, named.s AS s{named} FROM stage{number} JOIN named USING (id)"
    many = f"SELECT u FROM ({rows}) GROUP BY u HAVING count(*) > {table.max_records}"
    content = " || ',' || ".join(
        [f"'{key}'", "CAST(s AS VARCHAR)", *(f"coalesce(CAST({one} AS VARCHAR), '')" for one in fields)]
    )
    again = f"row_number() OVER (PARTITION BY u{named})"
    ranked = (
        f"SELECT u{named}, sha256({content} || ',' || CAST({again} AS VARCHAR)) AS h FROM ({rows}) WHERE u IN ({many})"
    )
    kept = (
        f"SELECT u{named} FROM ({ranked}) QUALIFY row_number() OVER (PARTITION BY u ORDER BY h) <= {table.max_records}"
    )
    return f"SELECT u{named} FROM ({rows}) WHERE u NOT IN ({many}) UNION ALL {kept}"
