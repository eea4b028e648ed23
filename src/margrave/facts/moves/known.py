"""Sensitivities of cores whose Graver bases take minutes: computed once, and looked up.

Each is the largest norm in the whole basis, of the number of moves given, one of each pair ±g. ``make soak`` computes
them again where 4ti2 is installed; ``tests/facts/test_known.py`` has a move of that norm for each.
"""

from __future__ import annotations

from margrave.facts.moves.reductions import Core

KNOWN: dict[Core, tuple[int, int]] = {
    Core((3, 3, 3), ((0,), (1,), (2,))): (18, 166_815),
    Core((2, 2, 2, 3), ((0,), (1,), (2,), (3,))): (16, 58_428),
    Core((2, 2, 2, 4), ((0, 1, 2), (0, 3), (1, 3))): (20, 28_440),
}
"""By core: the largest norm of a worst-case move, and the number of moves."""
