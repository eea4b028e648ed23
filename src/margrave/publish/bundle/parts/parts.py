"""The files with numbers in a bundle: tables, noisy measurements and the cube, as CSV and as Parquet.

Each part is one Arrow table. Its Parquet file is what programs read; its CSV file is a fixed rendering of the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import maximal
from margrave.algebra.query import Query
from margrave.errors import BundleError, MargraveError
from margrave.files.untrusted import MOST_HELD
from margrave.planning.limits import FULL_CELLS
from margrave.planning.publication.publishing import GRAPHICAL, used_domain
from margrave.planning.publication.raises import RAISED
from margrave.publish.bundle.parts.names import (
    CELLS,
    FITTED,
    MEASUREMENTS,
    MICRODATA,
    NUMBERS,
    column,
    exact_stems,
    table_stems,
)
from margrave.publish.bundle.parts.shares import SHARES, has_shares, shares_part
from margrave.publish.bundle.untrusted.parquet import read_batches, read_parquet
from margrave.publish.microdata import Coder, columns, schema, shown
from margrave.publish.numbers import DECIMALS, numbers_in, rounded
from margrave.reconstruct.held import FullTable, Margins, Records
from margrave.reconstruct.publication import Published
from margrave.reconstruct.records.spread import Spreads, checked

if TYPE_CHECKING:
    import pyarrow as pa

    from margrave.planning.plan import Plan
    from margrave.publish.released import Released
    from margrave.reconstruct.bars import Bars

ANY = "*"
"""The value of an attribute that a cell does not depend on."""

_TOGETHER = 1 << 14
"""Rows that are turned into text at a time: texts take far more memory than the numbers and the file."""


def parts(release: Released) -> Iterator[tuple[str, pa.Table]]:
    """Every part of a bundle that has both a CSV and a Parquet file, by its stem, in canonical order."""
    yield from derived_parts(release)
    if release.publication is not None:
        yield published_part(release, release.publication)


def derived_parts(release: Released) -> Iterator[tuple[str, pa.Table]]:
    """The parts but for the published table, from which they follow together with the measurements."""
    yield MEASUREMENTS, measurements_part(release)
    for margin, name in exact_stems(release.plan).items():
        counts = release.measured.exact[margin]
        yield name, _arrow(_cells(release.plan.domain, margin), {"count": counts.ravel()})
    if release.plan.cells:
        yield CELLS, known_cells_part(release)
    for margin, name in table_stems(release.plan).items():
        yield name, table_part(release, margin)
    if has_shares(release):
        yield SHARES, shares_part(release)


def known_cells_part(release: Released) -> pa.Table:
    """The single cells that are published without noise, one row each, in words."""
    domain, cells = release.plan.domain, release.plan.cells
    words = [
        ", ".join(f"{name}={domain[name].values[code]}" for name, code in zip(margin, codes, strict=True))
        for margin, codes in cells
    ]
    counts = np.array([release.measured.cells[cell] for cell in cells], dtype=np.int64)
    return _arrow({"cell": np.array(words, dtype=object)}, {"count": counts})


def published_part(release: Released, published: Published) -> tuple[str, pa.Table]:
    """The published table itself: as records where it is whole, otherwise cell by cell."""
    import pyarrow as pa

    if published.whole:
        return MICRODATA, pa.table(columns(published, release.plan.spec.codebook))
    domain, held = published.domain, published.held
    if isinstance(held, Margins):
        counts = np.concatenate([table.ravel() for table in held.tables.values()])
        return FITTED, _arrow({}, {"count": counts})
    return FITTED, _arrow(_cells(domain, domain.names), {"count": published.table.ravel()})


def read_published(plan: Plan, said: Mapping[str, Any], content: bytes) -> Published:
    """The published table from its file, and from what `release.json` says of it."""
    domain = used_domain(plan)
    try:
        rows, rounding = int(said["rows"]), str(said["rounding"])
        changes = {domain.margin(row["table"]): float(row["largest"]) for row in said["changes"]}
        about = (str(said["method"]), rounding, changes, tuple(map(str, said["notes"])))
    except (KeyError, TypeError, ValueError, MargraveError):
        raise BundleError("release.json does not say how the published table was made") from None
    if about[0] in RAISED:
        return Published(domain, _read_margins(plan, domain, content), *about)
    fitted = "temperature" in said
    if not fitted and about[0] != GRAPHICAL and domain.cells() > FULL_CELLS:
        raise BundleError("release.json announces a table with more cells than any that is published as a whole")
    if rounding == "none":
        counts = numbers_in(read_parquet(content, f"{FITTED}.parquet", domain.cells(), ["count"]).column("count"))
        return Published(domain, FullTable(domain, counts.reshape(domain.shape())), *about)
    batches = read_microdata(plan, rows, content)
    if not fitted and about[0] != GRAPHICAL:
        return Published(domain, FullTable(domain, _counted(domain, batches)), *about)
    if rows * len(domain) > MOST_HELD:
        raise BundleError(f"{MICRODATA}.parquet has more than {MOST_HELD} values: too many to be held")
    codes = np.zeros((rows, len(domain)), dtype=np.min_scalar_type(max(domain.shape(), default=1) - 1))
    at = 0
    for batch in batches:
        codes[at : at + len(batch)] = batch
        at += len(batch)
    return Published(domain, Records(domain, codes), *about, *(_fitted(domain, said) if fitted else ()))


def _read_margins(plan: Plan, domain: Domain, content: bytes) -> Margins:
    """The wanted tables that follow from no other, one after the other in one column."""
    margins = maximal(plan.spec.margins)
    sizes = [domain.cells(margin) for margin in margins]
    counts = numbers_in(read_parquet(content, f"{FITTED}.parquet", sum(sizes), ["count"]).column("count"))
    pieces = np.split(counts, np.cumsum(sizes)[:-1])
    return Margins(
        domain, {margin: piece.reshape(domain.shape(margin)) for margin, piece in zip(margins, pieces, strict=True)}
    )


def read_microdata(plan: Plan, rows: int, content: bytes) -> Iterator[NDArray[np.int64]]:
    """The published records in codes, one row a record, some at a time."""
    domain, codebook, name = used_domain(plan), plan.spec.codebook, f"{MICRODATA}.parquet"
    if rows == 0:  # columns without a value have no type
        read_parquet(content, name, 0)
        return
    longest = max((len(value.encode()) for one in domain for value in one.values), default=0)
    coders = [(Coder(codebook[attribute]), attribute) for attribute in domain.names]
    for batch in read_batches(content, name, rows, schema(codebook, domain.names), longest):
        found = np.zeros((batch.num_rows, len(domain)), dtype=np.int64)
        for axis, (coder, attribute) in enumerate(coders):
            codes = coder.codes(batch.column(attribute))
            if codes is None:
                raise BundleError(f"{name} has a value that the codebook does not have")
            found[:, axis] = codes
        yield found


def _counted(domain: Domain, batches: Iterator[NDArray[np.int64]]) -> NDArray[np.int64]:
    counts = np.zeros(domain.cells(), dtype=np.int64)
    for codes in batches:
        np.add.at(counts, cell_numbers(domain, codes), 1)
    return counts.reshape(domain.shape())


def cell_numbers(domain: Domain, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the cell that each record is in, where these numbers fit into 64 bits."""
    numbers = np.zeros(len(codes), dtype=np.int64)
    for axis, size in enumerate(domain.shape()):
        numbers = numbers * size + codes[:, axis]
    return numbers


def _fitted(domain: Domain, said: Mapping[str, Any]) -> tuple[float, dict[Margin, float], Spreads]:
    """The temperature of fitted records, how well they fit each wanted table, and how far off counts are."""
    try:
        misfits = {domain.margin(row["table"]): float(row["misfit"]) for row in said["misfits"]}
        spreads = checked(tuple((float(one["from"]), float(one["part"])) for one in said.get("spreads", [])))
        temperature = float(said["temperature"])
        if (said["method"] != GRAPHICAL and spreads) or not 0 < temperature <= 1:
            raise ValueError
        if not all(0 <= one < np.inf for one in misfits.values()):
            raise ValueError
        return temperature, misfits, spreads
    except (KeyError, TypeError, ValueError, OverflowError, MargraveError):
        raise BundleError("release.json does not say how the records were fitted") from None


def published_name(said: Mapping[str, Any]) -> str:
    """The file that holds the published table."""
    return f"{FITTED if said.get('rounding') == 'none' else MICRODATA}.parquet"


def _rows(published: Published) -> int:
    """How many rows the file of the published table has."""
    if isinstance(published.held, Margins):
        return sum(counts.size for counts in published.held.tables.values())
    return int(published.margin(())) if published.whole else published.domain.cells()


def published_json(published: Published) -> dict[str, Any]:
    """What `release.json` says of the published table."""
    said = {
        "method": published.method,
        "rounding": published.rounding,
        "rows": _rows(published),
        "changes": [{"table": list(m), "largest": round(c, DECIMALS)} for m, c in published.changes.items()],
        "notes": list(published.notes),
    }
    if published.temperature is not None:
        misfits = [{"table": list(m), "misfit": round(c, DECIMALS)} for m, c in published.misfits.items()]
        said |= {"temperature": published.temperature, "misfits": misfits}
    if published.spreads:
        said["spreads"] = [{"from": edge, "part": part} for edge, part in published.spreads]
    return said


def read_bars(plan: Plan, margin: Margin, name: str, content: bytes) -> Bars:
    """The standard errors and the half-widths of a published table, from its file."""
    labels = [column(label, margin) for label in ("count", "std_error", "high")]
    table = read_parquet(content, name, plan.spec.domain.cells(margin), labels)
    try:
        count, error, high = (np.asarray(numbers_in(table.column(label)), dtype=np.float64) for label in labels)
    except (ValueError, TypeError):
        raise BundleError(f"{name} must hold numbers") from None
    return error, rounded(high - count)


def table_part(release: Released, margin: Margin) -> pa.Table:
    """A published table: one row a cell, with its error, its interval, and the unbiased estimate beside it."""
    numbers = release.numbers(margin)
    named = {column(name, margin): rounded(numbers[name]) for name in NUMBERS}
    return _arrow(_cells(release.domain, margin), named)


def cube_rows(domain: Domain, tables: Sequence[tuple[Margin, pa.Table]]) -> Iterator[bytes]:
    """All tables in one CSV file: every attribute has a column, and holds ``*`` where a table does not look at it."""
    yield _csv_row([*domain.names, *(column(name, domain.names) for name in NUMBERS)])
    for margin, table in tables:
        rows = table.num_rows
        columns = {name: _texts(values) for name, values in zip(table.column_names, table.columns, strict=True)}
        order = [columns.get(name, [ANY] * rows) if name in margin else [ANY] * rows for name in domain.names]
        order += [columns[column(name, margin)] for name in NUMBERS]
        yield _csv_lines(order)


def measurements_part(release: Released) -> pa.Table:
    """Every noisy whole number: which measurement, which output of it, what it looked at, and the noise it holds."""
    import pyarrow as pa

    plan, answers = release.plan, release.measured.answers
    used = plan.domain.margin(name for one in plan.measurements for name in one.query.margin)
    sizes = [answer.outputs.size for answer in answers]
    variances = [answer.measurement.noise.variance for answer in answers]
    # One column after the other: as Python's texts, all of them together would take many times the memory.
    arrays = {
        column("measurement", used): pa.array(np.repeat(np.arange(1, len(sizes) + 1), sizes)),
        column("output", used): pa.array(np.concatenate([np.arange(1, size + 1) for size in sizes])),
    }
    for name in used:
        seen = np.concatenate([_seen(plan.domain, answer.measurement.query, name) for answer in answers])
        arrays[name] = pa.array(seen, pa.string())
    arrays[column("value", used)] = pa.array(np.concatenate([answer.outputs.ravel() for answer in answers]))
    arrays[column("variance", used)] = pa.array(np.repeat(variances, sizes))
    return pa.table(arrays)


def _seen(domain: Domain, query: Query, name: str) -> NDArray[Any]:
    """What each output says about an attribute: a value, ``first minus second``, or ``*`` for nothing."""
    if name not in query.margin:
        return np.full(query.outputs(domain), ANY, dtype=object)
    values = domain[name].values
    if name in query.contrast:
        return np.full(query.outputs(domain), f"{values[0]} minus {values[1]}", dtype=object)
    texts = np.array([f"{value} minus mean" if name in query.residual else value for value in values], dtype=object)
    axis = query.margin.index(name)
    shape = query.shape(domain)
    repeated = np.broadcast_to(texts.reshape([-1 if at == axis else 1 for at in range(len(shape))]), shape)
    return repeated.ravel()


def read_measurements(plan: Plan, content: bytes) -> list[NDArray[np.int64]]:
    """The noisy outputs of each measurement of a plan, from `measurements.parquet`."""
    used = plan.domain.margin(name for one in plan.measurements for name in one.query.margin)
    sizes = [one.query.outputs(plan.domain) for one in plan.measurements]
    names = [column(name, used) for name in ("measurement", "output", "value")]
    table = read_parquet(content, f"{MEASUREMENTS}.parquet", sum(sizes), names)
    number, output, value = (_whole(table, name, f"{MEASUREMENTS}.parquet") for name in names)
    expected = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    places = np.concatenate([np.arange(1, size + 1) for size in sizes])
    if not (np.array_equal(number, expected) and np.array_equal(output, places)):
        raise BundleError(f"{MEASUREMENTS}.parquet does not list the outputs of the measurements in their order")
    split = np.split(value, np.cumsum(sizes)[:-1])
    shapes = [one.query.shape(plan.domain) for one in plan.measurements]
    return [part.reshape(shape) for part, shape in zip(split, shapes, strict=True)]


def read_counts(content: bytes, name: str, cells: int) -> NDArray[np.int64]:
    """The whole counts of an exact table."""
    return _whole(read_parquet(content, name, cells, ["count"]), "count", name)


def _whole(table: pa.Table, name: str, file: str) -> NDArray[np.int64]:
    import pyarrow as pa

    found = table.column(name)
    if found.type != pa.int64() or found.null_count:
        raise BundleError(f"{file}: the column {name!r} must hold 64-bit whole numbers")
    numbers: NDArray[np.int64] = numbers_in(found)
    return numbers


def parquet_bytes(table: pa.Table) -> bytes:
    """A part as a Parquet file: the same table gives the same bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="snappy", version="2.6", store_schema=False, write_page_checksum=True)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def csv_bytes(table: pa.Table) -> bytes:
    """A part as CSV (RFC 4180, UTF-8, line feeds): the same table gives the same bytes, on every system."""
    return b"".join(csv_pieces(table))


def csv_pieces(table: pa.Table) -> Iterator[bytes]:
    """The same, some rows at a time."""
    yield _csv_row(table.column_names)
    for start in range(0, table.num_rows, _TOGETHER):
        yield _csv_lines([_texts(values) for values in table.slice(start, _TOGETHER).columns])


def microdata_pieces(plan: Plan, batches: Iterator[NDArray[np.int64]]) -> Iterator[bytes]:
    """Records as CSV, some at a time. Equal records stand together, so that few lines are made and repeated."""
    domain, codebook = used_domain(plan), plan.spec.codebook
    texts = [[_quoted(text) for text in shown(codebook[name])] for name in domain.names]
    yield _csv_row(domain.names)
    for codes in batches:
        starts = np.flatnonzero(np.r_[True, (codes[1:] != codes[:-1]).any(axis=1)])[: len(codes)]
        lengths = np.diff(np.r_[starts, len(codes)]).tolist()
        lines = (",".join(text[code] for text, code in zip(texts, row, strict=True)) for row in codes[starts].tolist())
        yield "".join(f"{line}\n" * length for line, length in zip(lines, lengths, strict=True)).encode()


def _csv_row(cells: Sequence[str]) -> bytes:
    return (",".join(map(_quoted, cells)) + "\n").encode()


def _csv_lines(columns: Sequence[Sequence[str]]) -> bytes:
    return "".join(",".join(row) + "\n" for row in zip(*columns, strict=True)).encode()


def _texts(values: Any) -> list[str]:
    """The cells of a column as CSV writes them: whole numbers plainly, others in the fewest digits that are exact."""
    found = values.to_pylist()
    # Texts are few and repeat; numbers are many and differ.
    known = {value: _quoted(value) for value in set(found) if isinstance(value, str)}
    return [known[value] if value in known else repr(value) for value in found] if known else list(map(repr, found))


def _quoted(text: str) -> str:
    needs = not text or any(mark in text for mark in ',"\r\n') or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if needs else text


def _cells(domain: Domain, margin: Margin) -> dict[str, NDArray[Any]]:
    """The value of each attribute in each cell of a margin, in the domain's order."""
    shape = domain.shape(margin)
    grid = np.indices(shape).reshape(len(margin), domain.cells(margin))
    return {name: np.array(domain[name].values, dtype=object)[grid[axis]] for axis, name in enumerate(margin)}


def _arrow(texts: dict[str, NDArray[Any]], numbers: dict[str, NDArray[Any]]) -> pa.Table:
    import pyarrow as pa

    arrays = {name: pa.array(values, pa.string()) for name, values in texts.items()}
    arrays |= {name: pa.array(np.ascontiguousarray(values)) for name, values in numbers.items()}
    return pa.table(arrays)
