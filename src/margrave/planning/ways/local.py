"""A collection without a curator, where every respondent randomises her own answers: the section [local]."""

from __future__ import annotations

from margrave.planning.local.plan import LocalPlan, make_local_plan
from margrave.planning.local.spec import LocalSpec
from margrave.planning.local.target import plan_for
from margrave.planning.ways.registry import SpecWay, register
from margrave.spec.texts import formulas

register(
    SpecWay(
        name="local",
        section="local",
        spec=LocalSpec,
        load=LocalSpec.load,
        plan=make_local_plan,
        notion=lambda spec: LocalPlan.notion,
        formulas=lambda plan: formulas(plan.spec.domain),
        plan_for=plan_for,
        reached=lambda plan: f"Ask about {plan.spec.expected_size:,} people for this accuracy.",
    )
)
