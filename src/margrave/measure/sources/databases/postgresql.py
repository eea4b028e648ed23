"""A table or view behind a PostgreSQL URL, as ``postgresql://user@host/db?table=people``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from margrave.measure.sources.databases.common import Database, Run, missing, opened, quietly, table_of
from margrave.measure.sources.registry import SourceKind, register
from margrave.planning.forecast.engines import POSTGRESQL, SCHEMES

_BATCH_BYTES = str(1 << 22)
_READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


def is_postgres(data: Any) -> bool:
    """Whether data is a URL of PostgreSQL; a Path would not keep it whole."""
    return isinstance(data, str) and data.startswith(SCHEMES)


def open_postgres(url: str, base: Path) -> Database:
    """The table behind a PostgreSQL URL; asks for its columns alone."""
    place, _, query = url.partition("?")
    table, others = table_of(query, "postgresql://user@host/db?table=people")
    try:
        import adbc_driver_postgresql.dbapi  # noqa: F401
    except ImportError:
        raise missing("PostgreSQL", "postgres") from None
    trouble = (
        "PostgreSQL cannot be read: check host, database, user and table in the URL of the data source, that the user "
        "may read the table, and the password (better in a password file or PGPASSWORD than in the URL)"
    )
    address = "?".join(filter(None, [place, "&".join(others)]))
    return opened(lambda: _connected(address), table, trouble, POSTGRESQL)


@contextmanager
def _connected(url: str) -> Iterator[Run]:
    from adbc_driver_postgresql import StatementOptions, dbapi

    with ExitStack() as stack:
        connection = dbapi.connect(url)
        stack.callback(quietly, connection.close)
        with connection.cursor() as first:
            first.executescript(_READ_ONLY)

        def run(query: str) -> pa.RecordBatchReader:
            options = {StatementOptions.BATCH_SIZE_HINT_BYTES.value: _BATCH_BYTES}
            cursor = connection.cursor(adbc_stmt_kwargs=options)
            stack.callback(quietly, cursor.close)
            cursor.execute(query)
            return cursor.fetch_record_batch()

        yield run


register(SourceKind("PostgreSQL", is_postgres, open_postgres))
