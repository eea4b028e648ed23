"""From noisy answers about a graph to a block table and a simple graph that agree with the public degrees.

Both use noisy numbers and public facts alone. docs/graphs.md says why the nearest graph is the most likely one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, hstack, identity

from margrave.algebra.arrays import Floats, Integers
from margrave.crossing import MeasuredGraph
from margrave.planning.graphs.degrees import Side
from margrave.planning.graphs.shape import blocks_of, pairs_of

if TYPE_CHECKING:
    from margrave.planning.graphs.plan import GraphPlan
    from margrave.planning.graphs.spec import GraphSpec

TIME_LIMIT = 60.0
"""Seconds for each integer program; what is best by then is taken."""

_SCRAMBLE = 2654435761  # an odd number near 2^32/φ: spreads positions evenly


@dataclass(frozen=True, eq=False)
class BlockEstimates:
    """An unbiased count for each block, with its variance; sums that the public degrees fix are exact."""

    counts: Floats
    variances: Floats


@dataclass(frozen=True, eq=False)
class NearestGraph:
    """A simple graph with the public degrees: for each pair of nodes whether there is an edge.

    ``proven``: whether no other such graph is nearer; false where the time was over.
    """

    edges: NDArray[np.bool_]
    proven: bool


@dataclass(frozen=True, eq=False)
class Solution:
    """Whole numbers that an integer program has found, and whether they are proven to be the best."""

    values: Integers
    proven: bool


def block_estimates(plan: GraphPlan, measured: MeasuredGraph) -> BlockEstimates:
    """Least squares: the nearest table whose sums are right wherever all degrees of a group are public.

    With constraints C b = d it is ``b = z − C⁺(C z − d)``, and the variance is that of z times the diagonal of
    ``1 − C⁺C``.
    """
    noisy = measured.blocks.astype(np.float64)
    constraints, sums = _group_sums(plan.spec, measured)
    inverse = np.linalg.pinv(constraints)
    left = np.clip(1 - np.einsum("ij,ji->i", inverse, constraints), 0, 1)
    variances = np.where(left < 1e-9, 0.0, left) * plan.block_noise.variance
    return BlockEstimates(noisy - inverse @ (constraints @ noisy - sums), variances)


def _group_sums(spec: GraphSpec, measured: MeasuredGraph) -> tuple[Floats, Floats]:
    """One row for each group and side whose degrees are all public: how often each block counts in their sum."""
    blocks, _ = blocks_of(spec)
    rows, sums = [], []
    for known in spec.known:
        degrees = dict(zip(known.nodes, measured.degrees[known.side].tolist(), strict=True))
        for group in range(len(spec.nodes.groups)):
            members = spec.nodes.members(group)
            if all(node in degrees for node in members):
                rows.append([_ends(known.side, group, block) for block in blocks])
                sums.append(sum(degrees[node] for node in members))
    return np.array(rows, dtype=np.float64).reshape(-1, len(blocks)), np.array(sums, dtype=np.float64)


def _ends(side: Side, group: int, block: tuple[int, int]) -> int:
    """How many ends of an edge in the block count for the degrees of the group."""
    return (side != "in_degree" and block[0] == group) + (side != "out_degree" and block[1] == group)


def nearest_graph(plan: GraphPlan, measured: MeasuredGraph, *, time_limit: float = TIME_LIMIT) -> NearestGraph | None:
    """The simple graph with the public degrees that is nearest, first to the block table and then to the noisy pairs.

    None where no graph is found in time.
    """
    spec = plan.spec
    blocks, of_pair = blocks_of(spec)
    pairs = len(of_pair)
    sums = csr_array((np.ones(pairs), (of_pair, np.arange(pairs))), shape=(len(blocks), pairs))
    weights, degrees = _weights(plan, measured), _degree_sums(spec, measured)
    wanted = block_estimates(plan, measured).counts

    def with_blocks(table: Integers) -> Solution | None:
        return _solve(weights, [*degrees, LinearConstraint(sums, table, table)], pairs, time_limit)

    # The nearest whole block table with the right sums is that of some graph more often than not.
    whole = _nearest_table(wanted, sums.sum(axis=1), _group_sums(spec, measured), time_limit)
    if whole is not None and (found := with_blocks(whole.values)) is not None:
        return NearestGraph(found.values == 1, whole.proven and found.proven)
    some = _nearest_blocks(sums, wanted, degrees, time_limit)
    if some is None:
        return None
    found = with_blocks((sums @ some.values).astype(np.int64))
    best = some if found is None else found
    return NearestGraph(best.values == 1, some.proven and found is not None and found.proven)


def _degree_sums(spec: GraphSpec, measured: MeasuredGraph) -> list[LinearConstraint]:
    """For each side, what the pairs at each node with a public degree add up to."""
    one, other = pairs_of(spec)
    found = []
    for known in spec.known:
        row = np.full(len(spec.nodes), -1, dtype=np.int64)
        row[list(known.nodes)] = np.arange(len(known.nodes))
        ends = {"degree": (one, other), "out_degree": (one,), "in_degree": (other,)}[known.side]
        rows = np.concatenate([row[end] for end in ends])
        columns = np.tile(np.arange(len(one)), len(ends))
        kept = rows >= 0
        shape = (len(known.nodes), len(one))
        matrix = csr_array((np.ones(kept.sum()), (rows[kept], columns[kept])), shape=shape)
        found.append(LinearConstraint(matrix, measured.degrees[known.side], measured.degrees[known.side]))
    return found


def _weights(plan: GraphPlan, measured: MeasuredGraph) -> Floats:
    """What an edge at each pair adds to the distance.

    Gaussian noise: the squares. Laplace noise: 1 where the noisy answer says no edge and −1 where it says edge, as the
    rest of it tells nothing of the data; that rest breaks ties, by amounts that add up to less than 1.
    """
    noisy, noise = measured.pairs, plan.pair_noise
    assert noisy is not None and noise is not None
    if not noise.pure:
        return np.asarray(1.0 - 2.0 * noisy)
    scrambled = np.arange(noisy.size) * _SCRAMBLE % (1 << 32)
    rank = np.empty(noisy.size)
    rank[np.lexsort((scrambled, -noisy))] = np.arange(noisy.size)
    return np.asarray(np.where(noisy >= 1, -1.0, 1.0) + rank / noisy.size**2)


def _nearest_table(wanted: Floats, most: Floats, fixed: tuple[Floats, Floats], time_limit: float) -> Solution | None:
    """The whole numbers, from 0 to the pairs of each block and with the sums that are fixed, nearest to the wanted."""
    count = len(wanted)
    one = identity(count, format="csr")
    constraints = _gaps(one, wanted)
    matrix, sums = fixed
    if len(sums):
        constraints.append(LinearConstraint(hstack([csr_array(matrix), csr_array((len(sums), count))]), sums, sums))
    weights = np.concatenate([np.zeros(count), np.ones(count)])
    return _solve(weights, constraints, count, time_limit, most)


def _nearest_blocks(
    sums: csr_array, wanted: Floats, degrees: list[LinearConstraint], time_limit: float
) -> Solution | None:
    """A graph with the degrees whose block table is nearest in L1 to the wanted one.

    The blocks are variables of their own, behind the pairs: a solver that may branch on them is much faster.
    """
    blocks, pairs = sums.shape
    one = identity(blocks, format="csr")
    equal = LinearConstraint(hstack([sums, -one, csr_array((blocks, blocks))]), 0, 0)
    nearness = [_behind(gap, pairs) for gap in _gaps(one, wanted)]
    fixed = [LinearConstraint(hstack([c.A, csr_array((c.A.shape[0], 2 * blocks))]), c.lb, c.ub) for c in degrees]
    weights = np.concatenate([np.zeros(pairs + blocks), np.ones(blocks)])
    upper = np.concatenate([np.ones(pairs), np.full(blocks, np.inf)])
    found = _solve(weights, [equal, *nearness, *fixed], pairs + blocks, time_limit, upper)
    return None if found is None else Solution(found.values[:pairs], found.proven)


def _gaps(one: csr_array, wanted: Floats) -> list[LinearConstraint]:
    """Numbers, and behind them the gaps between them and the wanted ones: |number − wanted| ≤ gap."""
    return [
        LinearConstraint(hstack([one, one]), wanted, np.inf),
        LinearConstraint(hstack([one, -one]), -np.inf, wanted),
    ]


def _behind(constraint: LinearConstraint, columns: int) -> LinearConstraint:
    """The same constraint on variables that come after others."""
    empty = csr_array((constraint.A.shape[0], columns))
    return LinearConstraint(hstack([empty, constraint.A]), constraint.lb, constraint.ub)


def _solve(
    weights: Floats, constraints: list[LinearConstraint], whole: int, time_limit: float, upper: Floats | None = None
) -> Solution | None:
    """The best whole numbers, from 0 to ``upper`` (1 where not said); what comes behind them need not be whole."""
    rest = len(weights) - whole
    limits = np.concatenate([np.ones(whole) if upper is None else upper, np.full(rest, np.inf)])
    found = milp(
        weights,
        integrality=np.concatenate([np.ones(whole), np.zeros(rest)]),
        bounds=Bounds(0, limits),
        constraints=constraints,
        options={"time_limit": time_limit, "mip_rel_gap": 0.0},
    )
    return None if found.x is None else Solution(np.rint(found.x[:whole]).astype(np.int64), found.status == 0)
