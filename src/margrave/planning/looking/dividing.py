"""How the rest of a budget is divided among tables, by what the answers before tell. Opens no data.

Of each residual T the answers so far have a precision 1/σ²_T, and a model says what it should be. How far the truth is
from the model is not known: each dimension by about √s, where s has one of some sizes, each with a chance. Measured
with a further precision p and shrunk towards the model, the residual is left with the error 1 / (1/s + 1/σ²_T + p) for
each dimension. The rest is divided so that the roots of the squared errors of all candidates, weighted, have the least
sum.

Whatever the division, it follows from noisy answers, and all of it costs the same: see docs/adaptive.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.planning.looking.candidates import Selectable
from margrave.planning.matrices import within

_STEPS, _SETTLED = 300, 1e-5


@dataclass(frozen=True, eq=False)
class Doubt:
    """What is not known of a residual: the ``precision`` that it is measured with so far, what a ``part`` of the rest
    would add to that, and how ``firm`` the model may be, 1/s for each size s, with the ``chances`` of these. 0 stands
    for no model, infinity for one that is right. ``relied_on``: what an error in it counts for, since a model carries
    errors on to other tables.
    """

    precision: float
    part: float
    firm: Floats
    chances: Floats
    relied_on: float = 1.0


def divide(domain: Domain, offered: Selectable, doubts: Mapping[Margin, Doubt], parts: int) -> list[int]:
    """How many of so many parts each residual gets."""
    parts_of = within(domain, offered.margins, list(doubts))
    before, part, relied_on = np.array([(one.precision, one.part, one.relied_on) for one in doubts.values()]).T
    firm, chances = (np.array([getattr(one, name) for one in doubts.values()]) for name in ("firm", "chances"))
    weights = np.array(offered.weights, dtype=float)
    shares = np.full(len(doubts), 1 / len(doubts))
    for _ in range(_STEPS):
        left = 1 / (firm + (before + parts * part * shares)[:, None])
        errors = parts_of @ (chances * left).sum(axis=1)
        steep = parts_of.T @ (weights / np.sqrt(np.maximum(errors, np.finfo(float).tiny)))
        wished = shares * np.sqrt(relied_on * steep * part * (chances * left**2).sum(axis=1))
        wished /= wished.sum()
        moved, shares = float(np.abs(wished - shares).sum()), wished
        if moved < _SETTLED:
            break
    return _whole(parts * shares)


def _whole(shares: Floats) -> list[int]:
    """Whole numbers near the shares with the same sum: rounded down, and one more for the largest remainders."""
    found = np.floor(shares).astype(np.int64)
    lacking = round(float(shares.sum())) - int(found.sum())
    found[np.argsort(found - shares, kind="stable")[:lacking]] += 1
    return [int(one) for one in found]
