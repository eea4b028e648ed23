"""Private selection, exactly: one of many candidates by their losses, whole numbers, at a rate, a fraction.

The exponential mechanism: probabilities proportional to exp(−rate · loss). Candidates are put into bands by
⌊rate · loss⌋. A band b of n_b candidates is drawn with probability proportional to n_b · e^(−b), a candidate of it
uniformly, and accepted with probability e^(−(rate · loss − b)), which is more than 1/e; otherwise all is drawn anew. So
a candidate comes out with probability proportional to e^(−b) · e^(−(rate · loss − b)) = e^(−rate · loss), and no step
rounds.

Permute-and-flip (McKenna and Sheldon 2020): in a random order, each candidate's coin of probability exp(−rate · excess)
is flipped, its excess being its loss beyond the least, until one falls heads. Flipping all coins at once and drawing
one of the heads uniformly is the same: the first of them in a random order is each with equal chances. At one rate it
protects as well as the exponential mechanism in pure ε, and is never further off (docs/noise.md).
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
_WORD = 64
_FILTER = 2.0**-40
"""Probabilities in floating point are nearer to the true ones than this by far: see `_heads`."""


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


def permute_and_flip(losses: NDArray[Any], rate: Fraction, generator: Generator) -> int:
    """The position of a candidate, drawn by permute-and-flip."""
    if losses.ndim != 1 or not losses.size:
        raise UsageError("a selection needs candidates")
    rate = checked_rate(rate)
    heads = np.flatnonzero(_heads(losses - losses.min(), rate, generator))
    return int(heads[int(generator.below(heads.size, 1)[0])])


def _heads(above: NDArray[Any], rate: Fraction, generator: Generator) -> NDArray[np.bool_]:
    """For each candidate a coin that falls heads with probability exp(−rate · above): always, where that is 1.

    A uniform number is compared with the probability in floating point. The exponent x has a relative error below
    2^-50, so e^(−x) an error below x·e^(−x)·2^-50 < 2^-51, and its own rounding adds a few units of 2^-53. Where the
    two are nearer than 2^-40, the coin is settled by exact bounds, starting from the same bits.
    """
    words = generator.words(above.size)
    drawn = words.astype(np.float64) / 2.0**_WORD
    chances = np.exp(-float(rate) * np.minimum(above, 1 << 1000).astype(np.float64))
    heads: NDArray[np.bool_] = drawn < chances
    certain = (above == 0).astype(np.bool_)
    for at in np.flatnonzero((np.abs(drawn - chances) < _FILTER) & ~certain):
        heads[at] = Chance(rate * int(above[at])).settle(int(words[at]), _WORD, generator)
    heads |= certain
    return heads


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
