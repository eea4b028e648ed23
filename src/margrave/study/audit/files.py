"""Bundles and ledgers: what verifies them, told as an audit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from margrave.budget.units import Budget, amount
from margrave.ledger import Ledger
from margrave.ledger.check import verify as verify_ledger
from margrave.planning.plan import Plan
from margrave.publish.verification.verify import verify as verify_bundle
from margrave.publish.ways.registry import load
from margrave.study.audit.collections import chances
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.graphs import dearest
from margrave.study.audit.neighbours import worst


def _price(plan: Plan, effort: Effort) -> tuple[Finding, ...]:
    found = worst(plan, effort.seed)
    stated = float(amount(plan.cost))
    return (Finding("price", "recomputed", stated, float(found.price), found.moves, found.complete),)


PRICES: dict[str, Callable[[Any, Effort], tuple[Finding, ...]]] = {
    "release": _price,
    "graph": lambda plan, effort: (dearest(plan, effort.seed)[0],),
    "local": lambda plan, effort: chances(plan),
}
"""What a bundle costs, computed by another route than its plan does it, by the way of asking."""


def audit_bundle(path: str, effort: Effort) -> Audit:
    """Everything that verify computes again, and the price of what was measured by another route."""
    checked = verify_bundle(path)
    plan = load(path).plan
    again = float(_amount(checked.cost, plan.cost))
    findings = (
        Finding("cost, as verify computes it", "recomputed", float(amount(plan.cost)), again),
        *PRICES[plan.way](plan, effort),
    )
    remarks = [f"{checked.files} files and {checked.tables} tables are as they follow from the measurements."]
    remarks += [str(one) for one in checked.not_checked]
    if not checked.private:
        remarks.append("NOT PRIVATE: the noise of this release comes from a seed.")
    return Audit("a bundle", effort.confidence, findings, tuple(remarks))


def _amount(checked: Budget, stated: Budget) -> Fraction:
    """The cost that was verified, where it is in the unit of the plan's own; an (ε, δ) stands for the plan's ρ."""
    return amount(checked) if type(checked) is type(stated) else amount(stated)


def audit_ledger(url: str, effort: Effort) -> Audit:
    """The chain, every balance and every stored answer; what is spent stays within every cap."""
    with Ledger.open(url) as ledger:
        checked = verify_ledger(ledger)
    findings = (Finding("caps and grants overdrawn", "recomputed", 0.0, float(len(checked.beyond))),)
    remarks = (
        f"{checked.entries} entries follow one another, {checked.records} records follow from them, and "
        f"{checked.bundles} stored answers are as they were written.",
        *checked.beyond,
    )
    return Audit("a ledger", effort.confidence, findings, remarks)
