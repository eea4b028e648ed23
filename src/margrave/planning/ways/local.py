"""A collection without a curator, where every respondent randomises her own answers: the section [local]."""

from __future__ import annotations

from margrave.planning.local.plan import LocalPlan, make_local_plan
from margrave.planning.local.spec import LocalSpec
from margrave.planning.local.target import plan_for
from margrave.planning.ways.registry import SpecWay, register
from margrave.spec import texts


def formulas(plan: LocalPlan) -> tuple[str, ...]:
    """Published texts that a spreadsheet would compute."""
    return texts.formulas(plan.spec.domain)


register(
    SpecWay(
        name="local",
        section="local",
        spec=LocalSpec,
        load=LocalSpec.load,
        plan=make_local_plan,
        notion=lambda spec: LocalPlan.notion,
        exposure=lambda plan: plan.exposure,
        formulas=formulas,
        plan_for=plan_for,
        reached=lambda plan: f"Ask about {plan.spec.expected_size:,} people for this accuracy.",
    )
)
