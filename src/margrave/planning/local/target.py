"""How many respondents a wanted accuracy needs."""

from __future__ import annotations

from dataclasses import replace

from scipy.special import ndtri

from margrave.errors import UsageError
from margrave.planning.local.forecast import respondents_for
from margrave.planning.local.odds import Odds
from margrave.planning.local.plan import LocalPlan
from margrave.planning.local.planner import make_questions
from margrave.planning.local.spec import LocalSpec
from margrave.planning.target import Target


def plan_for(spec: LocalSpec, target: Target) -> LocalPlan:
    """The plan with as many respondents as bring every cell's share within the target, whatever the answers are."""
    if target.half_width >= 1:
        raise UsageError("the target of a local collection is a share of all: 0.02@95%, within two per cent of all")
    plan = LocalPlan(spec, make_questions(spec.domain, spec.workload, Odds.of(spec.epsilon)))
    error = target.half_width / float(ndtri((1 + target.level) / 2))
    return replace(plan, spec=replace(spec, expected_size=respondents_for(max(plan.largest.values()), error)))
