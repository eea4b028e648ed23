"""A small data set of two tables, random rows of it, and random questions about it."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction

from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.kinds import Days, Numbers, Values
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.parts import Part
from margrave.planning.questions.language.public import LOOKUPS, Lookup, PublicColumn, PublicTable
from margrave.planning.questions.programs.rows import rows_of

SPEC = """
title = "People and visits"
unit = "person"
neighbours = "NEIGHBOURS"

[tables.people]
max_records = 1
rows = 100
[tables.people.columns]
region = ["north", "south", "it's"]
age = { range = [0, 5] }
income = { number = [-1, 1.5], step = 0.5 }
joined = { days = [2023-12-30, 2024-01-03] }

[tables.visits]
max_records = 3
rows = 300
[tables.visits.columns]
ward = ["a", "b"]
cost = { number = [0, 2], step = 0.25 }
seen = { days = [2024-02-28, 2024-03-01] }
"""


def data_spec(neighbours="add-remove"):
    return DataSpec.load(SPEC.replace("NEIGHBOURS", neighbours))


COLUMNS = {table.name: [column.name for column in table.columns] for table in data_spec().tables}


def kind_values(kind):
    """All values of a kind, as people write them."""
    if isinstance(kind, Values):
        return list(kind.values)
    if isinstance(kind, Days):
        return [date(1970, 1, 1) + timedelta(days=code) for code in range(kind.low, kind.high + 1)]
    return [code * kind.step for code in range(kind.low, kind.high + 1)]


def random_row(table, random):
    return {
        column.name: None if random.random() < 0.15 else random.choice(kind_values(column.kind))
        for column in table.columns
    }


def random_unit(spec, random):
    """The rows of one unit in each table: none to as many as it may have."""
    return {
        table.name: [random_row(table, random) for _ in range(random.randint(0, table.max_records))]
        for table in spec.tables
    }


def data_of(units, spec):
    """Rows of several units, by table."""
    return {
        table.name: [(number, row) for number, unit in enumerate(units) for row in unit[table.name]]
        for table in spec.tables
    }


def constant(value):
    return e.Text(value) if isinstance(value, str) else e.Day(value) if isinstance(value, date) else e.Numeral(value)


class Random:
    """Random questions: well formed, over the columns that rows have."""

    def __init__(self, random, spec, named="n{}"):
        self.random, self.spec, self.names, self.named = random, spec, 0, named

    def name(self):
        """A new name: words with a number, or whatever is given."""
        self.names += 1
        return self.named.format(self.names) if isinstance(self.named, str) else self.named(self.names)

    def columns(self, relation):
        return rows_of(relation, self.spec).columns

    def constant(self, kind):
        found = self.random.choice(kind_values(kind))
        if isinstance(kind, Values):
            return e.Text(found)
        if isinstance(kind, Days):
            return e.Day(found)
        return e.Numeral(Fraction(found) + self.random.choice([0, 0, Fraction(1, 3), Fraction(1, 10)]))

    def column(self, columns, *kinds):
        found = [column for column in columns if isinstance(column.kind, kinds)]
        return self.random.choice(found) if found else None

    def number(self, columns, depth):
        pick, column = self.random.randint(0, 8), self.column(columns, Numbers)
        if depth and pick == 0:
            sign = self.random.choice("+-*")
            return e.Arithmetic(sign, self.number(columns, depth - 1), self.number(columns, depth - 1))
        if depth and pick == 1:
            return e.Divide(self.number(columns, depth - 1), self.random.randint(1, 3))
        if depth and pick == 2:
            return self.case(columns, depth, lambda: self.number(columns, depth - 1))
        if pick == 3 and (day := self.column(columns, Days)) is not None:
            return e.DatePart(self.random.choice(e.DATE_PARTS), e.Column(day.name))
        if pick == 4 and (day := self.column(columns, Days)) is not None:
            return e.Arithmetic("-", e.Column(day.name), self.constant(day.kind))
        if column is None or pick == 5:
            return e.Numeral(Fraction(self.random.randint(-4, 4), self.random.choice([1, 2, 3])))
        return e.Column(column.name)

    def case(self, columns, depth, value):
        branches = [e.When(self.condition(columns, depth - 1), value()) for _ in range(self.random.randint(1, 2))]
        return e.Case(tuple(branches), value() if self.random.random() < 0.7 else e.Missing())

    def text(self, columns, depth):
        column, pick = self.column(columns, Values), self.random.randint(0, 4)
        if depth and pick == 0:
            return self.case(columns, depth, lambda: e.Text(self.random.choice(["x", "y"])))
        if depth and pick == 1 and column is not None:
            inner = e.When(self.condition(columns, depth - 1), e.Text("other"))
            return e.Case((inner,), e.Column(column.name))
        if pick == 2 or column is None:
            edges = sorted(self.random.sample([Fraction(n, 2) for n in range(-4, 9)], self.random.randint(2, 4)))
            return e.Binned(self.number(columns, depth), tuple(e.Numeral(edge) for edge in edges))
        return e.Column(column.name)

    def condition(self, columns, depth):
        pick, column = self.random.randint(0, 7), self.random.choice(columns)
        if depth and pick in (0, 1):
            several = tuple(self.condition(columns, depth - 1) for _ in range(self.random.randint(2, 3)))
            return e.AllOf(several) if pick else e.AnyOf(several)
        if depth and pick == 2:
            return e.Negation(self.condition(columns, depth - 1))
        if pick == 3:
            return e.IsMissing(e.Column(column.name))
        if pick == 4:
            members = tuple({self.constant(column.kind): None for _ in range(self.random.randint(1, 3))})
            return e.Among(e.Column(column.name), members)
        if pick == 5:
            sign = self.random.choice(e.COMPARISONS)
            return e.Compare(sign, self.number(columns, depth), self.number(columns, depth))
        signs = ("=", "!=") if isinstance(column.kind, Values) else e.COMPARISONS
        sides = [e.Column(column.name), self.constant(column.kind)]
        self.random.shuffle(sides)
        return e.Compare(self.random.choice(signs), *sides)

    def relation(self, depth):
        pick = self.random.randint(0, 11) if depth else 99
        if pick == 99:
            return r.Rows(self.random.choice(["people", "visits"]))
        inner = self.relation(depth - 1)
        columns = self.columns(inner)
        if pick <= 2:
            return r.Where(inner, self.condition(columns, 2))
        if pick == 3:
            values = [self.number(columns, 2), self.text(columns, 1)]
            return r.Select(inner, tuple(r.Named(self.name(), one) for one in values), self.random.random() < 0.6)
        if pick == 4:
            return r.PerUnit(inner, tuple(self.reduction(columns) for _ in range(self.random.randint(1, 3))))
        if pick == 5:
            return r.Distinct(inner)
        if pick == 6:
            other = r.Where(inner, self.condition(columns, 1))
            return self.random.choice([r.Union, r.Intersect, r.Except])(inner, other)
        if pick == 10:
            return self.lookup(inner, columns)
        if pick == 11:
            return self.part(inner, columns)
        other = self.renamed(self.relation(depth - 1))
        return r.Join(inner, other, self.random.choice(r.JOINS))

    def lookup(self, inner, columns):
        """A join with a public table of some values of a column, some of them twice or unknown to the column."""
        column = self.random.choice(columns)
        keys = [self.constant(column.kind) for _ in range(self.random.randint(1, 4))]
        if isinstance(column.kind, Values):
            keys.append(e.Text("nowhere"))
        makes = [
            lambda: e.Text(self.random.choice("xyz")),
            lambda: e.Numeral(Fraction(self.random.randint(-3, 3), self.random.choice([1, 2, 4]))),
            lambda: e.Day(date(2024, 1, self.random.randint(1, 3))),
        ]
        added = []
        for _ in range(self.random.randint(1, 2)):
            make = self.random.choice(makes)
            values = [make() if at == 0 or self.random.random() < 0.8 else e.Missing() for at in range(len(keys))]
            added.append(PublicColumn(self.name(), tuple(values)))
        table = PublicTable((PublicColumn(self.name(), tuple(keys)), *added))
        return Lookup(inner, e.Column(column.name), table, self.random.choice(LOOKUPS))

    def part(self, inner, columns):
        """A part of a partition over some or all values of a column, in as many of which a unit is as it may be."""
        column = self.random.choice(columns)
        every = [constant(one) for one in kind_values(column.kind)]
        some = self.random.sample(every, self.random.randint(1, len(every)))
        only = tuple(some) if self.random.random() < 0.5 else ()
        key = r.Key(self.name(), e.Column(column.name), only)
        most = self.random.choice([None, rows_of(inner, self.spec).most])
        return Part(inner, key, self.random.choice(only or every), most)

    def renamed(self, relation):
        return r.Select(relation, tuple(r.Named(self.name(), e.Column(one.name)) for one in self.columns(relation)))

    def reduction(self, columns):
        how = self.random.choice(r.REDUCTIONS)
        if how in ("sum", "min", "max"):
            return r.Reduction(self.name(), how, self.number(columns, 1))
        condition = self.condition(columns, 1) if how == "any" or self.random.random() < 0.5 else None
        return r.Reduction(self.name(), how, None, condition)

    def aggregate(self, depth=3):
        rows = self.relation(self.random.randint(0, depth))
        columns = self.columns(rows)
        keys = tuple(self.key(columns) for _ in range(self.random.choice([0, 0, 1, 1, 2])))
        pick = self.random.randint(0, 7)
        if pick <= 1:
            most = self.random.randint(1, 2) if self.random.random() < 0.3 else None
            return a.Count(rows, keys, most_per_group=most)
        if pick == 2:
            return a.UnitCount(rows, keys)
        value = self.number(columns, 1)
        if pick == 3:
            ends = {"low": e.Numeral(-1), "high": e.Numeral(2)} if self.random.random() < 0.5 else {}
            return a.Sum(rows, value, keys, **ends)
        if pick in (4, 5):
            return (a.Average if pick == 4 else a.Variance)(rows, value, keys, e.Numeral(-1), e.Numeral(2))
        if pick == 6:
            return a.Quantiles(rows, value, (e.Numeral("1/4"), e.Numeral("1/2")), keys)
        return a.Choose(rows, self.text(columns, 1))

    def key(self, columns):
        return r.Key(self.name(), self.text(columns, 1) if self.random.random() < 0.8 else self.number(columns, 0))
