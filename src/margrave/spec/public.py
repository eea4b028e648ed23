"""Reading release.public: which counts are public, and their values where the spec or a file beside it gives them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from margrave.algebra.domain import Margin
from margrave.algebra.words import in_words
from margrave.errors import SpecError
from margrave.spec.document import public_text
from margrave.spec.reader import Node, canonical, words
from margrave.spec.workload import PublicFact

if TYPE_CHECKING:
    from margrave.spec.attributes import Names

KEYS = ("of", "cell", "count", "counts", "file", "column")
MOST_GIVEN = 1 << 20
"""The most counts that one fact may be given by."""
_MOST_DIGITS = 40

_Row = tuple[str, Sequence[object]]
"""Where a row of a file stands, and its values."""


@dataclass(frozen=True)
class SpecFolder:
    """The folder that relative paths start from, and where the confidential data is: no fact is read from there."""

    base: Path | None = None
    data: str | None = None

    def path(self, name: str) -> Path:
        return Path(name) if self.base is None else self.base / name

    def confidential(self, path: Path) -> bool:
        """Whether a file is the data, or one of its files where that is a pattern or a folder."""
        if self.data is None:
            return False
        file, source = path.resolve(), Path(self.data).resolve()
        inside = file.suffix.lower() == ".parquet" and source in file.parents
        return file == source or inside or file.match(str(source))


def read_public(node: Node, names: Names, files: SpecFolder) -> tuple[PublicFact, ...]:
    """The facts of a spec."""
    facts: dict[tuple[Margin, tuple[str, ...] | None], PublicFact] = {}
    for item in node.items("a list of facts: lists of attributes, or { cell = { … } }") or []:
        fact = _read_fact(item, names, files)
        if fact is not None and (fact.margin, fact.cell) in facts:
            item.problem("is listed twice")
        elif fact is not None:
            facts[fact.margin, fact.cell] = fact
    return tuple(facts.values())


def _read_fact(node: Node, names: Names, files: SpecFolder) -> PublicFact | None:
    if not isinstance(node.value, Mapping):
        margin = names.margin(node)
        return None if margin is None else PublicFact(margin)
    keys = node.table(KEYS)
    if "of" in keys and "cell" in keys:
        node.problem("has both of and cell: a fact is a whole table or one cell")
        return None
    if "of" not in keys and "cell" not in keys:
        node.needs(keys, 'either cell, such as { cell = { smoke = "no" } }, or of, the attributes of a whole table')
        return None
    before = len(node.problems)
    found = _read_cell(keys, names) if "cell" in keys else _read_margin(keys, names, files)
    return found if len(node.problems) == before else None


def _read_cell(keys: Mapping[str, Node], names: Names) -> PublicFact | None:
    children = keys["cell"].pairs("a table from attributes to values")
    if not children and isinstance(keys["cell"].value, Mapping):
        keys["cell"].problem("names no attribute; the grand total is written []")
        return None
    values = {name: names.value(child, name) for name, child in children.items() if names.declared(child, name)}
    cell = {name: text for name in names.values if (text := values.get(name)) is not None}
    for key in ("counts", "file", "column"):
        if key in keys:
            keys[key].problem("is for whole tables; the count of a cell is given as count")
    count = _count(keys["count"]) if "count" in keys else None
    return PublicFact(tuple(cell), tuple(cell.values()), None if count is None else (count,))


def _read_margin(keys: Mapping[str, Node], names: Names, files: SpecFolder) -> PublicFact | None:
    margin = names.margin(keys["of"])
    given = [key for key in ("count", "counts", "file") if key in keys]
    if len(given) > 1:
        keys[given[1]].problem(f"contradicts {given[0]}: give the counts once")
    if "column" in keys and "file" not in keys:
        keys["column"].problem("names the column of counts in a file, and no file is given")
    if margin is None or any(names.values[name] is None for name in margin):
        return None
    if not given:
        return PublicFact(margin)
    if prod(len(names.ordered[name]) for name in margin) > MOST_GIVEN:
        keys["of"].problem(f"has more than {MOST_GIVEN} cells: too many to be given")
        return None
    counts = {"count": _total, "counts": _listed, "file": _from_file}[given[0]](keys, names, margin, files)
    return None if counts is None else PublicFact(margin, None, counts)


def _count(node: Node) -> int | None:
    found = node.whole()
    if found is not None and found < 0:
        node.problem("a count cannot be negative")
        return None
    return found


def _total(keys: Mapping[str, Node], names: Names, margin: Margin, files: SpecFolder) -> tuple[int, ...] | None:
    if margin:
        keys["count"].problem("is for a cell or for the total, of = []; give counts, one for each cell, or a file")
        return None
    count = _count(keys["count"])
    return None if count is None else (count,)


def _listed(keys: Mapping[str, Node], names: Names, margin: Margin, files: SpecFolder) -> tuple[int, ...] | None:
    """Counts in the order of the cells, the last attribute changing fastest."""
    items = keys["counts"].items("a list of whole numbers") or []
    cells = prod(len(names.ordered[name]) for name in margin)
    if len(items) != cells:
        keys["counts"].problem(f"has {len(items)} numbers, and the table of {in_words(margin)} has {cells} cells")
        return None
    counts = [_count(item) for item in items]
    return tuple(count for count in counts if count is not None)


def _from_file(keys: Mapping[str, Node], names: Names, margin: Margin, files: SpecFolder) -> tuple[int, ...] | None:
    """Counts from a CSV or Parquet file: a column for each attribute and one of counts; cells not listed are 0."""
    node = keys["file"]
    name = node.text()
    column = (keys["column"].text() if "column" in keys else "count") or "count"
    if name is None:
        return None
    path = files.path(name)
    if files.confidential(path):
        node.problem("is the confidential data itself: leave file out, and the counts are read from there")
        return None
    try:
        header, rows = _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)
    except SpecError as error:
        node.problem(f"{name} {error.problems[0].text}")
        return None
    wanted = [*margin, column]
    if sorted(header) != sorted(wanted):
        node.problem(f"{name} has the columns {words(header)}, and must have exactly {words(wanted)}")
        return None
    return _counted(node, name, names, margin, [header.index(one) for one in wanted], rows)


def _counted(
    node: Node, name: str, names: Names, margin: Margin, order: Sequence[int], rows: Iterator[_Row]
) -> tuple[int, ...] | None:
    sizes = [len(names.ordered[attribute]) for attribute in margin]
    codes = [{value: code for code, value in enumerate(names.ordered[attribute])} for attribute in margin]
    counts: dict[int, int] = {}
    for place, row in rows:
        if len(row) != len(order):
            node.problem(f"{name}, {place}: has {len(row)} values and not {len(order)}")
            return None
        *values, number = (canonical(row[at]) for at in order)
        cell = 0
        for attribute, size, code, value in zip(margin, sizes, codes, values, strict=True):
            if value not in code:
                node.problem(f"{name}, {place}: {attribute!r} has no value {value!r}")
                return None
            cell = cell * size + code[value]
        if cell in counts:
            node.problem(f"{name}, {place}: this cell is listed twice")
            return None
        if number is None or not number.strip().isdecimal() or len(number) > _MOST_DIGITS:
            node.problem(
                f"{name}, {place}: a count must be a whole number, not below 0 and of at most {_MOST_DIGITS} digits"
            )
            return None
        counts[cell] = int(number)
    return tuple(counts.get(cell, 0) for cell in range(prod(sizes)))


def _csv(path: Path) -> tuple[list[str], Iterator[_Row]]:
    reader = csv.reader(io.StringIO(public_text(path)))
    header = next(reader, [])
    return header, ((f"line {reader.line_num}", row) for row in reader if row)


def _parquet(path: Path) -> tuple[list[str], Iterator[_Row]]:
    import pyarrow as pa
    from pyarrow import parquet

    from margrave.errors import Problem

    try:
        if parquet.read_metadata(path).num_rows > MOST_GIVEN:
            raise SpecError([Problem("file", f"has more than {MOST_GIVEN} rows")], str(path))
        table = parquet.read_table(path)
    except (OSError, pa.ArrowException):
        raise SpecError([Problem("file", "is not a readable Parquet file")], str(path)) from None
    columns = [table.column(name).to_pylist() for name in table.column_names]
    rows = zip(*columns, strict=True)
    return table.column_names, ((f"row {number}", row) for number, row in enumerate(rows, start=1))
