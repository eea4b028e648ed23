"""Parquet files that somebody else may have made: nothing in them is unpacked before it is known how much it can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from margrave.errors import BundleError
from margrave.files.untrusted import MOST_TEXT
from margrave.publish.bundle.untrusted.parquet_pages import Needs, check_pages, read_footer, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 17
"""Rows that are read at a time where they are not held as a whole."""
_LONGEST = 4 * MOST_TEXT
_UNKNOWN = 16
"""How many columns a file is taken to have that is read as it is."""


def read_parquet(content: bytes, name: str, rows: int, columns: Sequence[str] | None = None) -> pa.Table:
    """A Parquet file that must have so many rows, and at least the given columns, of numbers."""
    needs = Needs(_UNKNOWN, rows, rows, _LONGEST) if columns is None else Needs(len(columns), rows, rows)
    with _readable(name):
        _check(content, needs, name, columns)
        file = _opened(content, name, columns)
        wanted = list(file.schema_arrow.names if columns is None else columns)
        if columns is not None:
            _check_numbers(file, wanted, name)
        table = file.read(columns=wanted)
        table.validate(full=True)
    return _complete(table, name, rows)


def read_like(content: bytes, name: str, expected: pa.Table) -> pa.Table:
    """A Parquet file with the columns, the types and the number of rows of a table, and no longer texts than it has."""
    rows, names = expected.num_rows, expected.column_names
    with _readable(name):
        leaves = [_leaves(column) for column in expected.columns]
        longest = max((_length(leaf) for leaf in leaves), default=0)
        needs = Needs(len(names), rows, max((rows + len(leaf) for leaf in leaves), default=rows), longest)
        _check(content, needs, name)
        file = _opened(content, name, names, _texts(content, expected.schema))
        if file.schema_arrow.names != names:
            raise BundleError(f"{name} does not have the columns {', '.join(names)}")
        table = file.read(columns=names)
        if any(_length(_leaves(column)) > longest for column in table.columns):
            raise BundleError(f"{name} holds texts that do not follow from the release")
        if table.schema.types != expected.schema.types:
            table = table.cast(expected.schema)
        table.validate(full=True)
    return _complete(table, name, rows)


def read_batches(content: bytes, name: str, rows: int, schema: pa.Schema, longest: int) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file that must have so many, in this schema, some at a time and texts by dictionary."""
    import pyarrow as pa

    needs = Needs(len(schema), rows, rows, longest)
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    with _readable(name):
        _check(content, needs, name)
        file = _opened(content, name, schema.names, texts)
        found = [_plain(field.type) for field in file.schema_arrow]
        if file.schema_arrow.names != schema.names or found != [_plain(kind) for kind in schema.types]:
            raise BundleError(f"{name} does not have the columns {', '.join(schema.names)}, or not in their types")
        left = rows
        for batch in file.iter_batches(batch_size=BATCH):
            batch.validate(full=True)
            left -= batch.num_rows
            yield batch
        if left:
            raise BundleError(f"{name} does not have the {rows} rows that it announces")


@contextmanager
def _readable(name: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, MemoryError, NotImplementedError):
        raise BundleError(f"{name} is not a readable Parquet file of a release") from None


def _check(content: bytes, needs: Needs, name: str, columns: Sequence[str] | None = None) -> None:
    """Refuse a file with other rows, or with columns that would unpack to more than they can need."""
    try:
        footer = read_footer(content, needs)
        rows = rows_of(footer)
        if rows == needs.rows:
            check_pages(content, footer, needs, columns)
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("it is not written as Parquet files are") from error
    if rows != needs.rows:
        raise BundleError(f"{name} has {rows} rows where the plan has {needs.rows}")


def _opened(content: bytes, name: str, columns: Sequence[str] | None, texts: Sequence[str] = ()) -> Any:
    """The file, if it has the columns; ``texts`` are read as dictionaries, each text once."""
    import pyarrow as pa
    from pyarrow import parquet

    file = parquet.ParquetFile(pa.BufferReader(content), page_checksum_verification=True, read_dictionary=list(texts))
    names = file.schema_arrow.names
    if columns is not None and (not set(columns) <= set(names) or len(set(names)) != len(names)):
        raise BundleError(f"{name} does not have the columns {', '.join(columns)}")
    return file


def _check_numbers(file: Any, columns: Sequence[str], name: str) -> None:
    import pyarrow as pa

    for column in columns:
        if not pa.types.is_primitive(file.schema_arrow.field(column).type):
            raise BundleError(f"{name}: the column {column!r} must hold numbers")


def _texts(content: bytes, schema: pa.Schema) -> list[str]:
    """The columns of text in a file whose columns have the types of a schema, as Parquet names them."""
    import pyarrow as pa
    from pyarrow import parquet

    metadata = parquet.read_metadata(pa.BufferReader(content))
    paths = [metadata.schema.column(index).path for index in range(len(metadata.schema))]
    texts = {field.name for field in schema if pa.types.is_string(_leaf_type(field.type))}
    return [path for path in paths if path.split(".")[0] in texts or path in texts]


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type but for how it is held: whole numbers of any width, texts by dictionary or not."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
        return pa.string()
    return pa.int64() if pa.types.is_integer(kind) and kind != pa.uint64() else kind


def _leaf_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return kind.value_type if pa.types.is_list(kind) else kind


def _leaves(column: pa.ChunkedArray) -> Any:
    """The values of a column, those in its lists where it has lists; of a dictionary its different ones."""
    import pyarrow as pa

    found = column.combine_chunks()
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.unify_dictionaries().chunks) if found.num_chunks else pa.array([], column.type)
    if pa.types.is_list(found.type):
        found = found.flatten()
    return found.dictionary if pa.types.is_dictionary(found.type) else found


def _length(values: Any) -> int:
    """The bytes of the longest text."""
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_string(values.type) or not len(values):
        return 0
    return int(compute.max(compute.binary_length(values)).as_py() or 0)


def _complete(table: pa.Table, name: str, rows: int) -> pa.Table:
    if table.num_rows != rows:
        raise BundleError(f"{name} does not have the {rows} rows that it announces")
    return table
