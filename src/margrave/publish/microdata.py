"""Microdata: synthetic records whose cross-tabulations are the published tables, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import UsageError
from margrave.noise.generator import Generator
from margrave.publish.numbers import numbers_in
from margrave.reconstruct.held import FullTable
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Range

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from margrave.reconstruct.publication import Published

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def records(published: Published) -> NDArray[Any]:
    """One row a record, one column an attribute, in codes; records in the order of the cells of the table."""
    if not published.whole:
        raise UsageError("a release without whole numbers has no microdata: leave out rounding = 'none'")
    return published.held.records()


def typed(entry: CodebookEntry, codes: NDArray[np.int64]) -> NDArray[Any]:
    """The values of one attribute in the codebook's type: whole numbers of 64 bits, true and false, or text."""
    values = entry.attribute.values
    plain = entry.missing is None and entry.other is None
    if plain and isinstance(entry.rule, Range) and entry.rule.low >= _LEAST and entry.rule.high <= _MOST:
        return codes.astype(np.int64) + entry.rule.low
    if plain and isinstance(entry.rule, Categories) and entry.rule.boolean:
        return np.array([value == "true" for value in values])[codes]
    return np.array(values, dtype=object)[codes]


def columns(published: Published, codebook: Codebook) -> dict[str, pa.Array]:
    """The records, column by column, in the codebook's types. One column of codes at a time is held beside them."""
    import pyarrow as pa

    return {name: pa.array(_allowed(codebook[name])).take(pa.array(codes)) for name, codes in _coded_columns(published)}


def _coded_columns(published: Published) -> Iterator[tuple[str, NDArray[Any]]]:
    """The codes of each attribute, one attribute after the other."""
    names, held = published.domain.names, published.held
    if not published.whole or not isinstance(held, FullTable):
        coded = records(published)
        yield from ((name, coded[:, axis]) for axis, name in enumerate(names))
        return
    shape, times = published.domain.shape(), held.table.ravel().astype(np.int64)
    for axis, name in enumerate(names):
        codes = np.arange(shape[axis], dtype=np.min_scalar_type(shape[axis]))
        along = codes.reshape([-1 if other == axis else 1 for other in range(len(shape))])
        yield name, np.repeat(np.broadcast_to(along, shape).ravel(), times)


def frame(
    published: Published, codebook: Codebook, *, labels: bool = False, fill: bool = False, seed: str = ""
) -> pd.DataFrame:
    """The records as a data frame.

    ``labels``: words for people in place of values. ``fill``: for each attribute in bins a further column
    ``<name>_drawn`` with a number drawn evenly inside the bin. It is made up, which is why its name says so.
    """
    import pandas as pd

    coded = records(published)
    generator = Generator.seeded(f"bins {seed}")
    found: dict[str, Any] = {}
    for axis, name in enumerate(published.domain.names):
        entry, codes = codebook[name], coded[:, axis]
        if labels:
            found[name] = np.array([entry.label(value) for value in entry.attribute.values], dtype=object)[codes]
        else:
            found[name] = typed(entry, codes)
        if fill and isinstance(entry.rule, Bins) and not isinstance(entry.rule.edges[0], date):
            found[f"{name}_drawn"] = _drawn(entry.rule, codes, generator)
    return pd.DataFrame(found)


def _drawn(bins: Bins, codes: NDArray[np.int64], generator: Generator) -> NDArray[np.float64]:
    """A number inside each record's bin, whole where all edges are; missing for values that are no bin."""
    edges = np.array([float(edge) for edge in bins.edges])  # type: ignore[arg-type]
    inside = codes < len(edges) - 1
    safe = np.where(inside, codes, 0)
    low, high = edges[safe], edges[safe + 1]
    share = (generator.words(len(codes)) >> np.uint64(11)).astype(float) / 2.0**53
    if (edges == np.floor(edges)).all():
        first = (safe > 0) & (bins.closed == "right")
        last = (safe < len(edges) - 2) & (bins.closed == "left")
        low, high = low + first, high - last
        drawn = low + np.floor(share * (high - low + 1))
    else:
        drawn = low + share * (high - low)
    return np.where(inside, drawn, np.nan)


def schema(codebook: Codebook, names: Sequence[str]) -> pa.Schema:
    """The columns of the records as Arrow has them."""
    import pyarrow as pa

    kinds = {name: _allowed(codebook[name]).dtype for name in names}
    # Arrow would say so too of an array, but loads all of pandas to look at one.
    return pa.schema(
        [(name, pa.string() if kind.kind == "O" else pa.from_numpy_dtype(kind)) for name, kind in kinds.items()]
    )


def shown(entry: CodebookEntry) -> list[str]:
    """What CSV writes for each code of an attribute."""
    return [value if isinstance(value, str) else repr(value) for value in _allowed(entry).tolist()]


class Coder:
    """The codes of values of one attribute, the inverse of `typed`."""

    def __init__(self, entry: CodebookEntry) -> None:
        self._entry = entry
        self._known = {value: code for code, value in enumerate(_allowed(entry).tolist())}

    def codes(self, column: Any) -> NDArray[np.int64] | None:
        """The codes of a column as `schema` has it; None where it holds another value."""
        if column.null_count:
            return None
        if hasattr(column, "dictionary"):
            codes = self._lookup(column.dictionary.to_pylist())[numbers_in(column.indices)]
        elif isinstance(self._entry.rule, Range):
            codes = numbers_in(column).astype(np.int64) - self._entry.rule.low
        else:
            codes = self._lookup([False, True])[column.to_numpy(zero_copy_only=False) * 1]
        return codes if ((codes >= 0) & (codes < self._entry.attribute.size)).all() else None

    def _lookup(self, values: list[Any]) -> NDArray[np.int64]:
        return np.array([self._known.get(value, -1) for value in values] or [-1], dtype=np.int64)


def _allowed(entry: CodebookEntry) -> NDArray[Any]:
    """Every value of an attribute, in the codebook's type."""
    return typed(entry, np.arange(entry.attribute.size))
