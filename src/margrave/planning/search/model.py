"""The planning problem on bare shapes: what a set of noisy counts says about the tables wanted.

Attributes are 0, 1, ...; attribute j has `sizes[j]` = k_j >= 2 values, and a margin is a sorted tuple of attributes.
A *choice* is (S, b, share): the margin S counted with the binary attributes b ⊆ S seen as ±1 contrasts and the others
as cells, at a share of the budget. All formulas are at ε = 1, for Laplace noise and adding or removing one record:

- a choice of share s has noise of variance v = 2/s² on each output and gives each residual T with b ⊆ T ⊆ S an
  estimate of variance v · ∏_{j∈S∖T} k_j / 2^|b|;
- independent estimates of the same residual add up in precision, 1/σ²_T = Σ 1/variance;
- one cell of table α has the forecast variance V_α = Σ_{T⊆α} σ²_T ∏_{j∈T}(1−1/k_j) / ∏_{j∈α∖T} k_j².

Under another ε every variance is divided by ε².
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Floats
from margrave.algebra.lattice import downward_closure, subsets
from margrave.errors import UsageError

Places = tuple[int, ...]
Candidate = tuple[Places, Places]
Choice = tuple[Places, Places, float]
Workload = Mapping[Places, float]

DENSE_ENTRIES = 4_000_000
"""A matrix of at most so many entries (32 MB) is dense: faster, and no larger than the numbers about it."""
MANY_MARKS = 1_000_000
"""More entries than this of a matrix of candidates by attributes are not multiplied where a list does as well."""
FEW_COVERED = 1 / 16
"""What a candidate covers is listed where that is at most this part of all residuals; else all are asked one by one."""
FEW_CANDIDATES = 64
"""Rows of so few candidates are put together from those that are known already."""
OBJECTIVES = ("mean", "max")


def closure_of(margins: Iterable[Places]) -> tuple[Places, ...]:
    """The downward closure: every subset of every margin, by size and then by attributes."""
    return tuple(sorted(downward_closure(margins), key=lambda t: (len(t), t)))


def cells_of(sizes: Sequence[int], margin: Iterable[int]) -> int:
    """The number of cells of a margin."""
    return math.prod(sizes[j] for j in margin)


@dataclass(frozen=True)
class Goal:
    """Sizes, tables with positive weights, and the objective to minimise.

    Residuals inside a `known` margin need no measurement: their variance is 0.
    "mean" is Σ_α w_α·cells_α·V_α / Σ_α w_α·cells_α, the mean squared error per published cell;
    "max" is max_α w_α·V_α.
    """

    sizes: tuple[int, ...]
    workload: dict[Places, float]
    objective: str = "mean"
    known: tuple[Places, ...] = ()

    def __post_init__(self) -> None:
        if any(k < 2 for k in self.sizes):
            raise UsageError(f"sizes {self.sizes} must all be at least 2; drop attributes with a single value")
        if not self.workload:
            raise UsageError("the workload has no table; name at least one margin, () for the total")
        if self.objective not in OBJECTIVES:
            raise UsageError(f"objective {self.objective!r} must be one of {', '.join(OBJECTIVES)}")
        for margin, weight in self.workload.items():
            if list(margin) != sorted(set(margin)) or any(not 0 <= j < len(self.sizes) for j in margin):
                raise UsageError(f"margin {margin} must be a sorted tuple of attributes below {len(self.sizes)}")
            if not (weight > 0 and math.isfinite(weight)):
                raise UsageError(f"weight {weight} of margin {margin} must be positive and finite")

    @cached_property
    def closure(self) -> tuple[Places, ...]:
        """The residuals that must be covered."""
        known = set(closure_of(self.known))
        return tuple(t for t in closure_of(self.workload) if t not in known)

    @cached_property
    def log_sizes(self) -> Floats:
        """log k_j."""
        return np.log(np.asarray(self.sizes, dtype=np.float64))

    @cached_property
    def incidence(self) -> Floats:
        """0/1 matrix: residual T (row) contains attribute j (column)."""
        return indicator(self.closure, len(self.sizes))

    @cached_property
    def spread(self) -> Any:
        """Matrix Q, tables by residuals: V_α = Σ_T Q[α, T] σ²_T. Dense where small."""
        index = self._index
        rows, columns, values = [], [], []
        for row, margin in enumerate(self.workload):
            for t in subsets(margin):
                if t not in index:
                    continue
                rows.append(row)
                columns.append(index[t])
                values.append(
                    math.prod(1 - 1 / self.sizes[j] for j in t) / float(cells_of(self.sizes, set(margin) - set(t))) ** 2
                )
        shape = (len(self.workload), len(self.closure))
        if shape[0] * shape[1] <= DENSE_ENTRIES:
            matrix = np.zeros(shape)
            matrix[rows, columns] = values
            return matrix
        return _sparse().csr_array((values, (rows, columns)), shape=shape)

    @cached_property
    def table_weights(self) -> Floats:
        """Factor of V_α in the objective: normalised w_α·cells_α for "mean", w_α for "max"."""
        weights = np.asarray(list(self.workload.values()), dtype=np.float64)
        if self.objective == "max":
            return weights
        weights = weights * [float(cells_of(self.sizes, margin)) for margin in self.workload]
        return np.asarray(weights / weights.sum())

    @cached_property
    def residual_weights(self) -> Floats:
        """Factor of σ²_T in Σ_α table_weights_α V_α."""
        return np.asarray(self.spread.T @ self.table_weights)

    def rows(self, candidates: Sequence[Candidate]) -> Floats:
        """Precision that each candidate at share 1 gives each residual: candidates by residuals."""
        if 0 < len(candidates) <= FEW_CANDIDATES and not self._vast:
            return np.array([self._row(candidate) for candidate in candidates])
        return self._rows(candidates)

    def _row(self, candidate: Candidate) -> Floats:
        """`rows` of one candidate: a search comes back to the same ones again and again."""
        if candidate not in self._known:
            if len(self._known) * len(self.closure) > DENSE_ENTRIES:
                self._known.clear()
            margin, contrast = candidate
            outside = [j for j in range(len(self.sizes)) if j not in margin]
            covered = ~self._marks[:, outside].any(axis=1) & self._marks[:, list(contrast)].all(axis=1)
            self._known[candidate] = covered * (self._factor(candidate) * self._shape)
        return self._known[candidate]

    @cached_property
    def _marks(self) -> NDArray[np.bool_]:
        """`incidence` as true and false."""
        return self.incidence > 0

    def _factor(self, candidate: Candidate) -> float:
        """See `_factors`."""
        margin, contrast = candidate
        return float(2.0 ** (len(contrast) - 1) * math.exp(-sum(self.log_sizes[j] for j in margin)))

    @cached_property
    def _known(self) -> dict[Candidate, Floats]:
        return {}

    def _rows(self, candidates: Sequence[Candidate]) -> Floats:
        many = self._vast or len(candidates) * len(self.sizes) > MANY_MARKS
        if many and self._is_listed(candidates):
            return np.asarray(self._listed_rows(candidates).toarray())
        inside, contrast = (indicator([c[i] for c in candidates], len(self.sizes)) for i in (0, 1))
        # Attributes of T outside S, plus attributes of b outside T: none of either when b ⊆ T ⊆ S.
        signed = (1 - inside - contrast).astype(np.float32)
        faults = signed @ self.incidence.T.astype(np.float32) + contrast.sum(axis=1, dtype=np.float32)[:, None]
        return np.asarray((faults < 0.5) * np.outer(self._factors(candidates), self._shape))

    def matrix(self, candidates: Sequence[Candidate]) -> Any:
        """`rows`, sparse where it would be large."""
        if len(candidates) * len(self.closure) <= DENSE_ENTRIES:
            return self.rows(candidates)
        sparse, step = _sparse(), max(1, DENSE_ENTRIES // len(self.closure))
        parts = [candidates[i : i + step] for i in range(0, len(candidates), step)]
        blocks = [self._listed_rows(c) if self._is_listed(c) else sparse.csr_array(self.rows(c)) for c in parts]
        return sparse.csr_array(sparse.vstack(blocks))

    @cached_property
    def _index(self) -> dict[Places, int]:
        """The place of each residual in the closure."""
        return {t: i for i, t in enumerate(self.closure)}

    @cached_property
    def _shape(self) -> Floats:
        """∏_{j∈T} k_j for each residual T."""
        if self._vast:
            return np.exp([sum(self.log_sizes[j] for j in t) for t in self.closure])
        return np.asarray(np.exp(self.incidence @ self.log_sizes))

    @cached_property
    def _vast(self) -> bool:
        """Whether no matrix of residuals by attributes should be made."""
        return len(self.closure) * len(self.sizes) > DENSE_ENTRIES

    @cached_property
    def _widest(self) -> int:
        """The most attributes of a residual."""
        return max(map(len, self.closure), default=0)

    def _is_listed(self, candidates: Sequence[Candidate]) -> bool:
        """Whether each candidate covers so few residuals that they are better listed."""
        most = FEW_COVERED * len(self.closure)
        return all(_few(len(s) - len(b), self._widest - len(b)) <= most for s, b in candidates)

    def _listed_rows(self, candidates: Sequence[Candidate]) -> Any:
        """`rows` without the zeros."""
        columns = [sorted(self._covered(*candidate)) for candidate in candidates]
        lengths = [len(row) for row in columns]
        places = np.fromiter(chain.from_iterable(columns), dtype=np.int32, count=sum(lengths))
        values = np.repeat(self._factors(candidates), lengths) * self._shape[places]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return _sparse().csr_array((values, places, starts), shape=(len(candidates), len(self.closure)))

    def _covered(self, margin: Places, contrast: Places) -> Iterable[int]:
        """The places of the residuals that a candidate covers."""
        others = tuple(j for j in margin if j not in contrast)
        for width in range(min(len(others), self._widest - len(contrast)) + 1):
            for extra in combinations(others, width):
                place = self._index.get(tuple(sorted((*contrast, *extra))))
                if place is not None:
                    yield place

    def _factors(self, candidates: Sequence[Candidate]) -> Floats:
        """The precision that each candidate gives the total, or would give it if it covered it."""
        if self._vast:
            return np.array([self._factor(candidate) for candidate in candidates])
        inside, contrast = (indicator([c[i] for c in candidates], len(self.sizes)) for i in (0, 1))
        return np.asarray(2.0 ** (contrast.sum(axis=1) - 1) * np.exp(-inside @ self.log_sizes))

    def value(self, precision: Floats) -> Floats:
        """The objective, for precisions 1/σ²_T along the last axis; infinite where a residual is uncovered."""
        with np.errstate(divide="ignore"):
            variance = 1.0 / precision
        if self.objective == "mean":
            return np.asarray(variance @ self.residual_weights)
        return np.asarray((self.table_variances(variance) * self.table_weights).max(axis=-1))

    def table_variances(self, variance: Floats) -> Floats:
        """V_α for σ²_T along the last axis; infinite where some T ⊆ α has σ²_T infinite."""
        lost = ~np.isfinite(variance)
        if not lost.any():
            return np.asarray((self.spread @ variance.T).T)
        finite = np.where(lost, 0.0, variance)
        gone = (self.spread @ lost.astype(np.float64).T).T > 0
        return np.where(gone, np.inf, (self.spread @ finite.T).T)


def _few(attributes: int, width: int) -> int:
    """How many sets of at most so many attributes there are."""
    return sum(math.comb(attributes, size) for size in range(min(attributes, width) + 1))


def indicator(margins: Sequence[Places], width: int) -> Floats:
    """0/1 matrix: margin (row) contains attribute (column)."""
    out = np.zeros((len(margins), width))
    for row, margin in enumerate(margins):
        out[row, list(margin)] = 1.0
    return out


def _sparse() -> Any:
    """The module of sparse matrices, which takes longer to import than most plans take to make, and few need."""
    from scipy import sparse

    return sparse
