"""From a public spec to a plan: strategies are asked for shares, and these are scaled to the budget. Opens no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.encoding import BinaryEncoding, Encoding, Plain
from margrave.algebra.query import Query, one_record
from margrave.budget.accountant import rounded_down
from margrave.budget.events import NO_REST, Measurement
from margrave.errors import RefusedError
from margrave.noise import DiscreteGaussian, DiscreteLaplace, Noise
from margrave.planning.checks import check_overflow, check_spec
from margrave.planning.expected import Expected, expected_rmse, expects, heeds
from margrave.planning.limits import FEW_TABLES, FULL_CELLS, RECORD_READS, SOUGHT_CELLS
from margrave.planning.looking.candidates import Selectable, candidates_of
from margrave.planning.looking.refusals import no_looking
from margrave.planning.looking.rounds import make_rest, make_rounds, pace
from margrave.planning.plan import Plan
from margrave.planning.protected import known_margins, protection_of
from margrave.planning.publication.publishing import record_reads, worth_holding
from margrave.planning.strategies.adaptive import Before, before, before_for, shared
from margrave.planning.strategies.demand import Demand, Shares
from margrave.planning.strategies.every import strategy_named
from margrave.planning.wide import check_wide, is_wide_workload
from margrave.spec.choices import Strategy
from margrave.spec.spec import Spec


def make_plan(spec: Spec) -> Plan:
    """The plan for a spec: its strategy, or the best found where that is ``auto``."""
    return best_plan(spec, candidates(spec))


def without_facts(plan: Plan) -> Plan:
    """The plan for the same spec if nothing were public, to compare with."""
    return make_plan(replace(plan.spec, public=(), induced=None))


def best_plan(spec: Spec, choices: Sequence[Choice]) -> Plan:
    """The best of some choices at the budget of the spec.

    What is refused of the first is refused. Another whose part of the budget is too small for any noise is left out.
    """
    heeded, size = spec, spec.expected_size
    if size is not None and expects(spec) and not heeds(_scaled(spec, choices[0]), size):
        heeded = replace(spec, expected_size=None)
    first, *others = [_leaned(heeded, choice) for choice in choices]
    if not others:
        return _scaled(spec, first)
    rated = [(_rating(heeded, first), first)]
    for choice in others:
        with suppress(RefusedError):
            rated.append((_rating(heeded, choice), choice))
    return _scaled(spec, min(rated, key=lambda one: one[0])[1])


@dataclass(frozen=True)
class Choice:
    """A strategy with its shares, before it is scaled to a budget. ``fixed``: the part of that for these shares; the
    rest is for rounds.
    """

    strategy: str
    problem: Demand
    shares: Shares
    encoding: Encoding
    fixed: Fraction = Fraction(1)


def fixed_plan(spec: Spec) -> Plan:
    """The same, with all its measurements fixed before any data is opened."""
    return best_plan(spec, candidates(spec, look=False))


def candidates(spec: Spec, *, every: bool = False, look: bool = True) -> list[Choice]:
    """The strategies that the spec allows, with their shares. They hold for any budget of the same kind.

    ``every``: also those that are no better in the mean over cells, but may be at one accuracy that is asked for.
    ``look``: also one that looks at the data, if the spec leaves it open; its forecast is only a bound.
    """
    if is_wide_workload(spec):
        check_wide(spec)
    check_spec(spec)
    kinds = spec.budget.gaussian
    named = "adaptive" if spec.strategy == "auto" and look and not every and _auto_looks(spec) else spec.strategy
    if named != "auto" and strategy_named(named).looks:
        # The forecast of its fixed measurements does not tell which noise is better for its rounds.
        return [_choose(spec, named, kinds[0])]
    further = _simple(spec) if every and spec.strategy == "auto" else ()
    return [
        _choose(spec, name, gaussian)
        for gaussian in kinds
        for name in dict.fromkeys([*_names(spec.strategy, gaussian, spec), *further])
    ]


def _auto_looks(spec: Spec) -> bool:
    """Whether ``auto`` plans to look where to measure: where the full table is not worth holding (with Laplace noise:
    cannot be held) and nothing forbids it. Public numbers say no more: see docs/adaptive.md.
    """
    plain = spec.nonnegative == "auto" and spec.rounding == "controlled" and spec.objective == "mean"
    if not plain or is_wide_workload(spec) or record_reads(spec) > RECORD_READS:
        return False
    base, gaussian = _base(spec), spec.budget.gaussian[0]
    if worth_holding(base, spec.margins, spec.rounding) or (base.cells() <= FULL_CELLS and not gaussian):
        return False
    return no_looking(spec, len(_selectable(spec).margins)) is None


def _simple(spec: Spec) -> tuple[str, ...]:
    """The strategies that ask for whole tables, where there are few enough."""
    base = ("base",) if _base_cells(spec) <= SOUGHT_CELLS else ()
    return (*base, "margins") if len(spec.workload) <= FEW_TABLES else base


def _names(strategy: Strategy, gaussian: bool, spec: Spec) -> tuple[str, ...]:
    if strategy != "auto":
        return (strategy,)
    if is_wide_workload(spec):
        return ("search", "margins", *(("base",) if _base_cells(spec) <= SOUGHT_CELLS else ()))
    best = "residual" if gaussian else "search"
    # The search reckons with variances of 2/ε². Discrete noise has less where ε is large, down to 2·exp(−ε), and then
    # one question with all of the budget may be better than several with a part of it.
    whole = ("base",) if not gaussian and not spec.public and _base_cells(spec) <= SOUGHT_CELLS else ()
    if spec.neighbours == "add-remove" and not spec.public:
        return (best, *whole)
    # The best found for records that are added or removed need not be the best for other neighbours. With facts every
    # table gets noise of its own from `margins`, and forecasts of many such tables take long.
    others = ("residual",) if spec.public and len(spec.workload) > FEW_TABLES else ("residual", "margins")
    return tuple(dict.fromkeys([best, *others, *whole]))


def _base_cells(spec: Spec) -> int:
    return _base(spec).cells()


def _base(spec: Spec) -> Domain:
    """All attributes that a wanted table uses."""
    return spec.domain.restrict(spec.domain.margin({name for margin in spec.margins for name in margin}))


def _choose(spec: Spec, name: str, gaussian: bool) -> Choice:
    encoding: Encoding = Plain(spec.domain)
    strategy = strategy_named(name)
    if strategy.looks:
        _check_looking(spec)
    if strategy.binary and any(attribute.size > 2 for attribute in spec.domain):
        encoding = BinaryEncoding(spec.domain)
    wanted: dict[Margin, float] = {}
    for table in spec.workload:
        margin = encoding.margin(table.margin)
        wanted[margin] = wanted.get(margin, 0.0) + float(table.weight)
    problem = Demand(encoding.encoded, wanted, spec.objective, gaussian, known_margins(spec, wanted, encoding))
    if not problem.is_open:
        raise RefusedError("no wanted table says anything that is protected: this needs no private release")
    share = strategy.wide if is_wide_workload(spec) else strategy.share
    assert share is not None, "check_wide refuses strategies that list margins"
    fixed = _part(before(gaussian)) if strategy.looks else Fraction(1)
    return Choice(name, problem, share(problem), encoding, fixed)


def _part(parts: Before) -> Fraction:
    return Fraction(f"{parts.all:.6g}")


def _check_looking(spec: Spec) -> None:
    reason = no_looking(spec, len(_selectable(spec).margins))
    if reason is not None:
        raise RefusedError(f"strategy = 'adaptive' is not possible here: {reason}; use 'auto'")


def _selectable(spec: Spec) -> Selectable:
    encoding = Plain(spec.domain)
    wanted = {encoding.margin(table.margin): float(table.weight) for table in spec.workload}
    return candidates_of(encoding.encoded, wanted)


def _rating(spec: Spec, choice: Choice) -> float:
    """The objective that a choice reaches: the smaller, the better."""
    plan = _scaled(spec, choice)
    if expects(spec):
        return expected_rmse(plan)
    weights = choice.problem.cell_weights
    risks = [weight * plan.accuracy.cell_variance(margin) for margin, weight in weights.items()]
    return sum(risks) if spec.objective == "mean" else max(risks)


def _leaned(spec: Spec, choice: Choice) -> Choice:
    """The same questions with shares for what will be published, at the budget of the spec, where that is known."""
    if spec.expected_size is None or not expects(spec):
        return choice
    looks = strategy_named(choice.strategy).looks
    if looks and not choice.problem.gaussian:
        return choice
    total = sum(choice.shares.values())
    shares = {query: Fraction(share / total) for query, share in choice.shares.items() if share > 0}
    tried = _measurements(choice.problem.domain, shares, choice.problem.gaussian)
    protection, known = protection_of(spec, choice.encoding), choice.problem.known
    unit = Plan(spec, choice.strategy, tried, protection, known, choice.encoding).cost.amount
    amount = float(spec.budget.payable(choice.problem.gaussian) / unit)
    if looks:
        parts = before_for(choice.problem, amount, spec.expected_size)
        return replace(choice, shares=shared(choice.problem, parts), fixed=_part(parts))
    asked = {query: float(share) for query, share in shares.items()}
    return replace(choice, shares=Expected(spec.expected_size).leaned(choice.problem, asked, amount))


def _scaled(spec: Spec, choice: Choice) -> Plan:
    """Scale the shares to the budget, round them down, and draw up the measurements."""
    budget, domain = spec.budget, choice.problem.domain
    gaussian = choice.problem.gaussian
    allowed = budget.payable(gaussian)
    total = sum(choice.shares.values())
    shares = {query: Fraction(share / total) for query, share in choice.shares.items() if share > 0}
    protection, known = protection_of(spec, choice.encoding), choice.problem.known
    # The cost is proportional to the shares, so its exact value at these shares gives the factor to the budget.
    tried = Plan(spec, choice.strategy, _measurements(domain, shares, gaussian), protection, known, choice.encoding)
    unit = tried.cost.amount
    fixed = allowed * choice.fixed
    rounded = {share: rounded_down(share * fixed / unit) for share in set(shares.values())}
    spent = {query: rounded[share] for query, share in shares.items()}
    measurements = _measurements(domain, spent, gaussian, short=True)
    plan = Plan(spec, choice.strategy, measurements, protection, known, choice.encoding)
    plan = _looking(plan, allowed, gaussian)
    if plan.cost.amount > allowed:
        raise RefusedError(f"the plan would cost more than its budget of {budget}: this is a fault in Margrave")
    check_overflow(plan)
    return plan


def _looking(plan: Plan, allowed: Fraction, gaussian: bool) -> Plan:
    """The plan with what is left of the budget in rounds that look at the data, where its strategy has them, and in a
    rest that is divided after them.
    """
    if not strategy_named(plan.strategy).looks:
        return plan
    attributes = {name for margin in plan.candidates.margins for name in margin}
    # What one record may cost: for a unit of m of them ε is m times as much, ρ m² times.
    left = (allowed - plan.cost.amount) / plan.protection.records ** (2 if gaussian else 1)
    own = pace(gaussian)
    rounds = make_rounds(
        left * own.looking, own.count(len(attributes)), gaussian, plan.protection, plan.candidates.weight
    )
    spent = sum((one.price(plan.protection) for one in rounds), Fraction(0))
    rest = make_rest(left - spent, len(plan.dividing)) if own.looking < 1 else NO_REST
    return replace(plan, rounds=rounds, rest=rest)


def _measurements(
    domain: Domain, shares: Mapping[Query, Fraction], gaussian: bool, *, short: bool = False
) -> tuple[Measurement, ...]:
    """Each query with the noise that its share pays for; with ``short``, rounded up to numbers that sample fast."""
    kind = DiscreteGaussian if gaussian else DiscreteLaplace
    noises: dict[tuple[int, int, Fraction], Noise] = {}
    found = []
    for query, share in shares.items():
        l1, l2_squared = one_record(domain, query)
        key = (l1, l2_squared, share)
        if key not in noises:
            noises[key] = (kind.at_least if short else kind)(kind.parameter_for(share, l1, l2_squared))
        found.append(Measurement(query, noises[key]))
    return tuple(found)
