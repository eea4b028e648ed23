"""Tables of rows, asked as one question: the planner of releases plans them, and the answer is an ordinary release.

The rows of a question are its records, and a unit owns as many as it can have among them. Under replace a unit takes
its records away and adds others, which is what adding and removing twice as many is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from margrave.algebra.domain import Margin
from margrave.algebra.encoding import ENCODINGS
from margrave.budget.units import Budget, amount
from margrave.errors import RefusedError, UsageError
from margrave.ledger.values import Notion
from margrave.planning.asked import NothingExact, Sheet
from margrave.planning.checks import check_plan
from margrave.planning.limits import COUNTED_RECORDS
from margrave.planning.plan import Plan
from margrave.planning.planner import fixed_plan
from margrave.planning.protected import protection_of
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.kinds import size_of
from margrave.planning.questions.language.aggregates import Count, Tables
from margrave.planning.questions.language.expressions import Column
from margrave.planning.questions.language.form import check_form_size
from margrave.planning.questions.language.relations import Key, Relation
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.price.expectation import Expectation
from margrave.planning.questions.price.mechanisms import Price, noise_said
from margrave.planning.questions.programs.lowering import ColumnShape
from margrave.planning.questions.programs.missing import with_all
from margrave.planning.questions.programs.rows import rows_of
from margrave.planning.questions.programs.sought import MOST_GROUPS, Sought, sought_of
from margrave.planning.questions.programs.vain import vain
from margrave.planning.questions.programs.work import Work, work_of
from margrave.planning.questions.several.partition import PartPurse, paid_from, read_purse
from margrave.planning.written import digest_of, measurement_from_json
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.sections import DataSection, Unit
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted

_PLAN_STEPS = 4_000
"""What it takes to read a plan, and to check it again."""


@dataclass(frozen=True)
class TablesQuestion(NothingExact):
    """Tables of a data set at a budget, with their plan. It is an `Asked`.

    ``purse``: where they are of a part, the purse that pays, as that of a `PricedQuestion`.
    """

    data: DataSpec
    aggregate: Tables
    budget: Price
    plan: Plan
    purse: PartPurse | None = None

    def __post_init__(self) -> None:
        if self.budget.delta:
            raise UsageError("a question is asked at a pure ε, or at a ρ")
        if self.purse is not None:
            self.purse.check(self.data, self.aggregate.rows)
        check_form_size(self.aggregate)
        if self.plan.spec != tables_spec(self.data, self.aggregate, self.budget, self.purse) or self.plan.exact:
            raise UsageError("the plan is not that of the tables that are asked for")
        if self.amount > amount(self.budget):
            raise UsageError("a question must not cost more than its budget")
        check_plan(self.plan)
        self.work.check()
        if self.work.rows > COUNTED_RECORDS:
            raise RefusedError(f"there may be more than {COUNTED_RECORDS} rows: the noisy sums could overflow")

    @classmethod
    def planned(
        cls, data: DataSpec, aggregate: Tables, budget: Price, purse: PartPurse | None = None
    ) -> TablesQuestion:
        """The tables with the best plan found."""
        return cls(data, aggregate, budget, fixed_plan(tables_spec(data, aggregate, budget, purse)), purse)

    @property
    def way(self) -> str:
        return "tables"

    @cached_property
    def title(self) -> str:
        return said(self.aggregate)

    @cached_property
    def counted(self) -> Mapping[Margin, Sought]:
        """What is counted, by margin: every table that a measurement needs."""
        rows = complete_rows(self.aggregate, self.data)
        margins = dict.fromkeys(self.plan.counted_margin(margin) for margin in self.plan.counted)
        return {margin: _counted(rows, margin, self.aggregate.most_rows, self.data) for margin in margins}

    @cached_property
    def work(self) -> Work:
        """How much there is to do, by public numbers."""
        several = [work_of(one, self.data) for one in self.counted.values()]
        steps = max(one.steps for one in several) + _PLAN_STEPS
        return Work(steps, sum(one.rows for one in several), sum(one.cells for one in several) + self.numbers)

    @cached_property
    def numbers(self) -> int:
        """How many noisy whole numbers are drawn."""
        return sum(one.query.outputs(self.plan.domain) for one in self.plan.measurements)

    @property
    def amount(self) -> Fraction:
        """ε, or ρ, of what is drawn: at most the budget."""
        return amount(self.plan.cost)

    @property
    def cost(self) -> Budget:
        return self.plan.cost

    @property
    def notion(self) -> Notion:
        return self.data.notion

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        return self.plan.events

    @cached_property
    def question(self) -> str:
        return digest_of({"way": self.way, **self.asked_json()})

    def asked_json(self) -> dict[str, Any]:
        """All that determines the answer's distribution; `read_tables` reads it back."""
        told = {
            "format": 1,
            "data": self.data.public_dict(),
            "asked": self.aggregate.to_json(),
            "budget": self.budget.as_dict(),
            "strategy": self.plan.strategy,
            "encoding": self.plan.encoding.name,
            "events": list(self.events),
        }
        return told if self.purse is None else {**told, "purse": self.purse.to_json()}

    @cached_property
    def forecast(self) -> tuple[Expectation, ...]:
        """What to expect of a cell of each table."""
        return tuple(
            Expectation(f"table of {', '.join(row.margin) or 'all rows'}", row.std_error, row.half_width)
            for row in self.plan.forecast
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*vain(self.aggregate, self.data), *self.plan.warnings)

    @property
    def mechanism_said(self) -> str:
        several = self.plan.measurements
        noises = " and ".join(dict.fromkeys(noise_said(one.noise) for one in several))  # type: ignore[arg-type]
        listed = ", ".join(f"{' * '.join(one.query.margin) or '()'}" for one in several[:6])
        more = f" and {len(several) - 6} more" if len(several) > 6 else ""
        count = "1 table" if len(several) == 1 else f"{len(several)} tables"
        return f"{noises} noise on {count}, planned as a release ({self.plan.strategy}): {listed}{more}"

    @property
    def moves(self) -> int:
        """How many records of the tables one unit changes."""
        return self.plan.protection.records

    @property
    def reason(self) -> str:
        own = "so many rows here has a unit at most"
        added = self.purse is not None or self.data.neighbours == "add-remove"
        return own if added else "a replaced unit takes its rows away and adds others"

    def words(self) -> tuple[str, ...]:
        """The guarantee, in sentences for people."""
        return self.plan.words() if self.purse is None else (paid_from(self.purse, self.cost), *self.plan.words())

    def sheets(self, most: int | None = None) -> tuple[Sheet, ...]:
        return self.plan.sheets(most)

    def to_json(self) -> dict[str, Any]:
        return {"question": self.title, **self.plan.to_json(), "way": self.way, "seconds": self.work.seconds}

    def at(self, budget: Price) -> TablesQuestion:
        """The same at another budget."""
        return TablesQuestion.planned(self.data, self.aggregate, budget, self.purse)


def read_tables(value: Mapping[str, Any], data: DataSpec, aggregate: Tables, budget: Price) -> TablesQuestion:
    """The question that `TablesQuestion.asked_json` wrote."""
    purse = read_purse(value["purse"], data) if "purse" in value else None
    spec = tables_spec(data, aggregate, budget, purse)
    if value.get("encoding") not in ENCODINGS or not isinstance(value.get("strategy"), str):
        raise UsageError("the plan of the tables cannot be read")
    measurements = tuple(measurement_from_json(one) for one in value["events"])
    encoding = ENCODINGS[value["encoding"]](spec.domain)
    plan = Plan(spec, value["strategy"], measurements, protection_of(spec, encoding), (), encoding)
    return TablesQuestion(data, aggregate, budget, plan, purse)


def tables_spec(data: DataSpec, aggregate: Tables, budget: Price, purse: PartPurse | None = None) -> Spec:
    """The tables as a spec: its attributes are columns of the rows, each over all that it may hold.

    What a purse pays for is priced for a unit that is added or removed, whatever neighbours are.
    """
    rows = rows_of(aggregate.rows, data)
    columns = {column.name: column for column in rows.columns}
    for name in aggregate.names:
        if name not in columns:
            raise UsageError(f"there is no column {name!r} to make a table of; there are {', '.join(columns)}")
    names = [name for name in columns if name in aggregate.names]
    if not names:
        raise UsageError("a table needs a column: ask for the number of rows alone with count")
    entries = tuple(_entry(columns[name], data) for name in names)
    margins = [tuple(name for name in names if name in table.names) for table in aggregate.tables]
    added = purse is not None or data.neighbours == "add-remove"
    records = min(rows.most, aggregate.most_rows or rows.most) * (1 if added else 2)
    unit = Unit(data.tables[0].unit or "row", records)
    return Spec(
        Codebook(entries),
        budget,
        tuple(Wanted(margin) for margin in margins),
        data=DataSection(unit=unit),
        title=said(aggregate),
    )


def _entry(column: ColumnShape, data: DataSpec) -> CodebookEntry:
    """The entry of a column as it was declared for releases, or the list of all that it may hold."""
    if size_of(column.kind) > MOST_GROUPS:
        raise RefusedError(f"{column.name!r} has {size_of(column.kind):,} values, too many for a table: use bins")
    for table in data.tables:
        for one in table.columns:
            if one.name == column.name and one.kind == column.kind and one.entry is not None:
                return CodebookEntry(one.name, Categories(one.entry.attribute.values), one.entry.title)
    codes = range(column.kind.low, column.kind.high + 1)
    return CodebookEntry(column.name, Categories(tuple(str(column.kind.named(code)) for code in codes)))


def complete_rows(aggregate: Tables, data: DataSpec) -> Relation:
    """The rows that are counted: those in which none of the columns is missing."""
    return with_all(aggregate.names, aggregate.rows, data)


def _counted(rows: Relation, margin: Margin, most_rows: int | None, data: DataSpec) -> Sought:
    keys = tuple(Key(name, Column(name)) for name in margin)
    return sought_of(Count(rows, keys, most_rows), data)
