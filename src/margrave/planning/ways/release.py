"""Tables: what a spec asks for that declares no other way."""

from __future__ import annotations

from margrave.algebra.words import number
from margrave.ledger.values import Notion
from margrave.planning.checks import check_spec
from margrave.planning.describe import round_words
from margrave.planning.effect import fact_words, price_factor
from margrave.planning.expected import said_of_size
from margrave.planning.forecast.engines import predicted
from margrave.planning.forecast.prediction import record_seconds, writing
from margrave.planning.plan import Plan
from margrave.planning.planner import make_plan, without_facts
from margrave.planning.promise.exposure import exposure
from margrave.planning.publication.publishing import RECORDS
from margrave.planning.target import plan_for, sweep
from margrave.planning.ways.registry import Remarks, SpecWay
from margrave.planning.written import notion_of
from margrave.spec.spec import Spec
from margrave.spec.texts import formulas


def notion(spec: Spec) -> Notion:
    check_spec(spec)
    return notion_of(spec)


def remarks(plan: Plan) -> Remarks:
    """What the public facts cost and save, and what a release takes of memory and time."""
    words, found = [*fact_words(plan)], {}
    if plan.spec.public:
        without = without_facts(plan).rmse
        words.append(f"RMSE per cell: {number(plan.rmse)}; {number(without)} if nothing were public.")
        found = {"price_factor": float(price_factor(plan)), "rmse_without_facts": without}
    words += [*round_words(plan), *said_of_size(plan)]
    work = predicted(plan)
    words.append(
        f"Memory: about {_bytes(plan.memory)}; time: about {_seconds(plan.seconds)} after reading, plus about "
        f"{work.seconds:.2g} s per million records."
    )
    words.append(work.words)
    if plan.publishing.microdata:
        more, longer = writing(plan, 10**6)
        words.append(f"Writing records: about {_bytes(more)} and {_seconds(longer)} more per million of them.")
    words.append(plan.publishing.words())
    if plan.publishing.records:
        times = [f"{_seconds(record_seconds(plan, count))} for {count:,}" for count in (1_000, 10_000, 100_000)]
        bars = ", and their error bars" if plan.publishing.method == RECORDS else ""
        words.append(f"Fitting records{bars}: about {', '.join(times)} of them.")
    return Remarks(tuple(words), {**found, "counting": work.as_dict(), "publishing": plan.publishing.as_dict()})


def _bytes(amount: int) -> str:
    return f"{amount / 2**30:.1f} GiB" if amount >= 1 << 30 else f"{amount / 2**20:.0f} MiB"


def _seconds(amount: float) -> str:
    return f"{amount / 60:.0f} min" if amount >= 120 else f"{max(amount, 0.1):.2g} s"


WAY = SpecWay(
    spec=Spec,
    load=Spec.load,
    plan=make_plan,
    notion=notion,
    exposure=lambda plan: exposure(plan.promise),
    remarks=remarks,
    formulas=lambda plan: formulas(plan.spec.domain),
    plan_for=plan_for,
    sweep=sweep,
)
