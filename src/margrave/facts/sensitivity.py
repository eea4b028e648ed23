"""How far one induced move can reach: the factor by which public facts multiply the cost of a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from time import monotonic

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.algebra.junctions import is_decomposable
from margrave.algebra.words import margin_name
from margrave.errors import RefusedError, UsageError
from margrave.facts.closed import few_cuboids
from margrave.facts.columns import TooLarge, columns_of
from margrave.facts.facts import Facts
from margrave.facts.moves.bases import basis_of
from margrave.facts.moves.graver import OutOfTime, unique_up_to_sign
from margrave.facts.moves.known import KNOWN
from margrave.facts.moves.notions import NOTIONS, Notion, select
from margrave.facts.moves.reductions import Core, reduce_axes, reduce_margins

TIME_LIMIT = 30.0
"""Seconds."""
GLANCE, FEW_RECORDS = 0.1, 32
"""The part of that which is spent where a bound is at hand, as the number of records is where it is this at most."""
MOST_CORE_CELLS = 120
_MOST_DIFFERENCES = 40
_EASY_CELLS = 18
_remembered: dict[tuple[Core, Notion], Sensitivity] = {}


@dataclass(frozen=True)
class Sensitivity:
    """``value``: no induced move has a larger norm ‖g‖₁; ``exact``: some has this one. ``method``: how it is known."""

    value: int
    exact: bool
    method: str
    notes: tuple[str, ...] = ()


def induced_sensitivity(
    facts: Facts, *, notion: Notion = "worst-case", time_limit: float = TIME_LIMIT, records: int | None = None
) -> Sensitivity:
    """``S = max ‖g‖₁`` over the moves g between induced neighbours; the base table changes by at most S.

    Exact, or a proven upper bound, or refused. Without facts a neighbour has one record more or less, and S is 1. Where
    the number of ``records`` is itself public, a move takes at most all of them and S ≤ 2n.
    """
    if notion not in NOTIONS:
        raise UsageError(f"unknown notion of neighbours {notion!r}: choose among {', '.join(NOTIONS)}")
    if records is not None and not facts.implies(()):
        raise UsageError("the number of records bounds the sensitivity only where it is a public fact")
    found = _attempt(facts, notion, monotonic() + time_limit * (GLANCE if are_few(records) else 1.0))
    if records is not None and (found is None or found.value > 2 * records):
        return Sensitivity(2 * records, False, f"no more than the {records} records can change")
    if found is None:
        raise RefusedError(_refusal(facts, notion, time_limit))
    return found


def _attempt(facts: Facts, notion: Notion, deadline: float) -> Sensitivity | None:
    """The sensitivity, or None if it is not found in time."""
    if not facts:
        return Sensitivity(1, True, "no public facts: one record is added or removed")
    if notion == "worst-case":
        closed = few_cuboids(facts)
        if closed is not None:
            return Sensitivity(closed, True, "closed form for cells of one or two margins")
    elif not facts.whole:
        raise RefusedError(
            f"induced = {notion!r} needs a public fact that covers every record, such as the total; only single cells "
            "are public here: use 'worst-case'"
        )
    if facts.loose:
        return _by_columns(facts, notion, deadline)
    reduced = reduce_margins(facts)
    found = _core(reduced.core, notion, deadline)
    if found is not None and notion == "positive" and reduced.free and len(reduced.core.margins) > 2:
        # Free attributes only add to the ways of letting a record change, so fewer moves are the shortest.
        found = replace(found, exact=False)
    return _with_free(bool(reduced.free), found)


def _with_free(free: bool, rest: Sensitivity | None) -> Sensitivity | None:
    if rest is None or not free or rest.value >= 2:
        return rest
    return Sensitivity(2, True, "one record changes an attribute that no fact mentions")


def _by_columns(facts: Facts, notion: Notion, deadline: float) -> Sensitivity | None:
    try:
        columns = columns_of(facts)
        value = 2 if columns.twins else 1 if columns.untouched else 0
        for part in columns.parts:
            if part.shape[1] > MOST_CORE_CELLS:
                return None
            value = max(value, _largest(select(notion, basis_of(part, deadline), deadline)))
    except (OutOfTime, OverflowError, TooLarge):
        return None
    return Sensitivity(value, True, "Graver basis of the known cells")


def _core(core: Core, notion: Notion, deadline: float) -> Sensitivity | None:
    if (core, notion) in _remembered:
        return _remembered[core, notion]
    found = _solve(core, notion, deadline)
    if found is not None and found.exact:
        _remembered[core, notion] = found
    return found


def _solve(core: Core, notion: Notion, deadline: float) -> Sensitivity | None:
    closed = _closed(core, notion)
    if closed is not None:
        return closed
    if core.mirror is not None:
        axis, margins = core.mirror
        free, rest = reduce_axes(tuple(size for a, size in enumerate(core.shape) if a != axis), _shifted(axis, margins))
        half = _with_free(free, _core(rest, "worst-case", deadline))
        return half and Sensitivity(2 * half.value, half.exact, f"mirrored: {half.method}", half.notes)
    bound = _by_differences(core, notion, deadline)
    if bound is not None and bound.exact:
        return bound
    if bound is not None:  # good enough not to spend all the time on a better one
        deadline = monotonic() + (deadline - monotonic()) / 3
    return _by_basis(core, notion, deadline) or bound


def are_few(records: int | None) -> bool:
    """Whether the number of records is a bound so low that little time is spent on a better one."""
    return records is not None and records <= FEW_RECORDS


def is_known(core: Core, notion: Notion) -> bool:
    """Whether the sensitivity of a core is known without its moves."""
    return _closed(core, notion) is not None


def _closed(core: Core, notion: Notion) -> Sensitivity | None:
    if not core.shape:
        return Sensitivity(0, True, "the facts determine the table")
    if len(core.margins) == 2:
        longest = {"worst-case": 2 * min(core.shape), "positive": min(6, 2 * min(core.shape)), "markov": 4}
        return Sensitivity(longest[notion], True, "closed form for two margins")
    if notion == "markov" and is_decomposable(core.margins):
        return Sensitivity(4, True, "decomposable facts have a Markov basis of swaps between two records")
    if notion == "worst-case" and core in KNOWN:
        largest, moves = KNOWN[core]
        return Sensitivity(largest, True, f"Graver basis of {core}, computed once", (f"{moves} moves up to sign",))
    return None


def _shifted(axis: int, margins: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """The margins when the given axis is gone."""
    return tuple(tuple(a - (a > axis) for a in margin) for margin in margins)


def _by_basis(core: Core, notion: Notion, deadline: float) -> Sensitivity | None:
    if core.cells > MOST_CORE_CELLS:
        return None
    try:
        moves = select(notion, basis_of(core.matrix, deadline), deadline)
    except (OutOfTime, OverflowError):
        return None
    return Sensitivity(_largest(moves), True, f"Graver basis of {core}", (f"{len(moves)} moves up to sign",))


def _by_differences(core: Core, notion: Notion, deadline: float) -> Sensitivity | None:
    """A bound that holds for any number of values of one attribute, and is exact for many.

    Let an attribute be in one fact only, with the attributes Q. The records that a move takes and puts are paired
    within the cells of that fact, and the differences of the other facts' columns over a pair add up to zero, no part
    of them before all: their number is at most the largest norm N in the Graver basis of these differences. So
    S ≤ 2N, with equality where the attribute has at least N values.
    """
    single = [axis for axis in range(len(core.shape)) if sum(axis in margin for margin in core.margins) == 1]
    if notion != "worst-case" or not single or core.cells <= _EASY_CELLS:
        return None
    axis = max(single, key=lambda a: core.shape[a])
    differences = _differences(core, axis)
    if differences.shape[1] > _MOST_DIFFERENCES:
        return None
    try:
        # A difference and its negative are a zero sum of two, whatever the basis holds.
        longest = max(2, _largest(basis_of(differences, monotonic() + (deadline - monotonic()) / 3)))
    except (OutOfTime, OverflowError):
        return None
    exact = core.shape[axis] >= longest
    return Sensitivity(2 * longest, exact, f"differences of records in {core}", () if exact else ("an upper bound",))


def _differences(core: Core, axis: int) -> Integers:
    """The differences of the columns of the other facts, between cells that agree on Q; each once up to sign."""
    home = next(margin for margin in core.margins if axis in margin)
    others = tuple(margin for margin in core.margins if margin != home)
    rest = [a for a in range(len(core.shape)) if a != axis]
    columns = Core(tuple(core.shape[a] for a in rest), _shifted(axis, others)).matrix.T
    shared = [position for position, a in enumerate(rest) if a in home]
    cells = list(product(*(range(core.shape[a]) for a in rest)))
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, cell in enumerate(cells):
        groups.setdefault(tuple(cell[position] for position in shared), []).append(index)
    found = [columns[a] - columns[b] for group in groups.values() for a, b in combinations(group, 2)]
    distinct = unique_up_to_sign(np.array(found, dtype=np.int64))
    return distinct[distinct.any(axis=1)].T


def _largest(moves: Integers) -> int:
    return int(np.abs(moves).sum(axis=1).max()) if len(moves) else 0


def _refusal(facts: Facts, notion: Notion, time_limit: float) -> str:
    """Which facts are too hard together, and which of them alone would do."""
    hard = facts if facts.loose else Facts(facts.domain, facts.whole)
    pieces: list[Facts] = []
    for dropped in [*facts.whole, *facts.loose]:
        margins = tuple(margin for margin in hard.margins if margin != dropped)
        cells = tuple(cell for cell in hard.cells if hard.effective(cell[0]) != dropped)
        smaller = Facts(facts.domain, margins, cells)
        if smaller and _attempt(smaller, "worst-case", monotonic() + min(1.0, time_limit)) is not None:
            pieces.append(smaller)
    text = (
        f"release.public: no sound sensitivity was found within {time_limit:.2g} seconds for the public facts {facts} "
        f"together (induced = {notion!r}), so no noise would be known to be enough."
    )
    if pieces:
        return f"{text} These would do: {'; or '.join(str(smaller) for smaller in pieces)}."
    names = {name for margin in facts.whole for name in margin}
    return f"{text} The single fact {margin_name(facts.domain.margin(names))}, which implies the margins, would do."
