"""A collection without a curator, where every respondent randomises her own answers: the section [local]."""

from __future__ import annotations

from margrave.planning.local.plan import LocalPlan, make_local_plan
from margrave.planning.local.spec import LocalSpec
from margrave.planning.local.target import plan_for
from margrave.planning.ways.registry import SpecWay
from margrave.spec import texts


def formulas(plan: LocalPlan) -> tuple[str, ...]:
    """Published texts that a spreadsheet would compute."""
    return texts.formulas(plan.spec.domain)


def reached(plan: LocalPlan) -> str:
    """What a target takes, and what it promises."""
    return (
        f"Reports of {plan.spec.expected_size:,} people bring the share of each cell of each wanted table this near to "
        "the population's, each with this probability and whatever the answers are."
    )


WAY = SpecWay(
    spec=LocalSpec,
    load=LocalSpec.load,
    plan=make_local_plan,
    notion=lambda spec: LocalPlan.notion,
    exposure=lambda plan: plan.exposure,
    formulas=formulas,
    plan_for=plan_for,
    reached=reached,
    unkept="nothing would be kept of what was collected",
)
