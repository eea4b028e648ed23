"""A plan: what will be measured, with which noise, at what cost, and what to expect of it. Opens no data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Array
from margrave.algebra.cover import cover
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.encoding import Encoding, Plain
from margrave.algebra.query import Query
from margrave.budget.events import NO_REST, Disclosure, Measurement, Protection, Rest, Round, cost, cost_of_unit
from margrave.budget.units import ZCDP, Budget, PureDP
from margrave.errors import RefusedError
from margrave.facts.declared import (
    Codes,
    disclosures,
    facts_of,
    given_total,
    is_given,
    loose_cells,
)
from margrave.facts.facts import Facts
from margrave.ledger.values import Notion
from margrave.messages.catalogue import Messages, spoken
from margrave.noise.sums import WeightedSum
from margrave.planning.asked import Sheet
from margrave.planning.defaults import LEVEL
from margrave.planning.describe import describe, describe_html, sheets
from margrave.planning.effect import fact_words
from margrave.planning.forecast import prediction
from margrave.planning.forecast.accuracy import Accuracy, Outputs, TableForecast, forecast
from margrave.planning.forecast.theorems import theorem_bounds
from margrave.planning.looking.candidates import Selectable, candidates_of, dividing
from margrave.planning.promise.guarantee import Guarantee
from margrave.planning.publication.publishing import Publishing, decide
from margrave.planning.warned import warnings_of
from margrave.planning.written import account_json, disclosure_json, measurement_json, notion_of, question_of
from margrave.spec.spec import Spec

if TYPE_CHECKING:
    from margrave.facts.price import InducedCost


@dataclass(frozen=True)
class Plan:
    """Everything that a release will do, known before any data is opened: an `Asked`.

    ``strategy`` is the one chosen, never "auto". ``exact`` are the margins that are published without noise because
    they are the same in all neighbours. The ``encoding`` says by which attributes everything is measured. ``rounds``
    are looks at the data that are still to come: each selects a further table to measure. The ``rest`` of the budget is
    then divided among tables by all answers before. Once all is done, the plan of what was measured (`grown`) has
    these measurements, and costs the same.
    """

    way: ClassVar[str] = "release"

    spec: Spec
    strategy: str
    measurements: tuple[Measurement, ...]
    protection: Protection
    exact: tuple[Margin, ...]
    encoding: Encoding
    rounds: tuple[Round, ...] = ()
    rest: Rest = NO_REST

    def __repr__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        return describe_html(self)

    @property
    def title(self) -> str:
        return self.spec.title

    @property
    def notion(self) -> Notion:
        """Whom a release by this plan protects, given which public facts."""
        return notion_of(self.spec)

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        """Every measurement as JSON."""
        return tuple(measurement_json(one) for one in self.measurements)

    @property
    def disclosed(self) -> tuple[Mapping[str, Any], ...]:
        """The exact counts that are public facts, as JSON."""
        return tuple(disclosure_json(one) for one in self.disclosures)

    @cached_property
    def question(self) -> str:
        """The digest of what this plan asks."""
        return question_of(self)

    def words(self) -> tuple[str, ...]:
        """The guarantee, in sentences for people."""
        return self.promise.words()

    def sheets(self, most: int | None = None) -> tuple[Sheet, ...]:
        """What is measured, and what to expect of each table, in words and figures."""
        return sheets(self, most)

    def to_json(self) -> dict[str, Any]:
        """The plan for scripts."""
        return account_json(self)

    @property
    def domain(self) -> Domain:
        """The domain that is measured."""
        return self.encoding.encoded

    @cached_property
    def cost(self) -> PureDP | ZCDP:
        """The exact cost for one unit, derived from the measurements and the public facts alone."""
        if self.spec.induced is None:
            return cost(self.domain, self.measurements, self.protection, self.rounds, self.rest)
        if self.looks:
            raise RefusedError("with public facts nothing is measured by looking at the data: its price is not known")
        price = self._price.value
        if not price:
            unless = "" if given_total(self.spec) is None else ", unless they contradict each other"
            raise RefusedError(
                f"the public facts already tell all that is asked{unless}: this needs no private release"
            )
        return cost_of_unit(self.measurements, price)

    @property
    def looks(self) -> bool:
        """Whether some of its measurements are, or were, selected by looking at the data."""
        return bool(self.rounds or self.selected)

    @property
    def selected(self) -> tuple[Margin, ...]:
        """The tables that were selected by looking at the data, in the order of the rounds."""
        return tuple(one.query.margin for one in self.measurements if one.selection is not None)

    @cached_property
    def candidates(self) -> Selectable:
        """The tables that its rounds choose between, and how much each of them matters."""
        wanted: dict[Margin, float] = {}
        for table in self.spec.workload:
            margin = self.measured_margin(table.margin)
            wanted[margin] = wanted.get(margin, 0.0) + float(table.weight)
        return candidates_of(self.domain, wanted)

    def grown(self, measurements: Iterable[Measurement]) -> Plan:
        """The plan once its rounds are done and its rest is divided, with all that was measured."""
        return replace(self, measurements=tuple(measurements), rounds=(), rest=NO_REST) if self.rounds else self

    @cached_property
    def dividing(self) -> tuple[Query, ...]:
        """What can get parts of the rest of the budget."""
        return dividing(self.domain, self.candidates)

    @property
    def most_records(self) -> int | None:
        """The number of records that the price counts on, where the facts give it and more would cost more."""
        if self.spec.induced is None or given_total(self.spec) is None:
            return None
        return given_total(self.spec) if self._price.counted else None

    @cached_property
    def _price(self) -> InducedCost:
        """What one unit changes in the measurements, given the public facts."""
        from margrave.facts.price import induced_price

        assert self.spec.induced is not None
        return induced_price(self.facts, self.measurements, self.spec.induced, given_total(self.spec))

    @cached_property
    def facts(self) -> Facts:
        """The public facts over the measured attributes; none of them has a value here."""
        return facts_of(self.spec).encoded(self.encoding)

    @cached_property
    def cells(self) -> tuple[Codes, ...]:
        """The single cells that are published without noise and follow from no margin in ``exact``."""
        return loose_cells(self.facts)

    @property
    def disclosures(self) -> tuple[Disclosure, ...]:
        """The exact counts that are public facts, each an event of its own."""
        return disclosures(self.spec)

    @cached_property
    def guarantee(self) -> Budget:
        """The cost in the units of the budget: (ε, δ) where the spec gives a δ, the cost itself otherwise."""
        return self.cost.at_delta(self.spec.budget.delta)

    @property
    def promise(self) -> Guarantee:
        """The guarantee with whom it protects, and relative to which facts."""
        facts = facts_of(self.spec)
        named = str(facts) if facts else ""
        return Guarantee(self.guarantee, self.protection, named, self.spec.induced, facts.implies(()), self.cost)

    @property
    def said_of_facts(self) -> tuple[str, ...]:
        """What the public facts cost and save, in words."""
        return fact_words(self)

    @cached_property
    def accuracy(self) -> Accuracy:
        return Accuracy(self.domain, self.measurements, self.exact, self.cells)

    def measured_margin(self, margin: Margin) -> Margin:
        """A margin of the spec in terms of what is measured."""
        return self.encoding.margin(margin)

    def alike(self, margin: Margin) -> bool:
        """Whether all cells of a table of the spec are equally accurate."""
        return self.encoding.keeps_cells and self.accuracy.is_uniform(self.measured_margin(margin))

    @cached_property
    def _loose(self) -> dict[Margin, frozenset[tuple[int, ...]]]:
        """The single public cells in terms of the spec."""
        return facts_of(self.spec).loose

    def certain(self, margin: Margin) -> NDArray[np.bool_]:
        """For each cell of a table of the spec, whether its count is published without noise."""
        plain = Plain(self.spec.domain)
        reduced = plain.margin(margin)
        found = np.full(plain.encoded.shape(reduced), self.accuracy.is_exact(self.measured_margin(margin)))
        for codes in self._loose.get(reduced, ()):
            found[codes] = True
        return plain.decode(margin, found)

    @cached_property
    def _forecasts(self) -> dict[float, tuple[TableForecast, ...]]:
        """Forecasts that were made already, by their level."""
        return {}

    @property
    def forecast(self) -> tuple[TableForecast, ...]:
        """What to expect of each wanted table, with half-widths at the usual level."""
        return self.forecast_at(LEVEL)

    def forecast_at(self, level: float) -> tuple[TableForecast, ...]:
        """What to expect of each wanted table, with half-widths at the given level."""
        if level not in self._forecasts:
            alike = [margin for margin in self.spec.margins if self.alike(margin)]
            rows = forecast(self.accuracy, [self.measured_margin(margin) for margin in alike], level)
            found = {margin: replace(row, margin=margin) for margin, row in zip(alike, rows, strict=True)}
            every = (found.get(margin) or self._cell_forecast(margin, level) for margin in self.spec.margins)
            self._forecasts[level] = tuple(every)
        return self._forecasts[level]

    def forecast_of(self, margin: Margin, level: float) -> TableForecast:
        """What to expect of one table whose cells are all alike: without that of all the others."""
        (row,) = forecast(self.accuracy, [self.measured_margin(margin)], level)
        return replace(row, margin=margin)

    def linear_noise(self, margin: Margin, weights: Array) -> WeightedSum:
        """The exact distribution of the error of ``Σ weights · cells`` of a table of the spec."""
        return self.accuracy.linear_noise(self.measured_margin(margin), self.encoding.transpose(margin, weights))

    def outputs_of(self, margin: Margin, weights: Array) -> list[Outputs]:
        """What ``Σ weights · cells`` of a table of the spec takes from the outputs of each measurement."""
        return self.accuracy.outputs_of(self.measured_margin(margin), self.encoding.transpose(margin, weights))

    def cell_errors(self) -> Iterator[WeightedSum]:
        """The distribution of the error of a cell of each wanted table, of every cell where they differ.

        Tables that are measured alike have one for all, and so have cells.
        """
        seen = set()
        for margin in self.spec.margins:
            if self.alike(margin):
                measured = self.measured_margin(margin)
                likeness = self.accuracy.likeness(measured)
                if likeness not in seen:
                    seen.add(likeness)
                    yield self.accuracy.cell_noise(measured)
            else:
                yield from dict.fromkeys(self._cell_noises(margin))

    def _cell_noises(self, margin: Margin) -> list[WeightedSum]:
        """Of each cell of a table, the least accurate first."""
        found = (self.linear_noise(margin, unit) for unit in np.eye(self.spec.domain.cells(margin)))
        return sorted(found, key=lambda error: -error.variance)

    def _cell_forecast(self, margin: Margin, level: float) -> TableForecast:
        """Cells that differ in accuracy: the root mean square of all, and the widest of the half-widths."""
        cells = self.spec.domain.cells(margin)
        errors = self._cell_noises(margin)
        together = 1 - (1 - level) / cells
        return TableForecast(
            margin,
            cells,
            sqrt(self.mean_variance(margin)),
            max(error.half_width(level) for error in dict.fromkeys(errors)),
            max(error.half_width(together) for error in dict.fromkeys(errors)),
            sum(error.mean_absolute() for error in errors),
        )

    @cached_property
    def rmse(self) -> float:
        """The root mean squared error per cell over all wanted tables, each with its weight."""
        risk = cells = 0.0
        for wanted in self.spec.workload:
            weight = float(wanted.weight) * self.spec.domain.cells(wanted.margin)
            risk += weight * self.mean_variance(wanted.margin)
            cells += weight
        return sqrt(risk / cells)

    def mean_variance(self, margin: Margin) -> float:
        """The variance of a cell of a table of the spec, in the mean over its cells."""
        cells, measured = self.spec.domain.cells(margin), self.measured_margin(margin)
        if self.encoding.keeps_cells:
            return self.accuracy.cell_variance(measured)
        weights = (self.encoding.transpose(margin, unit) for unit in np.eye(cells))
        return sum(self.accuracy.linear_variance(measured, row) for row in weights) / cells

    def theory(self, delta: float = 0.05) -> dict[Margin, float]:
        """The theorems' bounds on each table's L1 error with probability 1 − δ, with corrected constants.

        They hold for the tables of the linear program with nearest rounding, and are known for ``fourier`` on binary
        attributes and for ``efron-stein``, both with Laplace noise.
        """
        return theorem_bounds(self, delta)

    @cached_property
    def publishing(self) -> Publishing:
        """How tables will be published: whoever predicts, checks or does it asks here."""
        return decide(self)

    @cached_property
    def memory(self) -> int:
        """Bytes that the release will take at its peak, about; it does not grow with the number of records."""
        return prediction.memory(self)

    @cached_property
    def seconds(self) -> float:
        """Processor time of the release, about, after the data has been read."""
        return prediction.seconds(self)

    @property
    def looked(self) -> tuple[Margin, ...]:
        """The margins whose exact counts rounds and rest may ask for."""
        divided = (one.margin for one in self.dividing) if self.rest else ()
        return tuple(dict.fromkeys([*(self.candidates.margins if self.rounds else ()), *divided]))

    @property
    def counted(self) -> tuple[Margin, ...]:
        """The margins, in terms of what is measured, whose exact counts the measurements need."""
        known = () if is_given(self.spec) else (*self.exact, *(margin for margin, _ in self.cells))
        return tuple(dict.fromkeys([*(one.query.margin for one in self.measurements), *known, *self.looked]))

    def counted_margin(self, margin: Margin) -> Margin:
        """The margin of the spec that holds the counts for a margin in terms of what is measured."""
        return self.encoding.source(margin)

    @cached_property
    def read_only(self) -> Margin:
        """Attributes that no measurement looks at, because they have one value: their columns are read all the same.

        A record with another value is as much an error there as anywhere else.
        """
        spec = self.spec
        facts = () if is_given(spec) else tuple(fact.margin for fact in spec.public)
        named = {name for margin in (*spec.margins, *facts) for name in margin}
        return spec.domain.margin(name for name in named if spec.domain[name].size == 1)

    @cached_property
    def covering(self) -> tuple[Margin, ...]:
        """The tables, in terms of the spec, that records are counted into: all that is measured is a sum of these."""
        return cover(self.spec.domain, tuple(dict.fromkeys(map(self.counted_margin, self.counted))))

    @cached_property
    def _warned(self) -> dict[Messages, tuple[str, ...]]:
        return {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know before agreeing to the plan, in the language that is spoken."""
        if spoken() not in self._warned:
            self._warned[spoken()] = warnings_of(self)
        return self._warned[spoken()]
