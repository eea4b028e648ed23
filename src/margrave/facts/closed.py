"""Sensitivities in closed form: known cells of one cuboid, or of two (docs/public-facts.md)."""

from __future__ import annotations

from collections import Counter

from margrave.algebra.domain import Margin
from margrave.facts.facts import Facts


def few_cuboids(facts: Facts) -> int | None:
    """The largest norm of an induced move, where all facts are cells of one or two margins; None otherwise."""
    cuboids = tuple(dict.fromkeys([*facts.whole, *facts.loose]))
    if len(cuboids) > 2:
        return None
    if not cuboids:
        return 1
    if len(cuboids) == 1:
        return _one(facts, cuboids[0])
    first, second = cuboids
    if set(first) <= set(second):
        return _nested(facts, first, second)
    if set(second) <= set(first):
        return _nested(facts, second, first)
    return _two(facts, first, second)


def _known(facts: Facts, cuboid: Margin) -> int:
    return facts.domain.cells(cuboid) if cuboid in facts.whole else len(facts.loose[cuboid])


def _one(facts: Facts, cuboid: Margin) -> int:
    """Each known cell with several base cells lets records move within it; what is not known is free."""
    if facts.base_cells(cuboid) > 1:
        return 2
    return 1 if _known(facts, cuboid) < facts.domain.cells(cuboid) else 0


def _nested(facts: Facts, below: Margin, above: Margin) -> int:
    """Cells of a margin and of one below it: they cut the base cells into classes of known total.

    A class of several base cells gives 2. With only some cells of ``below`` known, the rest of ``above`` is free: 1.
    """
    inside = facts.domain.cells(above) // facts.domain.cells(below)
    many = facts.base_cells(above)
    known = _known(facts, above)
    if many > 1:
        return 2
    positions = [above.index(name) for name in below]
    held = Counter(tuple(cell[position] for position in positions) for cell in facts.loose.get(above, ()))
    if above in facts.whole:
        return 0
    if below in facts.whole:
        fewest = min((held[x] for x in held), default=0) if len(held) == facts.domain.cells(below) else 0
        return 2 if inside - fewest > 1 else 0
    totals = facts.loose[below]
    if any(inside - held[x] > 1 for x in totals):
        return 2
    determined = sum(inside - held[x] for x in totals)
    return 1 if facts.domain.cells(above) - known - determined > 0 else 0


def _two(facts: Facts, first: Margin, second: Margin) -> int:
    """max over shared values x of min{2p+2, 2q+2, p+q+1, 2 s₁, 2 s₂}; p, q cells of the two cuboids are known at x."""
    shared = tuple(name for name in first if name in second)
    groups = facts.domain.cells(shared)
    sizes = [facts.domain.cells(cuboid) // groups for cuboid in (first, second)]
    counts = []
    for cuboid, size in zip((first, second), sizes, strict=True):
        positions = [cuboid.index(name) for name in shared]
        held = Counter(tuple(cell[position] for position in positions) for cell in facts.loose.get(cuboid, ()))
        counts.append((held, size if cuboid in facts.whole else 0))
    (p_at, p_else), (q_at, q_else) = counts
    touched = set(p_at) | set(q_at)
    pairs = {(p_at[x] or p_else, q_at[x] or q_else) for x in touched}
    if len(touched) < groups:
        pairs.add((p_else, q_else))
    return max(min(2 * p + 2, 2 * q + 2, p + q + 1, 2 * sizes[0], 2 * sizes[1]) for p, q in pairs)
