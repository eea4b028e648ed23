"""The first records: independent draws from the noisy one-way tables, never from data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Codes, Floats
from margrave.errors import RefusedError
from margrave.noise import Generator
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.records.variables import Variables
from margrave.reconstruct.records.zeros import Zeros

_ROUNDS = 100


def shares(estimates: Estimates, found: Variables, count: int) -> list[Floats]:
    """For each variable the share of each of its values, none of them zero.

    A value that cannot be told from an absent one has at least the share of a third of its standard error.
    """
    all_shares = []
    for name in found.names:
        size = found.domain[name].size
        counts = estimates.values.get((name,), np.zeros(size)) + count / size
        least = max(1.0, 0.3 * estimates.variances.get((name,), 0.0) ** 0.5)
        counts = np.maximum(counts, least)
        all_shares.append(counts / counts.sum())
    return all_shares


def first_records(all_shares: list[Floats], count: int, zeros: Zeros, generator: Generator) -> Codes:
    """Records whose variables are independent, except that none matches an impossible pattern."""
    largest = max((len(one) for one in all_shares), default=1) - 1
    codes: Codes = np.zeros((count, len(all_shares)), dtype=np.min_scalar_type(largest))
    left = np.arange(count)
    for _ in range(_ROUNDS):
        left = left[~_draw(codes, left, all_shares, zeros, generator)]
        if not left.size:
            return codes
    kept = np.setdiff1d(np.arange(count), left)
    if not kept.size:
        raise RefusedError("no record was found that the structural zeros of the spec allow: check release.impossible")
    codes[left] = codes[kept[generator.below(kept.size, left.size)]]
    return codes


def _draw(
    codes: Codes, rows: NDArray[np.int64], all_shares: list[Floats], zeros: Zeros, generator: Generator
) -> NDArray[np.bool_]:
    """Draw some records, variable by variable among the codes still allowed; says for which of them there were any."""
    possible = np.ones(len(rows), dtype=bool)
    drawn = codes[rows]
    for variable, share in enumerate(all_shares):
        allowed = ~zeros.forbidden(drawn, variable, len(share)) * share
        sums = np.cumsum(allowed, axis=1)
        possible &= sums[:, -1] > 0
        uniform = (generator.words(len(rows)) >> np.uint64(11)).astype(float) / 2.0**53
        chosen = (sums <= (uniform * sums[:, -1])[:, None]).sum(axis=1)
        drawn[:, variable] = np.minimum(chosen, len(share) - 1)
    codes[rows] = drawn
    return possible
