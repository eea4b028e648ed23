"""From a public spec to a plan: what will be measured, with which noise, at what cost. Opens no data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, prod, sqrt

import numpy as np

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.encoding import BinaryEncoding
from margrave.algebra.lattice import maximal
from margrave.algebra.query import Query, one_record
from margrave.algebra.residual import Array
from margrave.budget.accountant import epsilon_of, rho_within, rounded_down
from margrave.budget.events import Measurement, Protection, cost
from margrave.budget.units import ZCDP, ApproxDP, Budget, PureDP, amount
from margrave.design import prediction, strategies
from margrave.design.accuracy import Accuracy, TableForecast, effective, forecast
from margrave.design.choices import Strategy
from margrave.design.describe import describe, describe_html
from margrave.design.spec import Spec
from margrave.design.strategies import Problem, Shares
from margrave.errors import RefusedError
from margrave.noise import DiscreteGaussian, DiscreteLaplace, safe_tail
from margrave.noise.sums import WeightedSum

MOST_RECORDS = 1 << 40
"""Counting refuses more records than this, so that plans can be checked against overflow before any data is opened."""
_LARGEST = 1 << 62
_LARGE_EPSILON = 10

_NAMED: dict[str, Callable[[Problem], Shares]] = {
    "residual": strategies.residual,
    "fourier": strategies.fourier,
    "efron-stein": strategies.efron_stein,
    "margins": strategies.margins,
    "base": strategies.base,
    "search": strategies.search,
}


@dataclass(frozen=True)
class Plan:
    """Everything that a release will do, known before any data is opened.

    ``strategy`` is the one chosen, never "auto". ``exact`` are the margins that are published without noise because
    they are the same in all neighbours. With an ``encoding``, everything is measured over its binary attributes.
    """

    spec: Spec
    strategy: str
    measurements: tuple[Measurement, ...]
    protection: Protection
    exact: tuple[Margin, ...] = ()
    encoding: BinaryEncoding | None = None

    def __repr__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        return describe_html(self)

    @property
    def domain(self) -> Domain:
        """The domain that is measured: the spec's, or its binary encoding."""
        return self.spec.domain if self.encoding is None else self.encoding.encoded

    @cached_property
    def cost(self) -> PureDP | ZCDP:
        """The exact cost for one unit, derived from the measurements alone."""
        return cost(self.domain, self.measurements, self.protection)

    @cached_property
    def guarantee(self) -> Budget:
        """The cost in the units of the budget: (ε, δ) where the spec gives a δ, the cost itself otherwise."""
        if isinstance(self.spec.budget, ApproxDP) and isinstance(self.cost, ZCDP):
            return ApproxDP(epsilon_of(self.cost.rho, self.spec.budget.delta), self.spec.budget.delta)
        return self.cost

    @cached_property
    def accuracy(self) -> Accuracy:
        return Accuracy(self.domain, self.measurements, self.exact)

    def measured_margin(self, margin: Margin) -> Margin:
        """A margin of the spec in terms of what is measured."""
        return margin if self.encoding is None else self.encoding.margin(margin)

    @cached_property
    def forecast(self) -> tuple[TableForecast, ...]:
        """What to expect of each wanted table, with half-widths at 95 %."""
        return self.forecast_at(0.95)

    def forecast_at(self, level: float) -> tuple[TableForecast, ...]:
        """What to expect of each wanted table, with half-widths at the given level."""
        if self.encoding is None:
            return forecast(self.accuracy, self.spec.margins, level)
        return tuple(self._decoded_forecast(margin, level) for margin in self.spec.margins)

    def linear_noise(self, margin: Margin, weights: Array) -> WeightedSum:
        """The exact distribution of the error of ``Σ weights · cells`` of a table of the spec."""
        if self.encoding is not None:
            margin, weights = self.encoding.margin(margin), self.encoding.transpose(margin, weights)
        return self.accuracy.linear_noise(margin, weights)

    def _decoded_forecast(self, margin: Margin, level: float) -> TableForecast:
        """Decoded cells differ in accuracy: the root mean square of all, and the widest of the half-widths."""
        cells = self.spec.domain.cells(margin)
        errors = [self.linear_noise(margin, unit) for unit in np.eye(cells)]
        worst = max(errors, key=lambda error: error.variance)
        return TableForecast(
            margin,
            cells,
            sqrt(self.mean_variance(margin)),
            worst.half_width(level),
            worst.half_width(1 - (1 - level) / cells),
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
        if self.encoding is None:
            return self.accuracy.cell_variance(margin)
        cells, measured = self.spec.domain.cells(margin), self.encoding.margin(margin)
        weights = (self.encoding.transpose(margin, unit) for unit in np.eye(cells))
        return sum(self.accuracy.linear_variance(measured, row) for row in weights) / cells

    def theory(self, delta: float = 0.05) -> dict[Margin, float]:
        """The theorems' bounds on each table's L1 error with probability 1 − δ, with corrected constants.

        They hold for the tables of the linear program with nearest rounding, and are known for ``fourier`` on binary
        attributes and for ``efron-stein``, both with Laplace noise.
        """
        noise = self.measurements[0].noise
        if self.strategy not in ("fourier", "efron-stein") or not isinstance(noise, DiscreteLaplace):
            return {}
        number = sum(measurement.query.outputs(self.domain) for measurement in self.measurements)
        # Half a count more than the continuous tail bound covers the discrete one: P(|Z| > t) ≤ exp(−(t − ½)/scale).
        largest = float(noise.scale) * log(number / delta) + 0.5
        # Scales are those of whole-number answers: contrasts, or ∏k_j times the blocks f^S.
        rounding = number if self.strategy == "fourier" else number / 2
        bounds = {}
        for margin in self.spec.margins:
            width = len(effective(self.domain, self.measured_margin(margin)))
            bounds[margin] = 2**width * 2 * largest + rounding
        return bounds

    @cached_property
    def memory(self) -> int:
        """Bytes that the release will take at its peak, about; it does not grow with the number of records."""
        return prediction.memory(self)

    @cached_property
    def seconds(self) -> float:
        """Processor time of the release, about, after the data has been read."""
        return prediction.seconds(self)

    @property
    def counted(self) -> tuple[Margin, ...]:
        """The margins, in terms of what is measured, whose exact counts the measurements need."""
        return tuple(dict.fromkeys([*(one.query.margin for one in self.measurements), *self.exact]))

    def counted_margin(self, margin: Margin) -> Margin:
        """The margin of the spec that holds the counts for a margin in terms of what is measured."""
        if self.encoding is None:
            return margin
        return tuple(name for name in self.spec.domain.names if set(self.encoding.margin((name,))) & set(margin))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know before agreeing to the plan."""
        found = []
        guarantee = self.guarantee
        epsilon = None if isinstance(guarantee, ZCDP) else guarantee.epsilon
        if epsilon is not None and epsilon > _LARGE_EPSILON:
            found.append(f"ε = {float(epsilon):g} is above {_LARGE_EPSILON}: this protects very little")
        if self.protection.sensitive:
            names = ", ".join(self.protection.sensitive)
            found.append(
                f"only {names} of each record is protected: who is in the data, and all other attributes, are not, "
                "and tables of those are published exactly"
            )
            mixed = [
                pattern
                for pattern in self.spec.impossible
                if 0 < len(set(pattern) & {*self.spec.sensitive}) < len(pattern)
            ]
            if mixed:
                found.append(
                    "an impossible combination of sensitive and other values tells something about who has the others"
                )
        return tuple(found)


def make_plan(spec: Spec) -> Plan:
    """The plan for a spec: its strategy, or the best found where that is ``auto``."""
    return best_plan(spec, candidates(spec))


def best_plan(spec: Spec, choices: Sequence[Choice]) -> Plan:
    """The best of some choices at the budget of the spec."""
    if len(choices) == 1:
        return _scaled(spec, choices[0])
    return _scaled(spec, min(choices, key=lambda choice: _rating(spec, choice)))


@dataclass(frozen=True)
class Choice:
    """A strategy with its shares, before it is scaled to a budget."""

    strategy: str
    problem: Problem
    shares: Shares
    encoding: BinaryEncoding | None = None


def candidates(spec: Spec) -> list[Choice]:
    """The strategies that the spec allows, with their shares. They hold for any budget of the same kind."""
    if spec.public:
        raise RefusedError(
            "release.public: public facts change what a release costs, and planning with them is refused for now: "
            "leave release.public out"
        )
    _check_sensitive(spec)
    kinds = {PureDP: (False,), ZCDP: (True,), ApproxDP: (True, False)}[type(spec.budget)]
    return [_choose(spec, name, gaussian) for gaussian in kinds for name in _names(spec.strategy, gaussian, spec)]


def _names(strategy: Strategy, gaussian: bool, spec: Spec) -> tuple[str, ...]:
    if strategy != "auto":
        return (strategy,)
    best = "residual" if gaussian else "search"
    # The best found for records that are added or removed need not be the best when they are replaced.
    return (best,) if spec.neighbours == "add-remove" else tuple(dict.fromkeys([best, "residual", "margins"]))


def _choose(spec: Spec, name: str, gaussian: bool) -> Choice:
    domain, encoding = spec.domain, None
    if name == "fourier" and any(attribute.size > 2 for attribute in domain):
        encoding = BinaryEncoding(domain)
        domain = encoding.encoded
    wanted: dict[Margin, float] = {}
    for table in spec.workload:
        margin = effective(domain, table.margin if encoding is None else encoding.margin(table.margin))
        wanted[margin] = wanted.get(margin, 0.0) + float(table.weight)
    problem = Problem(domain, wanted, spec.objective, gaussian, _known(spec, wanted, encoding))
    if not problem.unknown:
        raise RefusedError("no wanted table says anything that is protected: this needs no private release")
    return Choice(name, problem, _NAMED[name](problem), encoding)


def _known(spec: Spec, wanted: Iterable[Margin], encoding: BinaryEncoding | None) -> tuple[Margin, ...]:
    """Margins that are the same in all neighbours, and so are published exactly at no cost.

    With sensitive attributes these are the tables of the others; when one record is replaced, the number of records.
    """
    if not spec.sensitive:
        return ((),) if spec.neighbours == "replace" and spec.records_per_unit == 1 else ()
    protected = set(spec.sensitive if encoding is None else encoding.margin(spec.sensitive))
    return maximal(tuple(name for name in margin if name not in protected) for margin in wanted)


def _protection(spec: Spec, encoding: BinaryEncoding | None = None) -> Protection:
    sensitive = spec.sensitive if encoding is None else encoding.margin(spec.sensitive)
    return Protection(spec.neighbours, sensitive, spec.records_per_unit)


def check_plan(plan: Plan) -> None:
    """Refuse a plan that says something else than its spec: it was changed, or has lost the [data] of its spec.

    A plan that was read from a bundle no longer knows which column names the units, so their records could not be
    bounded as its cost supposes.
    """
    spec, encoding = plan.spec, plan.encoding
    if plan.protection != _protection(spec, encoding):
        raise RefusedError(
            "the plan protects something else than its spec says, or its spec has lost its [data]: plan again"
        )
    wanted = {effective(plan.domain, plan.measured_margin(margin)) for margin in spec.margins}
    if set(plan.exact) != set(_known(spec, wanted, encoding)):
        raise RefusedError("the plan publishes other tables exactly than its spec allows: plan again from the spec")
    # The guarantee is in the unit of the budget; pure ε is also (ε, δ) for any δ.
    same_unit = isinstance(plan.guarantee, ZCDP) == isinstance(spec.budget, ZCDP)
    if not same_unit or amount(plan.guarantee) > amount(spec.budget):
        raise RefusedError(f"the plan costs {plan.guarantee}, more than the budget of {spec.budget}: plan again")


def _check_sensitive(spec: Spec) -> None:
    """A sensitive attribute that follows from others, or that others follow from, cannot be protected on its own."""
    for entry in spec.codebook.entries if spec.sensitive else ():
        for other in entry.determines:
            if (entry.name in spec.sensitive) != (other in spec.sensitive):
                raise RefusedError(
                    f"release.sensitive: {entry.name!r} determines {other!r}, so protecting only one of them protects "
                    "neither: declare both sensitive, or none"
                )


def _rating(spec: Spec, choice: Choice) -> float:
    """The objective that a choice reaches: the smaller, the better."""
    plan = _scaled(spec, choice)
    weights = choice.problem.cell_weights
    risks = [weight * plan.accuracy.cell_variance(margin) for margin, weight in weights.items()]
    return sum(risks) if spec.objective == "mean" else max(risks)


def _scaled(spec: Spec, choice: Choice) -> Plan:
    """Scale the shares to the budget, round them down, and draw up the measurements."""
    budget, domain = spec.budget, choice.problem.domain
    gaussian = choice.problem.gaussian
    allowed = amount(budget)
    if isinstance(budget, ApproxDP) and gaussian:
        allowed = rho_within(budget.epsilon, budget.delta)
    total = sum(choice.shares.values())
    shares = {query: Fraction(share / total) for query, share in choice.shares.items() if share > 0}
    protection = _protection(spec, choice.encoding)
    # The cost is proportional to the shares, so its exact value at these shares gives the factor to the budget.
    unit = amount(cost(domain, _measurements(domain, shares, gaussian), protection))
    rounded = {share: rounded_down(share * allowed / unit) for share in set(shares.values())}
    spent = {query: rounded[share] for query, share in shares.items()}
    measurements = _measurements(domain, spent, gaussian, short=True)
    plan = Plan(spec, choice.strategy, measurements, protection, choice.problem.known, choice.encoding)
    if amount(plan.cost) > allowed:
        raise RefusedError(f"the plan would cost more than its budget of {budget}: this is a fault in Margrave")
    _check_overflow(plan)
    return plan


def _measurements(
    domain: Domain, shares: Mapping[Query, Fraction], gaussian: bool, *, short: bool = False
) -> tuple[Measurement, ...]:
    """Each query with the noise that its share pays for; with ``short``, rounded up to numbers that sample fast."""
    laplace = DiscreteLaplace.at_least if short else DiscreteLaplace
    normal = DiscreteGaussian.at_least if short else DiscreteGaussian
    noises: dict[tuple[int, int, Fraction], DiscreteLaplace | DiscreteGaussian] = {}
    found = []
    for query, share in shares.items():
        key = (*one_record(domain, query), share)
        if key not in noises:
            noises[key] = normal(key[1] / (2 * share)) if gaussian else laplace(key[0] / share)
        found.append(Measurement(query, noises[key]))
    return tuple(found)


def _check_overflow(plan: Plan) -> None:
    domain = plan.domain
    kinds = {(one.noise, domain.shape(one.query.residual), one.query.outputs(domain)) for one in plan.measurements}
    for noise, sizes, outputs in kinds:
        if MOST_RECORDS * prod(size - 1 for size in sizes) + safe_tail(noise, outputs) >= _LARGEST:
            raise RefusedError("the noise could overflow 64-bit integers: raise the budget or ask for smaller tables")
