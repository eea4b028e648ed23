"""The guarantee of a graph, in sentences for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from margrave.budget.numbers import exact_text
from margrave.messages.catalogue import later, say, spoken

if TYPE_CHECKING:
    from margrave.planning.graphs.plan import GraphPlan

_SIDES = {
    "degree": later("the degrees of %(count)s nodes"),
    "in_degree": later("the in-degrees of %(count)s nodes"),
    "out_degree": later("the out-degrees of %(count)s nodes"),
}
"""Which degrees are public."""


def guarantee_words(plan: GraphPlan) -> tuple[str, ...]:
    """What is guaranteed relative to which facts, what is protected, and what is not."""
    amount = spoken().localised(exact_text(plan.amount))
    if plan.gaussian:
        found = [
            say("The release satisfies zero-concentrated differential privacy with ρ = %(amount)s.", amount=amount)
        ]
    else:
        found = [say("The release satisfies pure differential privacy with ε = %(amount)s.", amount=amount)]
    known = [(side, len(plan.spec.known_nodes(side))) for side in plan.spec.sides]
    facts = say(" and ").join(say(_SIDES[side], count=count) for side, count in known if count)
    found += (
        _relative(plan, facts)
        if facts
        else [say("Protected is whether any single edge is there. Public are the list of nodes and their groups.")]
    )
    found.append(say("Not protected is all that a node's edges tell together: it is the edge that is hidden."))
    return tuple(found)


def _relative(plan: GraphPlan, facts: str) -> list[str]:
    """What the guarantee means where degrees are public."""
    name, times = ("ρ", "m²") if plan.gaussian else ("ε", "m")
    return [
        say(
            "This is relative to public facts: the list of nodes, their groups, and %(facts)s, which are published "
            "exactly and are not protected.",
            facts=facts,
        ),
        say(
            "Protected is one induced step: two graphs with the same facts and none between them, which differ in at "
            "most %(edges)s edges. A change of m steps is protected by %(times)s times the %(name)s.",
            edges=plan.sensitivity,
            times=times,
            name=name,
        ),
        say(
            "Releases of the same graph with the same facts add up, also when they are about different parts of it: "
            "one step can touch all of them."
        ),
    ]
