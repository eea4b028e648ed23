"""Private selection, exactly: one of many candidates, with probabilities proportional to exp(−rate · loss).

Losses are whole numbers, and the rate is a fraction. Candidates are put into bands by ⌊rate · loss⌋. A band b of n_b
candidates is drawn with probability proportional to n_b · e^(−b), a candidate of it uniformly, and accepted with
probability e^(−(rate · loss − b)), which is more than 1/e; otherwise all is drawn anew. So a candidate comes out with
probability proportional to e^(−b) · e^(−(rate · loss − b)) = e^(−rate · loss), and no step rounds.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import RefusedError, UsageError
from margrave.noise.exact import NEXT, Chance, exp_bounds
from margrave.noise.generator import Generator

_LEAST, _MOST = Fraction(1, 1 << 80), Fraction(1 << 40)
_FIRST_BITS = 128


def select(losses: NDArray[Any], rate: Fraction, generator: Generator) -> int:
    """The position of a candidate, drawn with probability proportional to exp(−rate · loss)."""
    if losses.ndim != 1 or not losses.size:
        raise UsageError("a selection needs candidates")
    rate = checked_rate(rate)
    above = losses - losses.min()
    bands = _bands(above, rate)
    order = np.argsort(bands, kind="stable")
    levels, counts = np.unique(bands, return_counts=True)
    starts = np.concatenate(([0], np.cumsum(counts)))
    while True:
        band = _draw_band([int(level) for level in levels], [int(count) for count in counts], generator)
        inside = int(generator.below(int(counts[band]), 1)[0])
        candidate = int(order[starts[band] + inside])
        rest = rate * int(above[candidate]) - int(levels[band])
        if rest == 0 or Chance(rest).flip(generator):
            return candidate


def checked_rate(rate: Fraction) -> Fraction:
    """A rate at which selections can be drawn; planners check it before anything is spent."""
    if isinstance(rate, bool) or not isinstance(rate, int | Fraction) or not _LEAST <= rate <= _MOST:
        raise RefusedError("the rate of a selection must be a fraction between 2^-80 and 2^40: change the budget")
    return Fraction(rate)


def _bands(above: NDArray[Any], rate: Fraction) -> NDArray[Any]:
    """⌊rate · loss⌋ for each candidate, in whole numbers of any size where 64 bits could overflow."""
    top = int(above.max(initial=0))
    if top * rate.numerator < 1 << 62 and rate.denominator < 1 << 62:
        return above.astype(np.int64) * rate.numerator // rate.denominator
    return np.array([int(one) * rate.numerator // rate.denominator for one in above], dtype=object)


def _draw_band(levels: list[int], counts: list[int], generator: Generator) -> int:
    """The position of a band, drawn with probability proportional to count · e^(−level), levels increasing.

    A uniform number U in [0, 1) is revealed bit by bit until the bits, and bounds on the weights, show between which
    two sums of weights U times the total lies.
    """
    bits, prefix = _FIRST_BITS, int.from_bytes(generator.octets(_FIRST_BITS // 8).tobytes(), "big")
    while True:
        # Bands beyond the bits weigh less than one unit a candidate: they are told apart only if U points at them.
        near = bisect_left(levels, bits)
        weights = [_weight(level, count, bits) for level, count in zip(levels[:near], counts[:near], strict=True)]
        total_low, total_high = (sum(one[end] for one in weights) for end in (0, 1))
        # U · total lies between these two, in units of 2^−2·bits.
        least, most = prefix * total_low, (prefix + 1) * (total_high + sum(counts[near:]))
        low = high = 0
        for band, (weight_low, weight_high) in enumerate(weights):
            before_high, low, high = high, low + weight_low, high + weight_high
            if before_high << bits <= least and most <= low << bits:
                return band
        prefix = prefix << NEXT | int(generator.words(1)[0])
        bits += NEXT


def _weight(level: int, count: int, bits: int) -> tuple[int, int]:
    low, high = _power(level, bits)
    return count * low, count * high


@lru_cache(maxsize=1024)
def _power(level: int, bits: int) -> tuple[int, int]:
    """Bounds on e^(−level): the same few for every selection, so that many bands take hardly longer than one."""
    return exp_bounds(Fraction(level), bits)
