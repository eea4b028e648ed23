"""The public declaration of a data set for questions: tables that share a unit, and what a unit may have in them.

Categories, ranges and bins are declared as for releases. Numbers have a range and a step, to which they are rounded
and clamped; days have a first and a last one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

from margrave.budget.numbers import exact_text
from margrave.errors import UsageError
from margrave.ledger.journal import canonical
from margrave.ledger.values import Notion
from margrave.planning.questions.kinds import Days, Kind, Numbers, Values
from margrave.planning.questions.language.public import PublicTable
from margrave.planning.questions.language.tokens import word_problem
from margrave.planning.questions.public import public_dict, read_public
from margrave.spec.attributes import name_problem, read_attributes
from margrave.spec.choices import NEIGHBOURS, Neighbours
from margrave.spec.codebook import CodebookEntry, Range
from margrave.spec.dialect import DIALECT_KEYS, USUAL, Dialect, read_dialect
from margrave.spec.document import load_document, located, read_document
from margrave.spec.reader import Node
from margrave.spec.write import entry_dict, json_ready

SECTIONS = ("title", "unit", "neighbours", "tables", "public")
TABLE_KEYS = ("source", *DIALECT_KEYS, "unit", "max_records", "rows", "columns")
NUMBER_KEYS = ("number", "step")
MOST_RECORDS = 1 << 16
"""Records of a unit in one table."""
MOST_ROWS = 1 << 40
USUAL_ROWS = 1_000_000


@dataclass(frozen=True)
class ColumnSpec:
    """A column: its kind to the engine, and, where it is declared as for releases, its entry in the codebook."""

    name: str
    kind: Kind
    entry: CodebookEntry | None = None


@dataclass(frozen=True)
class TableSpec:
    """A table: at most ``max_records`` rows of each unit, found by the column ``unit`` (None: each row is a unit).

    ``rows`` is how many rows there are at most, a public number on which limits of time rest. ``source``, and the
    ``dialect`` in which it is written, are never published.
    """

    name: str
    columns: tuple[ColumnSpec, ...]
    unit: str | None = None
    max_records: int = 1
    rows: int = USUAL_ROWS
    source: str | None = field(default=None, repr=False)
    dialect: Dialect = field(default=USUAL, repr=False, compare=False)

    def __post_init__(self) -> None:
        # In one order, so that a declaration is the same whatever file or JSON it was read from.
        object.__setattr__(self, "columns", tuple(sorted(self.columns, key=lambda column: column.name)))
        names = [column.name for column in self.columns]
        if not names or len(set(names)) != len(names) or self.unit in names:
            raise UsageError(f"the table {self.name!r} needs columns with different names, none of them the unit")
        if not 1 <= self.max_records <= MOST_RECORDS:
            raise UsageError(f"a unit has 1 to {MOST_RECORDS:,} records in a table, not {self.max_records}")
        if self.unit is None and self.max_records != 1:
            raise UsageError(f"in the table {self.name!r} each row is a unit, so each unit has one record")


@dataclass(frozen=True)
class DataSpec:
    """A checked declaration. What is protected is a unit with all its rows in all tables.

    ``public_tables``: tables that protect nobody, each with its name, for rows to be joined with.
    """

    tables: tuple[TableSpec, ...]
    neighbours: Neighbours = "add-remove"
    title: str = ""
    public_tables: tuple[tuple[str, PublicTable], ...] = ()
    base: Path | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", tuple(sorted(self.tables, key=lambda table: table.name)))
        object.__setattr__(self, "public_tables", tuple(sorted(self.public_tables, key=lambda one: one[0])))
        names = [table.name for table in self.tables]
        every = [*names, *(name for name, _ in self.public_tables)]
        if not names or len(set(every)) != len(every):
            raise UsageError("a data set for questions needs tables with different names")
        if len(self.tables) > 1 and any(table.unit is None for table in self.tables):
            raise UsageError("tables that share a unit need the column that names it")
        if self.neighbours not in NEIGHBOURS:
            raise UsageError(f"neighbours must be one of {', '.join(NEIGHBOURS)}, not {self.neighbours!r}")

    @classmethod
    def load(cls, source: str | Path | Mapping[str, object]) -> DataSpec:
        """A declaration from a file, from TOML text (text with more than one line), or from a mapping."""
        return load_document(source, _checked)

    @property
    def way(self) -> str:
        return "question"

    @property
    def public(self) -> dict[str, PublicTable]:
        """The public tables, by name."""
        return dict(self.public_tables)

    @property
    def notion(self) -> Notion:
        """Whom questions protect. A unit's records are those in all tables together."""
        return Notion(
            unit=self.tables[0].unit,
            records=sum(table.max_records for table in self.tables),
            neighbours=self.neighbours,
        )

    def location(self, table: TableSpec) -> str | None:
        """Where the rows of a table are, a relative path being relative to the file of the declaration."""
        return located(table.source, self.base)

    def public_dict(self) -> dict[str, Any]:
        """The publishable part, in the shape of the TOML file; `load` reads it back."""
        return dict(self._public)

    @cached_property
    def _public(self) -> Mapping[str, Any]:
        head: dict[str, Any] = {"title": self.title} if self.title else {}
        tables = {table.name: _table_dict(table) for table in self.tables}
        public = {name: public_dict(table) for name, table in self.public_tables}
        told = {**head, "neighbours": self.neighbours, "tables": tables, **({"public": public} if public else {})}
        return cast(dict[str, Any], json_ready(told))


def declared_in(told: Mapping[str, Any]) -> DataSpec:
    """The declaration that `DataSpec.public_dict` wrote. Every question names its own, and most name the same."""
    if not isinstance(told, Mapping):
        raise UsageError("a data set is declared by a table of tables")  # never by the name of a file
    return _declared(canonical(told))


@lru_cache(maxsize=16)
def _declared(text: str) -> DataSpec:
    return DataSpec.load(json.loads(text))


def _table_dict(table: TableSpec) -> dict[str, object]:
    unit: dict[str, object] = {} if table.unit is None else {"unit": table.unit, "max_records": table.max_records}
    return {**unit, "rows": table.rows, "columns": {one.name: _column_dict(one) for one in table.columns}}


def _column_dict(column: ColumnSpec) -> dict[str, object]:
    kind = column.kind
    if column.entry is not None:
        return entry_dict(column.entry)
    if isinstance(kind, Days):
        return {"days": [kind.first, kind.last]}
    assert isinstance(kind, Numbers)
    return {"number": [exact_text(kind.least), exact_text(kind.most)], "step": exact_text(kind.step)}


def _checked(document: Mapping[str, object], base: Path | None, source: str, text: str) -> DataSpec:
    return read_document(Node(document), lambda root: _read(root, base), source, text)


def _read(root: Node, base: Path | None) -> DataSpec | None:
    keys = root.table(SECTIONS)
    if "tables" not in keys:
        root.problem("the section [tables] is missing; a table is declared as [tables.people]")
    title = keys["title"].text() if "title" in keys else None
    unit = keys["unit"].text() if "unit" in keys else None
    neighbours = keys["neighbours"].choice(NEIGHBOURS) if "neighbours" in keys else "add-remove"
    declared = keys["tables"].pairs("a table for each table of the data set") if "tables" in keys else {}
    tables = [_read_table(name, node, unit) for name, node in declared.items()]
    sound = tuple(table for table in tables if table is not None)
    if "tables" in keys and not declared:
        keys["tables"].problem("declare at least one table")
    if len(declared) > 1 and any(table.unit is None for table in sound):
        root.problem('tables that share a unit need the column that names it: unit = "…"')
    public = read_public(keys["public"], list(declared)) if "public" in keys else {}
    for name, table in public.items():
        for problem in filter(
            None, [word_problem(name, "table"), *(word_problem(c.name, "column") for c in table.columns)]
        ):
            keys["public"].problem(problem)
    if root.problems or neighbours is None:
        return None
    return DataSpec(sound, neighbours, title or "", tuple(public.items()), base)


def _read_table(name: str, node: Node, shared: str | None) -> TableSpec | None:
    before = len(node.problems)
    if problem := word_problem(name, "table"):
        node.problem(problem)
    keys = node.table(TABLE_KEYS)
    unit = keys["unit"].text() if "unit" in keys else shared
    most = keys["max_records"].whole() if "max_records" in keys else 1
    if most is not None and not 1 <= most <= MOST_RECORDS:
        keys["max_records"].problem(f"must be 1 to {MOST_RECORDS:,}")
    if unit is None and most != 1:
        node.problem("max_records needs the column that names the unit")
    if unit is not None and "max_records" not in keys:
        node.needs(keys, "max_records, the most rows that one unit may have here")
    rows = keys["rows"].whole() if "rows" in keys else USUAL_ROWS
    if rows is not None and not 1 <= rows <= MOST_ROWS:
        keys["rows"].problem(f"must be 1 to {MOST_ROWS:,}")
    source = keys["source"].path() if "source" in keys else None
    columns = _read_columns(keys["columns"], unit) if "columns" in keys else None
    if "columns" not in keys:
        node.needs(keys, "columns")
    if len(node.problems) > before or not columns or most is None or rows is None:
        return None
    return TableSpec(name, tuple(columns), unit, most, rows, source, read_dialect(keys))


def _read_columns(node: Node, unit: str | None) -> list[ColumnSpec]:
    declared = node.pairs("a table with one key for each column")
    if not declared and isinstance(node.value, Mapping):
        node.problem("declare at least one column")
    of_releases = {name: one.value for name, one in declared.items() if not _is_new(one.value)}
    entries: dict[str, CodebookEntry] = {}
    if of_releases:
        codebook, _ = read_attributes(Node(of_releases, node.place, node.problems))
        entries = {entry.name: entry for entry in codebook.entries}
    found = []
    for name, one in declared.items():
        if problem := word_problem(name, "column") or name_problem(name):
            one.problem(problem)
        if name == unit:
            one.problem("is the unit, whose values nobody may ask for")
        if name in entries:
            found.append(ColumnSpec(name, _kind_of(entries[name]), entries[name]))
        elif name not in of_releases and (kind := _read_kind(one)) is not None:
            found.append(ColumnSpec(name, kind))
    return found


def _is_new(value: object) -> bool:
    return isinstance(value, Mapping) and bool({"number", "days"} & set(value))


def _kind_of(entry: CodebookEntry) -> Kind:
    """Whole numbers of a range are numbers, unless words stand among them; everything else is a list of values."""
    if isinstance(entry.rule, Range) and entry.missing is None and entry.other is None:
        return Numbers(entry.rule.low, entry.rule.high)
    return Values(entry.attribute.values)


def _read_kind(node: Node) -> Kind | None:
    keys = node.pairs()
    if "days" in keys:
        node.table(("days",))
        return _read_days(keys["days"])
    keys = node.table(NUMBER_KEYS)
    step = keys["step"].positive() if "step" in keys else Fraction(1)
    ends = keys["number"].items("a list [lowest, highest]") if "number" in keys else None
    if ends is None or step is None:
        return None
    if len(ends) != 2:
        keys["number"].problem("must be [lowest, highest]")
        return None
    low, high = (end.number() for end in ends)
    if low is None or high is None:
        return None
    if low >= high:
        keys["number"].problem("the lowest must be less than the highest")
    elif (low / step).denominator != 1 or (high / step).denominator != 1:
        keys["number"].problem(f"both ends must be multiples of the step {exact_text(step)}")
    elif max(abs(low), abs(high)) / step >= 1 << 53:
        keys["number"].problem("has too many steps: give a larger step")
    else:
        return Numbers(int(low / step), int(high / step), step)
    return None


def _read_days(node: Node) -> Kind | None:
    ends = node.items("a list [first day, last day]")
    if ends is None:
        return None
    days = [_read_day(end) for end in ends]
    if len(days) != 2 or any(day is None for day in days):
        node.problem("must be [first day, last day], such as [2000-01-01, 2024-12-31]")
        return None
    first, last = cast(list[date], days)
    if first > last:
        node.problem("the first day must not come after the last")
        return None
    return Days.between(first, last)


def _read_day(node: Node) -> date | None:
    value = node.value
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
