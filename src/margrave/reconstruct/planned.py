"""Plans whose answers can be published: what `margrave plan` shows. Knows no data, and loads nothing that reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from margrave.planning.ways.registry import planned
from margrave.reconstruct.publishable import publishable

if TYPE_CHECKING:
    from margrave.planning.graphs.plan import GraphPlan
    from margrave.planning.graphs.spec import GraphSpec
    from margrave.planning.join.plan import JoinPlan
    from margrave.planning.join.spec import JoinSpec
    from margrave.planning.local.plan import LocalPlan
    from margrave.planning.local.spec import LocalSpec
    from margrave.planning.plan import Plan
    from margrave.spec.spec import Spec

PUBLISHABLE: Mapping[str, Callable[[Any], object]] = {
    "release": publishable,
    "join": lambda found: publishable(found.table),
}
"""What refuses a plan whose answers could not be published, by the way of asking."""


@overload
def plan(spec: Spec) -> Plan: ...


@overload
def plan(spec: GraphSpec) -> GraphPlan: ...


@overload
def plan(spec: JoinSpec) -> JoinPlan: ...


@overload
def plan(spec: LocalSpec) -> LocalPlan: ...


@overload
def plan(spec: str | Path) -> Any: ...


def plan(spec: Any) -> Any:
    """What a release by this spec would do, cost and be worth, whichever way of asking it declares. Opens no data."""
    found = planned(spec)
    if found.way in PUBLISHABLE:
        PUBLISHABLE[found.way](found)
    return found
