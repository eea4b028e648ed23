"""A first set of tables that a number of records can bear: fewer and smaller ones where there are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

_WIDTH = 3
"""Half of a 95 % interval of Laplace noise, in scales: ln 20."""
_NOISE = 0.5
"""A table is proposed where the interval of a cell is at most so much of its mean count."""
_ASSUMED = 1000
"""Records that are assumed where nobody has looked."""


@dataclass(frozen=True)
class Proposal:
    """Every table of up to ``all_ways`` attributes (0: none), and single ``tables`` beside them."""

    all_ways: int
    tables: tuple[tuple[str, ...], ...] = ()
    remark: str = ""


def proposed(sizes: Sequence[tuple[str, int]], records: int | None, of_unit: int = 1, epsilon: float = 1.0) -> Proposal:
    """What to ask first of attributes with so many values each, of whom one unit owns so many records.

    By a rough rule, without a plan: the budget is shared out evenly. Plans do better, as the forecast tells.
    """
    known = _ASSUMED if records is None else records
    singles = [(name,) for name, _ in sizes]
    size = dict(sizes)
    telling = [name for name, values in sizes if values > 1]  # what is the same of everybody adds nothing to a table
    pairs = list(combinations(telling, 2))

    def cells(table: tuple[str, ...]) -> int:
        product = 1
        for name in table:
            product *= size[name]
        return product

    def fits(tables: int, largest: int) -> bool:
        return _WIDTH * tables * of_unit / epsilon <= _NOISE * known / max(1, largest)

    if pairs and fits(len(pairs), max(map(cells, pairs))):
        return Proposal(2)
    chosen: list[tuple[str, ...]] = []
    for pair in sorted(pairs, key=cells):
        if not fits(len(singles) + len(chosen) + 1, cells(pair)):
            break
        chosen.append(pair)
    if chosen:
        return Proposal(1, tuple(chosen), "pairs whose cells are large enough for noise to leave something")
    few = sorted(singles, key=cells)
    borne = [table for number, table in enumerate(few, 1) if fits(number, cells(table))]
    if len(borne) == len(singles) or not singles:
        return Proposal(1, (), "every table of one attribute")
    kept = set(borne or few[:1])
    return Proposal(0, tuple(table for table in singles if table in kept), "few records bear few tables")
