"""What a person should know before agreeing to a plan of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from margrave.facts.declared import given_values, is_given
from margrave.messages.catalogue import say, spoken
from margrave.planning.defaults import DELTA
from margrave.planning.effect import revealed

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

LARGE_EPSILON = 10
"""Above this a warning is given: the odds of two answers may then differ by a factor of more than 22,000."""


def warnings_of(plan: Plan) -> tuple[str, ...]:
    """The warnings of a plan, in the language that is spoken."""
    spec, guarantee, found = plan.spec, plan.cost.at_delta(plan.spec.budget.delta or DELTA), list[str]()
    if guarantee.symbol == "ε" and guarantee.amount > LARGE_EPSILON:
        found.append(
            say(
                "ε = %(amount)s is above %(large)s: this protects very little",
                amount=spoken().localised(f"{float(guarantee.amount):g}"),
                large=LARGE_EPSILON,
            )
        )
    if is_given(spec):
        found += revealed(spec, given_values(spec))
    if plan.protection.sensitive:
        found.append(
            say(
                "only %(names)s of each record is protected: who is in the data, and all other attributes, are not, "
                "and tables of those are published exactly",
                names=", ".join(plan.protection.sensitive),
            )
        )
        if any(0 < len(set(pattern) & {*spec.sensitive}) < len(pattern) for pattern in spec.impossible):
            found.append(
                say("an impossible combination of sensitive and other values tells something about who has the others")
            )
    return tuple(found)
