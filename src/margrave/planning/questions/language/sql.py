"""A part of SQL, translated to the language of questions. What is not in the list of allowed parts is refused.

One SELECT over one table, or over tables joined on the unit, with one aggregate, and WHERE and GROUP BY. No text of it
reaches an engine: what is run is the tree, as if it had been built in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any, NoReturn

from margrave.budget.numbers import exact_number
from margrave.errors import UsageError, suggest
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.kinds import Days
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.public import Lookup, PublicName, PublicTable
from margrave.planning.questions.language.tokens import MOST_LETTERS

_HOW = {
    "": "inner", "INNER": "inner", "LEFT": "left", "LEFT OUTER": "left",
    "SEMI": "semi", "LEFT SEMI": "semi", "ANTI": "anti", "LEFT ANTI": "anti",
}  # fmt: skip
_COMPARED = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_RECKONED = {"Add": "+", "Sub": "-", "Mul": "*"}
_PARTS = {"Year": "year", "Month": "month", "Day": "day", "DayOfWeekIso": "weekday"}
_VALUED: Mapping[str, Callable[..., a.Aggregate]] = {"Sum": a.Sum, "Avg": a.Average, "VariancePop": a.Variance}
_QUANTILES = ("PercentileCont", "PercentileDisc", "Quantile")
_ASKED = {"Count", "Median", *_VALUED, *_QUANTILES}
_SILENT = {"big_int", "_type"}


def read_sql(text: str, data: DataSpec, public: Mapping[str, PublicTable] | None = None) -> a.Aggregate:
    """The question that an SQL text asks of a data set; ``public``: further public tables that it may name."""
    try:
        import sqlglot
    except ImportError:
        raise UsageError("SQL needs sqlglot: pip install 'margrave[sql]'") from None
    if len(text) > MOST_LETTERS:
        raise UsageError(f"a question has up to {MOST_LETTERS:,} letters")
    try:
        found = sqlglot.parse(text, read="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise UsageError("the text cannot be read as SQL") from None
    if len(found) != 1 or found[0] is None:
        raise UsageError("a question is one SELECT")
    try:
        return _Translator(data, public or {}).question(found[0])
    except RecursionError:
        raise UsageError("the question has too many levels") from None


def _kind(node: Any) -> str:
    return type(node).__name__


def _refuse(node: Any, why: str = "") -> NoReturn:
    words = getattr(node, "key", _kind(node)).upper().replace("_", " ")
    raise UsageError(f"{words} is not allowed in a question{why}")


def _only(node: Any, *allowed: str) -> None:
    """Refuse a node that has a part which is not in the list."""
    for name, value in node.args.items():
        if value and name not in allowed and name not in _SILENT:
            inner = value[0] if isinstance(value, list) else value
            _refuse(inner if hasattr(inner, "args") else node, f" ({name.rstrip('_')})")


class _Translator:
    def __init__(self, data: DataSpec, public: Mapping[str, PublicTable]) -> None:
        self._tables = {table.name: table for table in data.tables}
        self._columns = {table.name: {one.name for one in table.columns} for table in data.tables}
        self._public: dict[str, PublicTable | PublicName] = {name: PublicName(name) for name in data.public}
        self._public |= public
        self._given = {**data.public, **public}
        self._columns |= {name: {one.name for one in table.columns[1:]} for name, table in self._given.items()}
        self._aliases: dict[str, str] = {}

    def question(self, node: Any) -> a.Aggregate:
        if _kind(node) != "Select":
            _refuse(node, ": a question is one SELECT")
        _only(node, "expressions", "from_", "joins", "where", "group")
        if node.args.get("from_") is None:
            raise UsageError("a question needs FROM")
        rows: r.Relation = self._table(node.args["from_"].this)
        for one in node.args.get("joins") or ():
            rows = self._join(rows, one)
        if node.args.get("where") is not None:
            rows = r.Where(rows, self._condition(node.args["where"].this))
        asked, plain = self._split(node.expressions)
        keys = self._keys(node.args.get("group"), plain)
        return self._aggregate(asked, rows, keys)

    def _table(self, node: Any) -> r.Rows:
        if _kind(node) != "Table":
            _refuse(node, ": name a table")
        _only(node, "this", "alias")
        if node.args.get("alias") is not None:
            _only(node.args["alias"], "this")
        name = node.name
        if not name:
            _refuse(node.this, ": name a table")
        if name not in self._tables:
            raise UsageError(f"the data set has no table {name!r}{suggest(name, self._tables)}")
        self._aliases[node.alias or name] = name
        return r.Rows(name)

    def _join(self, rows: r.Relation, node: Any) -> r.Relation:
        _only(node, "this", "on", "using", "kind", "side")
        words = " ".join(filter(None, (node.args.get("side"), node.args.get("kind"))))
        how = _HOW.get(words)
        if how is None:
            _refuse(node, f": {words} joins are not")
        if _kind(node.this) == "Table" and node.this.name in self._public:
            return self._lookup(rows, node, how)
        joined = self._table(node.this)
        using, on = node.args.get("using"), node.args.get("on")
        if using:
            named = [one.name for one in using]
        elif on is not None and _kind(on) == "EQ" and {_kind(on.this), _kind(on.expression)} == {"Column"}:
            named = [on.this.name, on.expression.name]
        else:
            raise UsageError("tables are joined on the unit alone: ON a.person = b.person, or USING (person)")
        units = {table.unit for table in self._tables.values()}
        if any(name not in units for name in named) or (using and len(named) != 1):
            raise UsageError(f"tables are joined on the unit alone ({', '.join(sorted(map(str, units)))})")
        return r.Join(rows, joined, how)

    def _lookup(self, rows: r.Relation, node: Any, how: str) -> r.Relation:
        """A join with a public table: ON people.region = places.region, or USING (region)."""
        _only(node.this, "this", "alias")
        name, alias = node.this.name, node.this.alias or node.this.name
        key = self._given[name].keys.name
        using, on = node.args.get("using"), node.args.get("on")
        sides = [on.this, on.expression] if on is not None and _kind(on) == "EQ" else []
        public = [one for one in sides if _kind(one) == "Column" and (one.table, one.name) == (alias, key)]
        if using and [one.name for one in using] == [key]:
            value: e.Value = e.Column(key)
        elif len(public) == 1:
            value = self._value(next(one for one in sides if one is not public[0]))
        else:
            raise UsageError(f"the public table {name!r} is joined on its key: ON … = {alias}.{key}, or USING ({key})")
        self._aliases[alias] = name
        return Lookup(rows, value, self._public[name], how)

    def _split(self, listed: list[Any]) -> tuple[Any, list[Any]]:
        """The one aggregate of a SELECT, and what else it lists."""
        bare = [(one.this if _kind(one) == "Alias" else one) for one in listed]
        asked = [one for one in bare if _kind(one) in _ASKED]
        if len(asked) > 1:
            raise UsageError(f"a question has one aggregate, not {len(asked)}: ask each by itself, or all with s.batch")
        if not asked:
            other = next((one for one in bare if _kind(one) not in ("Column", "Star", "Literal")), None)
            known = "COUNT(*), COUNT(DISTINCT unit), SUM, AVG, VAR_POP, MEDIAN, QUANTILE_CONT(value, share)"
            if other is not None and _kind(other) != "Case":
                _refuse(
                    other.this if _kind(other) == "WithinGroup" else other, f": a question has one aggregate, {known}"
                )
            raise UsageError(f"a question has one aggregate: {known}")
        return asked[0], [one for one, inner in zip(listed, bare, strict=True) if inner is not asked[0]]

    def _keys(self, group: Any, listed: list[Any]) -> tuple[r.Key, ...]:
        """The keys of GROUP BY; a name may be that of what SELECT lists under it. All that is listed must be a key."""
        named = {one.alias: one.this for one in listed if _kind(one) == "Alias"}
        keys = []
        if group is not None:
            _only(group, "expressions", "all")
        grouped = listed if group is not None and group.args.get("all") else (group.expressions if group else [])
        for one in grouped:
            if _kind(one) == "Literal":
                raise UsageError(
                    f"GROUP BY {one.sql()[:20]} is not allowed in a question: positions and constants are no names; "
                    "name the column, GROUP BY region"
                )
            inner, name = (one.this, one.alias) if _kind(one) == "Alias" else (one, one.name)
            if _kind(inner) == "Column" and name in named:
                inner = named[name]
            if not name:
                raise UsageError("what is computed needs a name to be grouped by: SELECT … AS name … GROUP BY name")
            keys.append(r.Key(name, self._value(inner)))
        for one in listed:
            if (one.alias if _kind(one) == "Alias" else one.name) not in {key.name for key in keys}:
                raise UsageError(f"{one.sql()[:60]!r} is listed, but not in GROUP BY")
        return tuple(keys)

    def _aggregate(self, node: Any, rows: r.Relation, keys: tuple[r.Key, ...]) -> a.Aggregate:
        kind = _kind(node)
        if kind == "Count":
            return self._count(node, rows, keys)
        if kind in _VALUED:
            _only(node, "this")
            return _VALUED[kind](rows, self._value(node.this), keys)
        if kind == "Median":
            _only(node, "this")
            return a.Quantiles(rows, self._value(node.this), (e.Numeral(Fraction(1, 2)),), keys)
        _only(node, "this", "expression", "quantile")
        share = self._constant(node.args.get("expression") or node.args.get("quantile"))
        if not isinstance(share, e.Numeral):
            raise UsageError("the share of a quantile must be a number")
        return a.Quantiles(rows, self._value(node.this), (share,), keys)

    def _count(self, node: Any, rows: r.Relation, keys: tuple[r.Key, ...]) -> a.Aggregate:
        _only(node, "this")
        inner = node.this
        if _kind(inner) == "Star":
            return a.Count(rows, keys)
        if _kind(inner) != "Distinct":
            return a.Count(r.Where(rows, e.Negation(e.IsMissing(self._value(inner)))), keys)
        _only(inner, "expressions")
        units = {table.unit for table in self._tables.values()}
        if len(inner.expressions) != 1 or inner.expressions[0].name not in units:
            raise UsageError("DISTINCT counts units alone: COUNT(DISTINCT person)")
        return a.UnitCount(rows, keys)

    # Conditions and values.

    def _condition(self, node: Any) -> e.Condition:
        kind = _kind(node)
        if kind == "Paren":
            return self._condition(node.this)
        if kind in ("And", "Or"):
            pair = (self._condition(node.this), self._condition(node.expression))
            return e.AllOf(pair) if kind == "And" else e.AnyOf(pair)
        if kind == "Not":
            return e.Negation(self._condition(node.this))
        if kind in _COMPARED:
            if "Null" in (_kind(node.this), _kind(node.expression)):
                raise UsageError("nothing equals NULL, nor differs from it: write IS NULL, or IS NOT NULL")
            left, right = self._value(node.this), self._value(node.expression)
            return e.Compare(_COMPARED[kind], self._as_day(left, right), self._as_day(right, left))
        if kind == "Between":
            _only(node, "this", "low", "high")
            value = self._value(node.this)
            ends = self._value(node.args["low"]), self._value(node.args["high"])
            low, high = (self._as_day(one, value) for one in ends)
            return e.AllOf((e.Compare(">=", value, low), e.Compare("<=", value, high)))
        if kind == "In":
            _only(node, "this", "expressions")
            value = self._value(node.this)
            return e.Among(value, tuple(self._as_day(self._constant(one), value) for one in node.expressions))
        if kind == "Is" and _kind(node.expression) == "Null":
            return e.IsMissing(self._value(node.this))
        return _refuse(node)

    def _as_day(self, one: e.Value, other: e.Value) -> e.Value:
        """A text that is compared with a column of days is a day, as everywhere in SQL."""
        if not isinstance(one, e.Text) or not isinstance(other, e.Column):
            return one
        tables = [self._tables[name] for name in self._aliases.values() if name in self._tables]
        kinds = [column.kind for table in tables for column in table.columns if column.name == other.name]
        if not kinds or not all(isinstance(kind, Days) for kind in kinds):
            return one
        return _day(one.value)

    def _value(self, node: Any) -> e.Value:
        kind = _kind(node)
        if kind == "Paren":
            return self._value(node.this)
        if kind == "Column":
            return self._column(node)
        if kind in _RECKONED:
            return e.Arithmetic(_RECKONED[kind], self._value(node.this), self._value(node.expression))
        if kind == "IntDiv":
            by = self._constant(node.expression)
            if not isinstance(by, e.Numeral) or by.value.denominator != 1:
                raise UsageError("// divides by a whole number")
            return e.Divide(self._value(node.this), int(by.value))
        if kind in _PARTS:
            _only(node, "this")
            return e.DatePart(_PARTS[kind], self._value(node.this))
        if kind == "Case":
            return self._case(node)
        return self._constant(node)

    def _case(self, node: Any) -> e.Value:
        _only(node, "ifs", "default")
        branches = tuple(e.When(self._condition(one.this), self._value(one.args["true"])) for one in node.args["ifs"])
        default = node.args.get("default")
        return e.Case(branches, e.Missing() if default is None else self._value(default))

    def _column(self, node: Any) -> e.Column:
        _only(node, "this", "table")
        name, alias = node.name, node.table
        within = [self._aliases[alias]] if alias in self._aliases else [] if alias else list(self._aliases.values())
        known = {column for table in within for column in self._columns[table]}
        if name not in known:
            quoted = "; a text stands between single quotes" if getattr(node.this, "quoted", False) else ""
            raise UsageError(f"there is no column {node.sql()[:60]!r}{suggest(name, known) or quoted}")
        return e.Column(name)

    def _constant(self, node: Any) -> e.Value:
        kind = _kind(node)
        if kind == "Paren":
            return self._constant(node.this)
        if kind == "Null":
            return e.Missing()
        if kind == "Literal":
            return e.Text(node.this) if node.args.get("is_string") else e.Numeral(exact_number(node.this))
        if kind == "Neg" and isinstance(inner := self._constant(node.this), e.Numeral):
            return e.Numeral(-inner.value)
        if kind == "Cast" and node.to.sql() == "DATE" and _kind(node.this) == "Literal":
            return _day(node.this.this)
        return _refuse(node)


def _day(text: str) -> e.Day:
    try:
        return e.Day(date.fromisoformat(text))
    except ValueError:
        raise UsageError("a day is written as DATE '2024-12-31'") from None
