"""Minimising a smooth convex function: L-BFGS, the two-loop form, with steps halved until they descend enough.

scipy's has the same steps, but hands its few short vectors to a threaded library: on a busy machine the threads waited
for each other ten times as long as all the rest took.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from margrave.algebra.arrays import Floats

Valued = Callable[[Floats], tuple[float, Floats]]
"""A function's value and slope."""

_MEMORY = 20
"""How many earlier steps the curvature is learned from."""
_ENOUGH, _HALVINGS = 1e-4, 30
"""The part of the descent that the slope promises which a step must make, and how often it is halved for that."""


def minimised(function: Valued, start: Floats, *, steps: int, tolerance: float, flat: float) -> tuple[Floats, int]:
    """Where the function is least, and how often it was computed.

    It ends after so many ``steps``, or when two of them in a row gain less than the part ``tolerance`` of the value, or
    when no slope is above ``flat``.
    """
    where, (value, slope), taken, small = start, function(start), 1, 0
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for _ in range(steps):
        if np.abs(slope).max(initial=0.0) <= flat or small == 2:
            break
        direction = -_turned(slope, pairs)
        promised = float(slope @ direction)
        length = 1.0 if pairs else min(1.0, 1 / float(np.abs(slope).sum()))
        for _ in range(_HALVINGS):
            there = where + length * direction
            found, steeper = function(there)
            taken += 1
            if found <= value + _ENOUGH * length * promised:
                break
            length /= 2
        else:
            break
        step, bend = there - where, steeper - slope
        curvature = float(step @ bend)
        if curvature > 0:
            pairs.append((step, bend, 1 / curvature))
        small = small + 1 if value - found <= tolerance * max(abs(value), abs(found), 1.0) else 0
        where, value, slope = there, found, steeper
    return where, taken


def _turned(slope: Floats, pairs: deque[tuple[Floats, Floats, float]]) -> Floats:
    """The slope times the inverse of the curvature that the pairs tell."""
    turned, parts = slope.copy(), []
    for step, bend, inverse in reversed(pairs):
        part = inverse * float(step @ turned)
        parts.append(part)
        turned -= part * bend
    if pairs:
        step, bend, inverse = pairs[-1]
        turned /= inverse * float(bend @ bend)
    for (step, bend, inverse), part in zip(pairs, reversed(parts), strict=True):
        turned += (part - inverse * float(bend @ turned)) * step
    return turned
