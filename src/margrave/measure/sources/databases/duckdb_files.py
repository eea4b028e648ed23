"""A table or view of a DuckDB file, as ``survey.duckdb?table=people``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from margrave.errors import DataError, UsageError
from margrave.files.extensions import DUCKDB
from margrave.measure.sources.databases.common import Database, Run, missing, opened, quietly, table_of
from margrave.measure.sources.registry import SourceKind, names_part, register
from margrave.planning.forecast.engines import DUCKDB_FILE

_PLAIN_DUCKDB = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}


def is_duckdb(data: Any) -> bool:
    """Whether data names a DuckDB file, with or without its table; a URL does not."""
    return names_part(data, DUCKDB)


def open_duckdb(data: str | Path, base: Path) -> Database:
    """The table of a DuckDB file; reads its columns alone."""
    name, _, query = str(data).partition("?")
    path = base / name
    table, others = table_of(query, "survey.duckdb?table=people")
    if others:
        raise UsageError("a DuckDB file takes ?table= and nothing else, as in survey.duckdb?table=people")
    if not path.is_file():
        raise DataError(f"{path} does not exist")
    try:
        import duckdb  # noqa: F401
    except ImportError:
        raise missing("a DuckDB file", "duckdb") from None
    trouble = (
        f"{path} cannot be read as DuckDB: check the name of the table, that no other program has the file open for "
        "writing, and that it was written by a version no newer than the installed one"
    )
    return opened(lambda: _connected(path), table, trouble, DUCKDB_FILE)


@contextmanager
def _connected(path: Path) -> Iterator[Run]:
    import duckdb

    connection = duckdb.connect(str(path), read_only=True, config=dict(_PLAIN_DUCKDB))
    with ExitStack() as stack:
        stack.callback(quietly, connection.close)
        yield lambda query: pa.RecordBatchReader.from_stream(connection.sql(query))


register(SourceKind("DuckDB files", is_duckdb, open_duckdb, DUCKDB))
