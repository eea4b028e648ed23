"""Rows and questions, built step by step. Each step gives a new one; nothing is asked before `release`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from margrave.budget.numbers import exact_number
from margrave.budget.units import ZCDP, PureDP
from margrave.errors import UsageError
from margrave.planning.defaults import LEVEL
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import Question, question_of
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.expressions import Column, Numeral
from margrave.planning.questions.language.parts import Partition
from margrave.planning.questions.language.public import Lookup
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.least import check_rows, least_budget, least_tables
from margrave.planning.questions.price.mechanisms import Price
from margrave.planning.questions.programs.rows import rows_of
from margrave.planning.questions.several.partition import PartPurse
from margrave.session.explanation import Explanation
from margrave.session.expressions import (
    ConditionExpression,
    ReductionExpression,
    ValueExpression,
    asked_value,
    condition_of,
    key_of,
    numeral_of,
    several,
    value_of,
)
from margrave.session.public import PublicRows

if TYPE_CHECKING:
    from margrave.session.common import AnySession
    from margrave.session.parts import PartitionBuilder


def _need_rows(other: object, data: DataSpec, session: AnySession) -> RowsBuilder:
    if not isinstance(other, RowsBuilder):
        raise UsageError(f"rows are combined with rows of the same data set, not with a {type(other).__name__}")
    if other.data != data or other.session.dataset != session.dataset:
        raise UsageError("rows of another data set cannot be combined with these: its units are others")
    return other


@dataclass(frozen=True)
class RowsBuilder:
    """Rows of a data set, for questions. ``keys`` are what questions about them are asked by."""

    session: AnySession = field(repr=False)
    data: DataSpec = field(repr=False)
    node: r.Relation = field(repr=False)
    keys: tuple[r.Key, ...] = field(default=(), repr=False)
    purse: PartPurse | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        found = rows_of(self.node, self.data)
        columns = "\n".join(f"  {column.name}: {column.kind.said()}" for column in found.columns)
        by = f" by {', '.join(key.name for key in self.keys)}" if self.keys else ""
        return f"{said(self.node)}{by}: at most {found.most:,} rows of a unit\n{columns}"

    def _rows(self, node: r.Relation) -> RowsBuilder:
        if self.keys:
            raise UsageError("after group_by a question is asked: count, sum, average, …")
        return RowsBuilder(self.session, self.data, node, purse=self.purse)

    def _with(self, other: RowsBuilder, node: r.Relation) -> RowsBuilder:
        """Rows made of these and others: where one of both is of a part, its purse pays."""
        found = self._rows(node)
        return found if self.purse is not None else replace(found, purse=other.purse)

    def where(self, *conditions: ConditionExpression) -> RowsBuilder:
        """The rows for which all conditions are true."""
        found = self
        for one in conditions:
            found = found._rows(r.Where(found.node, condition_of(one)))
        return found

    def compute(self, **values: Any) -> RowsBuilder:
        """The same rows with further columns."""
        return self._rows(r.Select(self.node, tuple(r.Named(n, value_of(v)) for n, v in values.items()), add=True))

    def select(self, *names: str, **values: Any) -> RowsBuilder:
        """The same rows with these columns alone: some that were there, and others by name."""
        kept = [r.Named(name, Column(name)) for name in names]
        return self._rows(r.Select(self.node, (*kept, *(r.Named(n, value_of(v)) for n, v in values.items()))))

    def join(self, other: RowsBuilder | PublicRows, how: str = "inner", *, on: Any = None) -> RowsBuilder:
        """Join with other rows on the unit: ``inner``, ``left``, ``semi`` or ``anti``.

        Or with a public table, ``inner`` or ``left``, where a value of these rows (``on``) is its key.
        """
        if isinstance(other, PublicRows):
            value = Column(other.table.keys.name) if on is None else value_of(on)
            return self._rows(Lookup(self.node, value, other.node, how))
        if on is not None:
            raise UsageError("tables of a data set are joined on the unit alone; 'on' is for public tables")
        return self._with(_need_rows(other, self.data, self.session), r.Join(self.node, other.node, how))

    def partition(self, key: Any = None, *, parts: int | None = None, **named: Any) -> PartitionBuilder:
        """These rows in parts by a key, each with a purse; ``parts``: use at most so many parts of a unit."""
        keys = ([] if key is None else [key_of(None, key)]) + [key_of(name, one) for name, one in named.items()]
        if len(keys) != 1 or self.keys:
            raise UsageError("a partition is by one key: partition(col.region), or partition(name=col.age.bins(…))")
        return self.session.parted(Partition(self.node, keys[0], parts))

    def per_unit(self, **reductions: ReductionExpression | str) -> RowsBuilder:
        """One row for each unit: ``per_unit(visits="count", spent=col.cost.sum())``."""
        found = []
        for name, one in reductions.items():
            if one != "count" if isinstance(one, str) else not isinstance(one, ReductionExpression):
                raise UsageError("a reduction is 'count', or made of a column: col.cost.sum()")
            reduction = ReductionExpression("count") if isinstance(one, str) else one
            found.append(reduction.named(name))
        return self._rows(r.PerUnit(self.node, tuple(found)))

    def distinct(self) -> RowsBuilder:
        """Each row of a unit once."""
        return self._rows(r.Distinct(self.node))

    def union(self, other: RowsBuilder) -> RowsBuilder:
        """All rows of both."""
        return self._with(_need_rows(other, self.data, self.session), r.Union(self.node, other.node))

    def intersect(self, other: RowsBuilder) -> RowsBuilder:
        """Each row of a unit that both have, once."""
        return self._with(_need_rows(other, self.data, self.session), r.Intersect(self.node, other.node))

    def except_(self, other: RowsBuilder) -> RowsBuilder:
        """Each row of a unit that the other has not, once."""
        return self._with(_need_rows(other, self.data, self.session), r.Except(self.node, other.node))

    def group_by(self, *columns: Any, **named: Any) -> RowsBuilder:
        """Ask for each group: over all declared values of the keys, or over those given with ``only``."""
        keys = [key_of(None, one) for one in columns] + [key_of(name, one) for name, one in named.items()]
        return RowsBuilder(self.session, self.data, self.node, (*self.keys, *keys), self.purse)

    def _asked(self, kind: Callable[..., a.Aggregate], **given: Any) -> QuestionBuilder:
        bounds = {"rows": "most_rows", "groups": "most_groups", "per_group": "most_per_group"}
        told = {bounds.get(name, name): one for name, one in given.items() if one is not None}
        for name in ("low", "high", "interval"):
            if name in told:
                told[name] = numeral_of(told[name])
        if self.keys:
            told["by"] = self.keys
        try:
            node = kind(self.node, **told)
        except TypeError:
            raise UsageError("what is asked has no such bound, or is not asked by group") from None
        return QuestionBuilder(self.session, self.data, node, self.purse)

    def count(
        self, *, rows: int | None = None, groups: int | None = None, per_group: int | None = None
    ) -> QuestionBuilder:
        """How many rows. ``rows``, ``groups``, ``per_group``: use at most so many of a unit."""
        return self._asked(a.Count, rows=rows, groups=groups, per_group=per_group)

    def units(self, *, groups: int | None = None) -> QuestionBuilder:
        """How many units have rows."""
        return self._asked(a.UnitCount, groups=groups)

    def sum(
        self, value: ValueExpression, *, low: Any = None, high: Any = None, groups: int | None = None
    ) -> QuestionBuilder:
        """The sum of a number; each unit's total is clamped to ``low`` … ``high``."""
        return self._asked(a.Sum, value=asked_value(value), low=low, high=high, groups=groups)

    def average(self, value: ValueExpression, **bounds: Any) -> QuestionBuilder:
        """The average of a number; each row's is clamped to ``low`` … ``high``, where given."""
        return self._asked(a.Average, value=asked_value(value), **bounds)

    def variance(self, value: ValueExpression, **bounds: Any) -> QuestionBuilder:
        """The variance of a number, with its average."""
        return self._asked(a.Variance, value=asked_value(value), **bounds)

    def quantiles(self, value: ValueExpression, shares: Sequence[Any], **bounds: Any) -> QuestionBuilder:
        """The values below which the shares of the rows lie.

        Up to four are selected, and say by how many rows they may be off; ``interval=0.5`` spends that share of the
        budget on the ends of an interval around each. More come from one tree, with intervals.
        """
        wanted = tuple(numeral_of(one) for one in several(shares, "the shares of quantiles"))
        return self._asked(a.Quantiles, value=asked_value(value), shares=wanted, **bounds)

    def median(self, value: ValueExpression, **bounds: Any) -> QuestionBuilder:
        """The value below which half of the rows lie."""
        return self.quantiles(value, [Fraction(1, 2)], **bounds)

    def histogram(self, value: ValueExpression, edges: Sequence[Any] = (), **bounds: Any) -> QuestionBuilder:
        """How many rows have each value, or lie between each two edges; what is computed is called ``bin``."""
        asked = asked_value(value)
        key = ValueExpression(asked)
        binned = key.bins(*several(edges, "the edges of a histogram")) if edges else key
        return self.group_by(**{asked.name if isinstance(asked, Column) else "bin": binned}).count(**bounds)

    def cumulative(self, value: ValueExpression, *, rows: int | None = None) -> QuestionBuilder:
        """How many rows are not above each value."""
        return self._asked(a.Cumulative, value=asked_value(value), rows=rows)

    def tables(self, wanted: Sequence[Sequence[str] | str], *, rows: int | None = None) -> QuestionBuilder:
        """Tables of counts over columns by their names, planned together; the answer is an ordinary release.

        ``wanted``: ``[["region", "age"], ["ward"]]``. Rows in which one of the columns is missing are in no table.
        """
        tables_wanted = several(wanted, "the tables that are wanted")
        listed = [[one] if isinstance(one, str) else list(one) for one in tables_wanted]
        tables = tuple(a.TableOf(tuple(Column(name) for name in names)) for names in listed)
        return self._asked(a.Tables, tables=tables, rows=rows)

    def choose(self, value: ValueExpression, only: Sequence[Any] = (), *, rows: int | None = None) -> QuestionBuilder:
        """The value that most rows have, of all declared ones or of some."""
        wanted = tuple(value_of(one) for one in several(only, "what is chosen from"))
        return self._asked(a.Choose, value=asked_value(value), only=wanted, rows=rows)


@dataclass(frozen=True)
class QuestionBuilder:
    """A question that was not asked yet."""

    session: AnySession = field(repr=False)
    data: DataSpec = field(repr=False)
    node: a.Aggregate = field(repr=False)
    purse: PartPurse | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"{said(self.node)}\n  (explain(eps=…) tells what it would cost and be worth, release(eps=…) asks it)"

    @property
    def text(self) -> str:
        """The question as text, which `Session.ask` and ``margrave ask`` take."""
        return said(self.node)

    def priced(self, eps: Any = None, rho: Any = None) -> Question:
        """The question at a budget."""
        return self._at(budget_of(eps, rho))

    def _at(self, budget: Price) -> Question:
        def priced(purse: PartPurse | None) -> Question:
            return question_of(self.data, self.node, budget, purse)

        return priced(self.purse or self.session.purse_for((self.node,), priced))

    def explain(
        self,
        eps: Any = None,
        *,
        rho: Any = None,
        within: float | None = None,
        confidence: float = LEVEL,
        rows: int | None = None,
    ) -> Explanation:
        """What it would cost and be worth; or, for a wanted error (``within``), the least ε that is enough, and the
        least ρ where the limits of the account allow Gaussian noise; where they are in ρ, that comes first.

        ``rows``: how many rows each group is taken to have, where the error depends on it. Nothing is opened and
        nothing is charged.
        """
        check_rows(rows)
        if within is None:
            question = self.priced(eps, rho)
            return Explanation(question, self.session.allowances(question.purse), rows)
        if eps is not None or rho is not None:
            raise UsageError("give a budget, or how near the answer must be: not both")
        purse = self.purse or self.session.purse_for((self.node,))
        limits = self.session.allowances(purse)
        units: list[type[PureDP] | type[ZCDP]] = [PureDP]
        if all(any(one.limit.gaussian) for one in limits):
            units.insert(0 if all(isinstance(one.limit, ZCDP) for one in limits) else 1, ZCDP)
        found = [self._least(purse, unit, within, confidence, rows) for unit in units]
        return Explanation(found[0], limits, rows, *found[1:])

    def _least(
        self,
        purse: PartPurse | None,
        unit: type[PureDP] | type[ZCDP],
        within: float,
        confidence: float,
        rows: int | None,
    ) -> Question:
        """The question at the least budget with which it is as near as is wanted."""
        if isinstance(self.node, a.Tables):
            return least_tables(self.data, self.node, within, confidence, purse, unit)
        data = self.data if purse is None else replace(self.data, neighbours="add-remove")
        budget = least_budget(data, self.node, within, confidence, rows=rows, unit=unit)
        return question_of(self.data, self.node, budget, purse)

    def release(self, eps: Any = None, *, rho: Any = None) -> Any:
        """Ask it, and pay for it once. The same question again is free, and so is its answer the same.

        The answer is an `AnswerTable`; that to ``tables`` is a `Release`.
        """
        return self.session.answer(self.priced(eps, rho))


def budget_of(eps: Any = None, rho: Any = None) -> Price:
    """A budget in ε or in ρ, exactly as written: 0.1 is one tenth."""
    if (eps is None) == (rho is None):
        raise UsageError("give a budget: eps=0.1, or rho=0.01")
    number = _exact(eps if rho is None else rho)
    if number <= 0:
        raise UsageError("a budget must be greater than 0")
    return PureDP(number) if rho is None else ZCDP(number)


def _exact(given: Any) -> Fraction:
    if isinstance(given, str):
        return exact_number(given)
    found: Numeral = numeral_of(given)
    return found.value
