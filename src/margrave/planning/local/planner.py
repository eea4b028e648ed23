"""Choosing what respondents report on: the questions, and how often each is drawn.

A question Q told to a share q_Q of n respondents gives the residual T a precision of n·q_Q/σ²_QT. With W_T the weight
of the residual in the wanted tables, the shares minimise

    Σ_T W_T / Σ_Q (q_Q / σ²_QT)        over shares that add up to 1,

a convex problem. Where every residual has one question, the optimum is q_T ∝ √(W_T σ²_T).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb, prod

import numpy as np
from scipy.sparse import csr_array

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure, maximal
from margrave.errors import RefusedError
from margrave.planning.local.odds import Odds
from margrave.planning.local.question import WEIGHTS, LocalQuestion, candidates
from margrave.spec.workload import Wanted

MOST_RESIDUALS = 20_000
_WIDER, _MOST_WIDER = 2, 3000
"""Reports about so many attributes more than a table has are weighed too, as long as there are not too many of them."""
_WIDE_CELLS = 256
_STEPS = 3000
_CLOSE = 1e-4
"""The objective ends at most this part above its optimum."""
_RARE = 0.02
"""Questions with less than this part of an even share are left out: they hardly help, and lengthen the page."""


def residual_weights(domain: Domain, workload: Sequence[Wanted]) -> dict[Margin, float]:
    """W_T: what the variance σ²_T of each residual adds to the squared error of all wanted tables, by their weights."""
    found: dict[Margin, float] = {}
    for wanted in workload:
        margin = wanted.margin
        cells = domain.cells(margin)
        for below in downward_closure([margin]):
            inside = prod(1 - 1 / domain[name].size for name in below)
            outside = prod(domain[name].size for name in margin if name not in below)
            found[below] = found.get(below, 0.0) + float(wanted.weight) * cells * inside / outside**2
    found.pop((), None)
    return found


def make_questions(domain: Domain, workload: Sequence[Wanted], odds: Odds) -> tuple[LocalQuestion, ...]:
    """The best questions for the wanted tables, those that are drawn most first."""
    widest = max(len(wanted.margin) for wanted in workload)
    if widest > 16:
        raise RefusedError(f"a wanted table has {widest} attributes: no number of respondents would fill it")
    weights = residual_weights(domain, workload)
    if len(weights) > MOST_RESIDUALS:
        raise RefusedError(
            f"the wanted tables have {len(weights)} parts to report on, and {MOST_RESIDUALS} are possible: "
            "ask for fewer or smaller tables"
        )
    found = _questions(domain, weights, odds)
    shares = best_shares(_precisions(found, list(weights)), np.array(list(weights.values())))
    kept = [(share, one) for share, one in zip(shares, found, strict=True) if share * len(found) > _RARE]
    numbers = _whole_weights(np.array([share for share, _ in kept]))
    chosen = [LocalQuestion(one.margin, one.mechanism, weight) for (_, one), weight in zip(kept, numbers, strict=True)]
    return tuple(sorted(chosen, key=lambda one: -one.weight))


def _questions(domain: Domain, weights: dict[Margin, float], odds: Odds) -> list[LocalQuestion]:
    """For each margin the best report about the whole answer and, from two attributes on, about its residual."""
    kinds = [(margin, whole) for margin in weights for whole in ((True, False) if len(margin) > 1 else (True,))]
    kinds += [(margin, True) for margin in _wider(domain, weights)]
    found = []
    for margin, whole in kinds:
        if best := candidates(domain.shape(margin), odds, whole=whole)[:1]:
            found.append(LocalQuestion(margin, best[0], 1))
    reached = {one.margin for one in found}
    if missed := [margin for margin in maximal(weights) if margin not in reached]:
        raise RefusedError(f"no report is long enough for the table of {', '.join(missed[0])}: ask for a smaller one")
    return found


def _wider(domain: Domain, weights: dict[Margin, float]) -> Iterator[Margin]:
    """Margins above the wanted ones: with a large ε it pays to report on more at once."""
    names = domain.margin(name for margin in weights for name in margin)
    widest = max(map(len, weights))
    for width in range(widest + 1, min(widest + _WIDER, len(names)) + 1):
        if comb(len(names), width) > _MOST_WIDER:
            return
        yield from (margin for margin in combinations(names, width) if domain.cells(margin) <= _WIDE_CELLS)


def _precisions(questions: Sequence[LocalQuestion], residuals: Sequence[Margin]) -> csr_array:
    """1/σ²_QT, a row for each question."""
    place = {margin: index for index, margin in enumerate(residuals)}
    rows, columns, values = [], [], []
    for row, one in enumerate(questions):
        for below in downward_closure([one.margin])[1:] if one.mechanism.whole else (one.margin,):
            if below in place:
                rows.append(row)
                columns.append(place[below])
                values.append(1 / one.spread(below))
    return csr_array((values, (rows, columns)), shape=(len(questions), len(residuals)))


def best_shares(precisions: csr_array, weights: Floats) -> Floats:
    """The optimal shares, by multiplication with the root of the slope, which never makes them worse.

    At the optimum no slope is above the mean slope; how far the largest is above it bounds what is left to gain.
    """
    shares = np.full(precisions.shape[0], 1 / precisions.shape[0])
    across = precisions.T.tocsr()
    for _ in range(_STEPS):
        slopes = precisions @ (weights / (across @ shares) ** 2)
        mean = float(slopes @ shares)
        if slopes.max() <= (1 + _CLOSE) * mean:
            break
        shares = shares * np.sqrt(slopes)
        shares /= shares.sum()
    return np.asarray(shares)


def _whole_weights(shares: Floats) -> list[int]:
    """The shares as whole numbers that add up to `WEIGHTS`, none of them zero."""
    found = [max(1, int(share / shares.sum() * WEIGHTS)) for share in shares.tolist()]
    found[int(np.argmax(shares))] += WEIGHTS - sum(found)
    return found
