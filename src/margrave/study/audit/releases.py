"""The audit of a spec: its price by another route, then releases of neighbouring data sets, end to end.

The data is made up from the public spec. Nothing confidential is opened, and nothing is charged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Margin
from margrave.budget.units import amount
from margrave.errors import RefusedError
from margrave.facts.declared import is_given
from margrave.pipeline import release
from margrave.planning.plan import Plan
from margrave.planning.planner import make_plan
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.sections import DataSection, Unit
from margrave.spec.spec import Spec
from margrave.spec.workload import PublicFact
from margrave.study.audit.compared import Sampled
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.mechanism import Audited, audit_mechanism, noisy_answers, together
from margrave.study.audit.neighbours import Codes, Exchange, Priced, answers, unlike, used, worst

if TYPE_CHECKING:
    import pyarrow as pa

_UNIT, _TARGET, _COUNT = "unit", "target", "count"
_EXCESS = 4
"""How many times as many records as it may own the audited unit brings: a bound that is not kept shows."""


@dataclass(frozen=True)
class DataPair:
    """Two data sets: common ``others``, and on either side so many ``units`` with the records of a move.

    ``records``: how many a unit may own, all of them equal.
    """

    others: tuple[Codes, ...]
    move: Exchange
    records: int
    units: int = 1

    def side(self, near: bool) -> tuple[Codes, ...]:
        return self.move.taken if near else self.move.put

    def answers(self, plan: Plan, near: bool) -> list[Integers]:
        """What noise is added to: of the unit no more records count than it may own."""
        pairs = zip(answers(plan, self.others), answers(plan, self.side(near), self.records * self.units), strict=True)
        return [common + own for common, own in pairs]


def audit_spec(spec: Spec, effort: Effort) -> Audit:
    """Price, noise and whole releases of one spec."""
    return audit_plan(make_plan(spec), effort)


def audit_plan(plan: Plan, effort: Effort) -> Audit:
    """The same of a plan."""
    if plan.looks:
        raise RefusedError(
            "this audit is for fixed measurements: plans that look at the data have one of their own (audit_looking)"
        )
    found = worst(plan, effort.seed)
    audited = neighbours_of(plan, found.move)
    stated = amount(plan.cost)
    price = Finding("price", "recomputed", float(stated), float(found.price), found.moves, found.complete)
    drawn = audit_mechanism(fast(plan, audited), effort)
    return Audit(
        "a release", effort.confidence, (price, drawn, *end_to_end(plan, audited, effort)), _remarks(plan, found)
    )


def _remarks(plan: Plan, found: Priced) -> tuple[str, ...]:
    remarks = []
    if not found.complete:
        remarks.append(f"The price was compared with {found.moves} moves chosen at random, not with all.")
    if plan.spec.induced is not None:
        remarks.append("Neighbours have the same public facts.")
    remarks.append("Recoding is not audited: the data sets are made of the declared values.")
    return tuple(remarks)


def neighbours_of(plan: Plan, move: Exchange) -> DataPair:
    """The move on top of one other record, the same on both sides, which is as unlike those of the move as can be.

    So nobody else is in the cells that the move changes: where nothing is counted, noise may be forgotten. Where the
    price counts on a number of records, there are as many.
    """
    return _filled(plan, DataPair((unlike(plan, move),), move, plan.protection.records))


def _filled(plan: Plan, audited: DataPair) -> DataPair:
    """As many units and others as there are records for, where the price counts on their number."""
    if plan.most_records is None:
        return audited
    units = min(audited.units, plan.most_records // max(1, len(audited.move.taken)))
    others = (unlike(plan, audited.move),) * (plan.most_records - units * len(audited.move.taken))
    return replace(audited, units=units, others=others)


def fast(plan: Plan, audited: DataPair) -> Audited:
    """The plan's noise on its own answers, without reading data: many samples in little time."""
    noises = [one.noise for one in plan.measurements]
    return noisy_answers("noise", plan.cost, noises, audited.answers(plan, True), audited.answers(plan, False))


def end_to_end(plan: Plan, audited: DataPair, effort: Effort) -> tuple[Finding, Finding]:
    """Whole releases of both data sets, from records to noisy answers: scored by their likelihood ratio, and by two
    numbers compared.

    A group of g units may lose g times the ε, or g² times the ρ: if it loses more, one step of it does.
    """
    planned = plain_plan(plan)
    audited = _filled(plan, replace(audited, units=together(plan.cost, effort.releases // 2)))
    near, far = audited.answers(plan, True), audited.answers(plan, False)
    noises = [one.noise for one in plan.measurements]
    sampled = Sampled(plan.cost, noises, near, far, audited.units**plan.cost.power)
    for side in (True, False):
        data = made_up(plan, audited, side)
        for run in range(effort.releases // 2):
            measured = release(planned, data, seed=f"{effort.seed} {side} {run}").measured
            sampled.add(side, [one.outputs for one in measured.answers])
    return sampled.findings(effort)


def plain_plan(plan: Plan) -> Plan:
    """The same plan for data in which every attribute is written as its declared values."""
    spec = plan.spec
    entries = tuple(CodebookEntry(one.name, Categories(one.values)) for one in spec.domain)
    owner = None if plan.protection.records == 1 else Unit(_UNIT, plan.protection.records)
    count = _COUNT if spec.counted is not None else None
    public = spec.data.count_public if spec.data is not None else False
    section = DataSection(count=count, confidential=False, unit=owner, count_public=public and count is not None)
    # A total on which no price counts need not be that of the data sets made here.
    told = spec.public if is_given(spec) or plan.most_records is not None else _read(spec.public)
    return replace(plan, spec=replace(spec, codebook=Codebook(entries), data=section, draft=False, public=told))


def _read(public: tuple[PublicFact, ...]) -> tuple[PublicFact, ...]:
    """The same facts, all of them read from the data."""
    return tuple(replace(fact, counts=None) for fact in public)


def made_up(plan: Plan, audited: DataPair, near: bool) -> pa.Table:
    """The records of one side. The audited unit brings more than it may own, and every other unit one."""
    import pyarrow as pa

    times = 1 if plan.protection.records == 1 else plan.protection.records * _EXCESS
    side = [(unit, record) for unit in range(audited.units) for record in audited.side(near)]
    owners = [f"{_TARGET} {unit}" for unit, _ in side for _ in range(times)]
    own = [record for _, record in side for _ in range(times)]
    records = [*audited.others, *own]
    domain, names = plan.spec.domain, used(plan)
    columns: dict[str, list[str]] = {}
    for attribute in domain:
        columns[attribute.name] = [_value(plan, names, attribute.name, record) for record in records]
    if plan.spec.counted is not None:
        return pa.table({**columns, _COUNT: [1] * len(records)})
    if plan.protection.records > 1:
        return pa.table({**columns, _UNIT: [*map(str, range(len(audited.others))), *owners]})
    return pa.table(columns)


def _value(plan: Plan, names: Margin, name: str, record: Codes) -> str:
    """The value of an attribute; one that no measurement looks at has its first."""
    return plan.spec.domain[name].values[record[names.index(name)] if name in names else 0]
