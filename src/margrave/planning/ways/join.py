"""A table over people in the data of several owners: the section [join]."""

from __future__ import annotations

from margrave.budget.events import Protection
from margrave.errors import UsageError
from margrave.ledger.values import Notion
from margrave.planning.join.plan import JoinPlan, make_join_plan
from margrave.planning.join.spec import JoinSpec
from margrave.planning.promise.exposure import Exposure, exposure
from margrave.planning.promise.guarantee import Guarantee
from margrave.planning.ways.registry import SpecWay


def notion(spec: JoinSpec) -> Notion:
    """That of the owners' data sets, where all have the same."""
    found = {make_join_plan(spec).of(one.name).notion for one in spec.owners}
    if len(found) > 1:
        names = ", ".join(one.name for one in spec.owners)
        raise UsageError(f"{names} protect their people differently: register each data set by its own notion")
    return found.pop()


def exposed(plan: JoinPlan) -> Exposure:
    """The limits for people in the data of the owner who protects them least, against the one who learns most."""
    found = [exposure(Guarantee(plan.cost_of(one), Protection(one.neighbours))) for one in plan.spec.owners]
    return max(found, key=lambda one: one.limits[-1].after)


WAY = SpecWay(JoinSpec, JoinSpec.load, make_join_plan, notion, exposed)
