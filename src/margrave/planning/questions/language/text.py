"""The language as readable text: ``people where age in 18-64 by region average income``.

Rows and what is asked of them; `reading` has values and conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from margrave.errors import UsageError
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.hints import asked_hint, no_column, start_hint
from margrave.planning.questions.language.parts import Part, Partition
from margrave.planning.questions.language.public import Lookup, PublicColumn, PublicName, PublicTable
from margrave.planning.questions.language.reading import ValueReader
from margrave.planning.questions.language.tokens import unquoted

_VALUED: dict[str, Callable[..., a.Aggregate]] = {
    "sum": a.Sum,
    "average": a.Average,
    "variance": a.Variance,
    "cumulative": a.Cumulative,
}
_BOUNDS = {"rows": "most_rows", "groups": "most_groups", "per": "most_per_group"}
_SETS: dict[str, type[r.Union] | type[r.Intersect] | type[r.Except]] = {
    "union": r.Union,
    "intersect": r.Intersect,
    "except": r.Except,
}


def parsed(text: str, data: DataSpec, public: Mapping[str, PublicTable] | None = None) -> a.Aggregate | Partition:
    """The question that a text asks of a data set; ``public``: further public tables that it may name."""
    reader = _Reader(text, data, public or {})
    try:
        found = reader.question()
    except RecursionError:
        raise UsageError("the question has too many levels") from None
    reader.end()
    return found


class _Reader(ValueReader):
    """Reads rows, and what is asked of them."""

    def __init__(self, text: str, data: DataSpec, public: Mapping[str, PublicTable]) -> None:
        super().__init__(text, data)
        self._tables = {table.name for table in data.tables}
        for name in public:
            if name in self._tables or name in data.public:
                raise UsageError(f"{name!r} is a table of the data set: give the public table another name")
        self._public: dict[str, PublicTable | PublicName] = {name: PublicName(name) for name in data.public}
        self._public |= public
        for table in (*data.public.values(), *public.values()):
            self._names |= {column.name for column in table.columns[1:]}

    # Rows.

    def question(self) -> a.Aggregate | Partition:
        rows = self._rows()
        if self._take("partition"):
            self._need("by")
            return Partition(rows, self._key(), self._most_parts())
        keys = self._several(self._key) if self._take("by") else ()
        return self._aggregate(rows, keys)

    def _rows(self) -> r.Relation:
        found = self._source()
        while (clause := self._clause(found)) is not None:
            found = clause
        return found

    def _source(self) -> r.Relation:
        if self._is("("):
            return self._inside(self._rows)
        name = self._name("a table")
        if name not in self._tables:
            self._at -= 1
            self._fail(f"a table is expected ({', '.join(sorted(self._tables))})", start_hint(name, self._tables))
        return r.Rows(name)

    def _clause(self, rows: r.Relation) -> r.Relation | None:
        if self._take("where"):
            return r.Where(rows, self._condition())
        if self._is("with", "select"):
            add = self._take("with") or not self._take("select")
            return r.Select(rows, self._several(self._named), add)
        if self._take("distinct"):
            return r.Distinct(rows)
        if self._is("per") and self._tokens[self._at + 1].text.lower() == "unit":
            self._at += 2
            return r.PerUnit(rows, self._several(self._reduction))
        for word, kind in _SETS.items():
            if self._take(word):
                return kind(rows, self._source())
        if self._take("part"):
            value = self._constant()
            self._need("of")
            return Part(rows, self._key(), value, self._most_parts())
        how = "inner"
        if self._is("left", "semi", "anti", "inner"):
            how = self._word("a join").lower()
            self._need("join")
        elif not self._take("join"):
            return None
        if self._is("public") and self._tokens[self._at + 1].text == "(":
            self._at += 1
            return self._lookup(rows, PublicTable(self._inside(lambda: self._several(self._public_column))), how)
        token = self._next
        if (named := self._public.get(unquoted(token.text) if token.kind == "name" else token.text)) is not None:
            self._at += 1
            return self._lookup(rows, named, how)
        return r.Join(rows, self._source(), how)

    def _lookup(self, rows: r.Relation, table: PublicTable | PublicName, how: str) -> r.Relation:
        self._need("on")
        return Lookup(rows, self._value(), table, how)

    def _public_column(self) -> PublicColumn:
        name = self._new_name()
        self._need("=")
        return PublicColumn(name, self._inside(lambda: self._several(self._given)))

    def _given(self) -> e.Value:
        return e.Missing() if self._take("missing") else self._constant()

    def _most_parts(self) -> int | None:
        return self._whole() if self._take("parts") else None

    def _named(self) -> r.Named:
        name = self._new_name()
        return r.Named(name, self._value() if self._take("=") else e.Column(name))

    def _reduction(self) -> r.Reduction:
        name = self._new_name()
        self._need("=")
        how = self._word("count, sum, min, max or any").lower()
        if how in ("count", "any"):
            empty = self._is("(") and self._tokens[self._at + 1].text == ")"
            if empty:
                self._at += 2
            return r.Reduction(name, how, None, None if empty else self._inside(self._condition))
        return r.Reduction(name, how, self._inside(self._value))

    def _key(self) -> r.Key:
        name = self._new_name()
        value = self._value() if self._take("=") else e.Column(name)
        return r.Key(name, value, self._only())

    def _only(self) -> tuple[e.Value, ...]:
        return self._inside(lambda: self._several(self._constant)) if self._take("only") else ()

    # What is asked.

    def _aggregate(self, rows: r.Relation, keys: tuple[r.Key, ...]) -> a.Aggregate:
        what = self._word("what is asked").lower()
        given: dict[str, Any] = {"rows": rows}
        if what in _VALUED:
            return self._asked(_VALUED[what], keys, {**given, "value": self._asked_value()})
        if what in ("count", "units"):
            return self._asked(a.Count if what == "count" else a.UnitCount, keys, given)
        if what == "median":
            return self._asked(a.Quantiles, keys, {**given, "value": self._asked_value(), "shares": (_HALF,)})
        if what == "quantiles":
            shares = self._inside(lambda: self._several(self._numeral))
            self._need("of")
            return self._asked(a.Quantiles, keys, {**given, "value": self._asked_value(), "shares": shares})
        if what == "tables":
            return self._asked(a.Tables, keys, {**given, "tables": self._inside(lambda: self._several(self._table))})
        if what == "choose":
            return self._asked(a.Choose, keys, {**given, "value": self._asked_value(), "only": self._only()})
        self._at -= 1
        known = (*_VALUED, "count", "units", "median", "quantiles", "choose")
        return self._fail(f"{', '.join(known)} or tables is expected", asked_hint(what, (*known, "tables")))

    def _asked_value(self) -> e.Value:
        found = self._value()
        if isinstance(found, e.Text):
            raise UsageError(no_column(found.value, self._names))
        return found

    def _table(self) -> a.TableOf:
        """Columns with a star between, or () for all rows."""
        empty = self._is("(") and self._tokens[self._at + 1].text == ")"
        self._at += 2 * empty
        return a.TableOf(() if empty else self._several(lambda: e.Column(self._name("a column")), "*"))

    def _asked(self, kind: Callable[..., a.Aggregate], keys: tuple[r.Key, ...], given: dict[str, Any]) -> a.Aggregate:
        while True:
            if self._is("low", "high", "interval"):
                name = self._word("low or high").lower()
                given[name] = self._numeral()
            elif self._is(*_BOUNDS):
                name = _BOUNDS[self._word("a bound").lower()]
                if name == "most_per_group":
                    self._need("group")
                given[name] = self._whole()
            else:
                break
        try:
            return kind(**given, **({"by": keys} if keys else {}))
        except TypeError:
            raise UsageError("what is asked has no such bound, or is not asked by group") from None


_HALF = e.Numeral(Fraction(1, 2))
