"""The compiled loops that make records. Numba takes long to load: imported only where records are about to be made."""

from __future__ import annotations

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.compiled import compiled

_NEVER = 1e-6
"""A cell that expects fewer records than this gets none, unless there is no other."""


@compiled
def _next(state: int) -> tuple[int, int]:
    """The next state of a linear congruential stream, and 32 bits of it. Nothing private depends on them."""
    state = (state * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
    return state, (state >> 29) & 0xFFFFFFFF


@compiled
def divided(shares: Floats, sizes: Integers) -> Integers:
    """Each size divided into whole numbers by its row of shares; what is rounded off is carried to the next rows."""
    groups, values = shares.shape
    given = np.zeros((groups, values), dtype=np.int64)
    carried = np.zeros(values)
    for group in range(groups):
        size = sizes[group]
        if size == 0:
            continue
        likely = size * shares[group].max() > _NEVER
        left = size
        for value in range(values):
            expected = size * shares[group, value]
            if expected > _NEVER or not likely:
                carried[value] += expected
                given[group, value] = max(0, int(np.floor(carried[value])))
                carried[value] -= given[group, value]
                left -= given[group, value]
        step = 1 if left > 0 else -1
        while left != 0:
            best = -1
            for value in range(values):
                allowed = size * shares[group, value] > _NEVER or not likely
                if step < 0:
                    allowed = given[group, value] > 0
                if allowed and (best < 0 or step * carried[value] > step * carried[best]):
                    best = value
            given[group, best] += step
            carried[best] -= step
            left -= step
    return given


@compiled
def mixed(given: Integers, sizes: Integers, seed: int) -> Integers:
    """The values of all records, group after group, in a random order within each: another for another seed."""
    labels = np.empty(sizes.sum(), dtype=np.int64)
    state, drawn, low = 88172645463325252 ^ (seed << 24), 0, 0
    for group in range(len(sizes)):
        end = low
        for value in range(given.shape[1]):
            for _ in range(given[group, value]):
                labels[end] = value
                end += 1
        for place in range(end - 1, low, -1):
            state, drawn = _next(state)
            other = low + (drawn * (place - low + 1) >> 32)
            labels[place], labels[other] = labels[other], labels[place]
        low = end
    return labels
