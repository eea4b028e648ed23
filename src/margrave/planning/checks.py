"""Everything that is refused of a spec or a plan before any data is opened, and so without cost."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from margrave.budget.events import moved_cells, worst_move
from margrave.errors import RefusedError
from margrave.facts.declared import check_declared, is_given
from margrave.noise import safe_tail
from margrave.planning.limits import COUNTED_RECORDS
from margrave.planning.looking.refusals import no_looking
from margrave.planning.looking.rounds import SELECTING, pace, rest_parts
from margrave.planning.plan import Plan
from margrave.planning.protected import known_margins, protection_of
from margrave.spec.spec import Spec

_LARGEST = 1 << 62
_ROUNDING = Fraction(1, 10**5)
"""What rounding may make of the part of a round that pays for its selection."""


def check_spec(spec: Spec) -> None:
    """Refuse a spec under which it is not clear what is protected, or what is published."""
    check_declared(spec)
    _check_sensitive(spec)
    _check_counted(spec)


def _check_sensitive(spec: Spec) -> None:
    """A sensitive attribute that follows from others, or that others follow from, cannot be protected on its own."""
    for entry in spec.codebook.entries if spec.sensitive else ():
        for other in entry.determines:
            if (entry.name in spec.sensitive) != (other in spec.sensitive):
                raise RefusedError(
                    f"release.sensitive: {entry.name!r} determines {other!r}, so protecting only one of them protects "
                    "neither: declare both sensitive, or none"
                )


def _check_counted(spec: Spec) -> None:
    """Exact counts of counted records are sums of a column, which nobody may have meant to publish."""
    data = spec.data
    if data is None or data.count is None or data.count_public or not data.confidential:
        return
    reason = "release.sensitive" if spec.sensitive else 'privacy.neighbours = "replace"'
    if spec.public:
        reason = "release.public"
    if spec.sensitive or (spec.neighbours == "replace" and not spec.public) or (spec.public and not is_given(spec)):
        raise RefusedError(
            f"data.count: with {reason}, sums of the column {data.count!r} would be published exactly. Write count = "
            f'{{ column = "{data.count}", public = true }} if it holds numbers of records that are public so far, or '
            f"leave out {reason}"
        )


def check_overflow(plan: Plan) -> None:
    """Refuse noise so wide that a noisy sum might not fit into 64 bits."""
    domain = plan.domain
    kinds = {(one.noise, domain.shape(one.query.residual), one.query.outputs(domain)) for one in plan.measurements}
    most = max(map(domain.cells, plan.candidates.margins)) if plan.rounds else 0
    kinds |= {(one.noise, (), most) for one in plan.rounds}
    for query in plan.dividing if plan.rest else ():
        for parts in (1, plan.rest.parts):
            one = plan.rest.measurement(domain, query, parts, plan.measurements[0].noise, plan.protection)
            kinds.add((one.noise, domain.shape(query.residual), query.outputs(domain)))
    for noise, sizes, outputs in kinds:
        if COUNTED_RECORDS * prod(size - 1 for size in sizes) + safe_tail(noise, outputs) >= _LARGEST:
            raise RefusedError("the noise could overflow 64-bit integers: raise the budget or ask for smaller tables")


def _check_selected(plan: Plan) -> None:
    """Refuse a plan that selects otherwise than its spec allows: what its selections cost would not be what it says."""
    selections = [one.selection for one in plan.measurements if one.selection is not None]
    selections += [one.selection for one in plan.rounds]
    divided = {one.query for one in plan.measurements if one.parts}
    if not (selections or divided or plan.rest or plan.strategy == "adaptive"):
        return
    offered, weights = plan.candidates, {one.weight for one in selections}
    if no_looking(plan.spec, len(offered.margins)) or plan.strategy != "adaptive" or weights != {offered.weight}:
        raise RefusedError("the plan selects tables in a way that its spec does not allow: plan again")
    if not divided <= {*plan.dividing}:
        raise RefusedError("the plan spends the rest of its budget on what its spec does not offer: plan again")
    if not plan.rounds:
        _check_looked(plan)
    if not {*plan.selected} <= {*offered.margins}:
        raise RefusedError("the plan has selected a table that its spec does not offer: plan again")


def _check_looked(plan: Plan) -> None:
    """Refuse a plan whose rounds are done but that lacks some of them, or of the rest: it would seem cheaper."""
    gaussian = not plan.measurements[0].noise.pure
    own, moved = pace(gaussian), moved_cells(plan.protection)
    attributes = {name for margin in plan.candidates.margins for name in margin}
    chosen = [(one.selection, one.noise) for one in plan.measurements if one.selection is not None]
    parts = [one for one in plan.measurements if one.parts]
    every = rest_parts(len(plan.dividing)) if own.looking < 1 else 0
    prices = {worst_move(plan.domain, [one], plan.protection) / one.parts for one in parts}
    paid = (one.price(moved) / (SELECTING * (one.price(moved) + noise.price(moved, moved))) for one, noise in chosen)
    whole = len(chosen) == own.count(len(attributes)) and sum(one.parts for one in parts) == every
    if not whole or len(prices) > 1 or any(abs(part - 1) > _ROUNDING for part in paid):
        raise RefusedError("the plan has not all the selections and parts that its spec pays for: plan again")


def check_plan(plan: Plan, room: Fraction = Fraction(0)) -> None:
    """Refuse a plan that the planner would not have made: it was changed, or has lost the [data] of its spec.

    A plan that was read from a bundle no longer knows which column names the units, so their records could not be
    bounded as its cost supposes. ``room``: the part of the budget by which the cost may be above it.
    """
    spec, encoding = plan.spec, plan.encoding
    if encoding.domain != spec.domain:
        raise RefusedError("the plan measures another domain than that of its spec: plan again")
    if plan.protection != protection_of(spec, encoding):
        raise RefusedError(
            "the plan protects something else than its spec says, or its spec has lost its [data]: plan again"
        )
    check_spec(spec)
    for one in plan.measurements:
        if plan.domain.margin(one.query.margin) != one.query.margin:
            raise RefusedError(
                f"the plan measures {', '.join(one.query.margin)}, not in the order of the spec: plan again"
            )
    wanted = {plan.measured_margin(margin) for margin in spec.margins}
    if set(plan.exact) != set(known_margins(spec, wanted, encoding)):
        raise RefusedError("the plan publishes other tables exactly than its spec allows: plan again from the spec")
    _check_selected(plan)
    # The guarantee is in the unit of the budget; pure ε is also (ε, δ) for any δ.
    same_letter = plan.guarantee.symbol == spec.budget.symbol
    if not same_letter or plan.guarantee.amount > (1 + room) * spec.budget.amount:
        raise RefusedError(f"the plan costs {plan.guarantee}, more than the budget of {spec.budget}: plan again")
    check_overflow(plan)
