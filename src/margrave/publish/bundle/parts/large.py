"""How the numbers of a large release are laid out: narrow Parquet files of bounded size, one made at a time.

A row is one number: which table, which cell of it, and what is said of that cell. Rows are spread over files of about
a million, and no table over two. `contents.parquet` says which attributes a table has and `values.parquet` what the
codes in a cell's number mean, so that any reader of Parquet can put the words back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.planning.plan import Plan
from margrave.publish.bundle.parts.layout import Layout, Parts, sizes_of
from margrave.publish.bundle.parts.names import CELLS
from margrave.publish.bundle.parts.parts import known_cells_part, parquet_bytes, published_part
from margrave.publish.numbers import rounded
from margrave.reconstruct.publishable import publishable

if TYPE_CHECKING:
    import pyarrow as pa

    from margrave.publish.released import Released

CONTENTS, VALUES = "contents.parquet", "values.parquet"

_GROUP_ROWS = 1 << 17
_REPEATED = frozenset({"measurement", "table_number", "std_error", "half_width", "variance"})
"""Columns that say the same in many rows, which a dictionary keeps once."""


def bundle_bytes(plan: Plan) -> int:
    """The most that the numbers of a large release take on disk, about."""
    numbers, _, cells = map(sum, sizes_of(plan).values())
    # Beside each published count stand its unbiased estimate and two error bars, which differ from cell to cell.
    published = 4 if publishable(plan) is None else 1
    return 8 * (numbers + published * cells)


def large_parts(release: Released) -> Iterator[tuple[str, bytes]]:
    """Every file of a large release that holds numbers, by name, each made when its turn comes."""
    layout = Layout.of(release.plan)
    for part in range(len(layout.measurements)):
        yield layout.measurements.name(part), narrow_bytes(measurements_part(release, layout.measurements, part))
    for part in range(len(layout.exact)):
        yield layout.exact.name(part), narrow_bytes(exact_part(release, layout.exact, part))
    if release.plan.cells:
        yield f"{CELLS}.parquet", parquet_bytes(known_cells_part(release))
    yield CONTENTS, parquet_bytes(contents_part(release.plan, layout.tables))
    yield VALUES, parquet_bytes(values_part(release.domain))
    for part in range(len(layout.tables)):
        yield layout.tables.name(part), narrow_bytes(tables_part(release, layout.tables, part))
    if release.publication is not None:
        stem, table = published_part(release, release.publication)
        yield f"{stem}.parquet", parquet_bytes(table)


def measurements_part(release: Released, parts: Parts, part: int) -> pa.Table:
    """Some of the noisy whole numbers: of which measurement, and which output of it, both as in `release.json`."""
    answers = release.measured.answers
    values = np.concatenate([answers[block].outputs.ravel() for block in parts.blocks(part)])
    return _narrow(("measurement", "output"), parts.frame(part), {"value": values})


def exact_part(release: Released, parts: Parts, part: int) -> pa.Table:
    """Some of the tables that are published without noise."""
    margins = [release.plan.exact[block] for block in parts.blocks(part)]
    counts = np.concatenate([release.measured.exact[margin].ravel() for margin in margins])
    return _narrow(("table_number", "cell"), parts.frame(part), {"count": counts})


def tables_part(release: Released, parts: Parts, part: int) -> pa.Table:
    """Some of the wanted tables. Where counts are not the unbiased estimates, these stand beside them."""
    names = ["count", "std_error", "half_width", *(["unbiased", "variance"] if release.publication is not None else [])]
    found = [release.numbers(margin) for margin in margins_of(release.plan, parts, part)]
    columns = {name: rounded(np.concatenate([one[name] for one in found])) for name in names}
    return _narrow(("table_number", "cell"), parts.frame(part), columns)


def contents_part(plan: Plan, parts: Parts) -> pa.Table:
    """Which attributes each table has, how a cell's number is made of their codes, and the file that it is in."""
    import pyarrow as pa

    domain, margins = plan.spec.domain, plan.spec.margins
    shapes = [domain.shape(margin) for margin in margins]
    strides = [tuple(prod(shape[axis + 1 :]) for axis in range(len(shape))) for shape in shapes]
    return pa.table(
        {
            "table_number": pa.array(range(1, len(margins) + 1), pa.int32()),
            "attributes": pa.array(margins, pa.list_(pa.string())),
            "sizes": pa.array(shapes, pa.list_(pa.int32())),
            "strides": pa.array(strides, pa.list_(pa.int32())),
            "cells": pa.array(parts.sizes, pa.int32()),
            "file": pa.array([parts.name(parts.part(block)) for block in range(len(margins))], pa.string()),
        }
    )


def values_part(domain: Domain) -> pa.Table:
    """The value that each code of each attribute stands for, counted from 0."""
    import pyarrow as pa

    rows = [(one.name, code, value) for one in domain for code, value in enumerate(one.values)]
    names, codes, values = zip(*rows, strict=True)
    return pa.table(
        {
            "attribute": pa.array(names, pa.string()),
            "code": pa.array(codes, pa.int32()),
            "value": pa.array(values, pa.string()),
        }
    )


def margins_of(plan: Plan, parts: Parts, part: int) -> list[Margin]:
    """The wanted tables of a file."""
    return [plan.spec.margins[block] for block in parts.blocks(part)]


def alike(plan: Plan, blocks: Iterable[int]) -> Iterator[list[int]]:
    """Runs of wanted tables that have the same shape, by their numbers from 0."""
    for _, run in groupby(blocks, lambda block: plan.spec.domain.shape(plan.spec.margins[block])):
        yield list(run)


def _narrow(
    names: tuple[str, str], frame: tuple[NDArray[np.int32], NDArray[np.int32]], numbers: dict[str, NDArray[Any]]
) -> pa.Table:
    import pyarrow as pa

    return pa.table(
        {**dict(zip(names, map(pa.array, frame), strict=True)), **{n: pa.array(v) for n, v in numbers.items()}}
    )


def narrow_bytes(table: pa.Table) -> bytes:
    """A file of narrow rows: columns in the encodings that suit them, in groups that a reader can skip."""
    import pyarrow as pa
    from pyarrow import parquet

    encodings = {
        one.name: "DELTA_BINARY_PACKED" if pa.types.is_integer(one.type) else "BYTE_STREAM_SPLIT"
        for one in table.schema
        if one.name not in _REPEATED
    }
    sink = pa.BufferOutputStream()
    parquet.write_table(
        table,
        sink,
        row_group_size=_GROUP_ROWS,
        compression="snappy",
        version="2.6",
        use_dictionary=[name for name in table.column_names if name in _REPEATED],
        column_encoding=encodings,
        store_schema=False,
        write_page_checksum=True,
    )
    content: bytes = sink.getvalue().to_pybytes()
    return content
