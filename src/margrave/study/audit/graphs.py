"""The audit of a graph: moves that keep the public degrees, their price, and whole releases of two such graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.budget.units import amount
from margrave.errors import RefusedError
from margrave.noise import Generator, Noise
from margrave.pipeline import release
from margrave.planning.graphs.plan import GraphPlan
from margrave.planning.graphs.shape import blocks_of, pairs_of
from margrave.study.audit.compared import Sampled
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.mechanism import audit_mechanism, noisy_answers

if TYPE_CHECKING:
    import pandas as pd

_TRIES = 3000
_LONGEST = 8


@dataclass(frozen=True, eq=False)
class Trail:
    """Edges that are put (+1) and taken (−1), by the numbers of their pairs: a step that no smaller one is part of."""

    pairs: tuple[int, ...]
    signs: tuple[int, ...]

    def change(self, count: int) -> Integers:
        found = np.zeros(count, dtype=np.int64)
        found[list(self.pairs)] = self.signs
        return found


def audit_graph(plan: GraphPlan, effort: Effort) -> Audit:
    """The price of many moves, the noise, and whole releases."""
    price, trail = dearest(plan, effort.seed)
    near, far = _answers(plan, trail, False), _answers(plan, trail, True)
    findings = (
        price,
        audit_mechanism(noisy_answers("noise", plan.cost, _noises(plan), near, far), effort),
        *_end_to_end(plan, trail, near, far, effort),
    )
    remarks = (f"The price was compared with {price.samples} moves along trails chosen at random, not with all.",)
    return Audit("a graph", effort.confidence, findings, remarks)


def dearest(plan: GraphPlan, seed: int | str) -> tuple[Finding, Trail]:
    """The price of the dearest of many moves, and that move."""
    trails = list(_trails(plan, Generator.seeded(f"{seed} trails")))
    if not trails:
        raise RefusedError("no move was found that keeps the public degrees: there is nothing to audit")
    price, trail = max(((_price(plan, trail), trail) for trail in trails), key=lambda pair: pair[0])
    return Finding("price", "recomputed", float(amount(plan.cost)), float(price), len(trails), complete=False), trail


def _price(plan: GraphPlan, trail: Trail) -> Fraction:
    blocks = _answers(plan, trail, True)[0] - _answers(plan, trail, False)[0]
    total = plan.block_noise.price(int(np.abs(blocks).sum()), int((blocks**2).sum()))
    if plan.pair_noise is not None:
        total += plan.pair_noise.price(len(trail.pairs), len(trail.pairs))
    return total


def _answers(plan: GraphPlan, trail: Trail, far: bool) -> list[Integers]:
    """What noise is added to: the blocks, and the pairs if there are any, before the move or after it."""
    blocks, of_pair = blocks_of(plan.spec)
    edges = np.maximum(0, trail.change(len(of_pair)) * (1 if far else -1))
    counts = np.bincount(of_pair[edges == 1], minlength=len(blocks)).astype(np.int64)
    return [counts] if plan.pair_noise is None else [counts, edges]


def _kept(plan: GraphPlan, pairs: tuple[int, ...], signs: tuple[int, ...], ends: tuple[Integers, Integers]) -> bool:
    """Whether all public degrees stay as they are."""
    for known in plan.spec.known:
        moved = np.zeros(len(plan.spec.nodes), dtype=np.int64)
        for pair, sign in zip(pairs, signs, strict=True):
            if known.side in ("degree", "out_degree"):
                moved[ends[0][pair]] += sign
            if known.side in ("degree", "in_degree"):
                moved[ends[1][pair]] += sign
        if moved[list(known.nodes)].any():
            return False
    return True


def _trails(plan: GraphPlan, generator: Generator) -> Iterator[Trail]:
    """Edges with signs that keep the degrees, and no part of which does: put and taken in turn along a walk.

    In a directed graph a walk takes every second edge backwards, so that it leaves a node as often as it enters it.
    """
    ends = pairs_of(plan.spec)
    nodes, directed = len(plan.spec.nodes), plan.spec.directed
    number = {(int(a), int(b)): at for at, (a, b) in enumerate(zip(*ends, strict=True))}
    seen: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    for start in range(_TRIES):
        steps = generator.below(nodes, _LONGEST + 1).tolist()
        pairs: list[int] = []
        for at, (one, other) in enumerate(pairwise(steps)):
            turned = directed and (at + start // 2) % 2 == 1
            tail, head = (other, one) if turned or (not directed and other < one) else (one, other)
            if (tail, head) not in number or number[tail, head] in pairs:
                break
            pairs.append(number[tail, head])
            signs = tuple(1 if (place + start) % 2 == 0 else -1 for place in range(len(pairs)))
            if _kept(plan, tuple(pairs), signs, ends):
                if _smallest(plan, tuple(pairs), signs, ends):
                    seen.add((tuple(pairs), signs))
                break
    yield from (Trail(pairs, signs) for pairs, signs in sorted(seen))


def _smallest(plan: GraphPlan, pairs: tuple[int, ...], signs: tuple[int, ...], ends: tuple[Integers, Integers]) -> bool:
    """Whether no proper part keeps the degrees."""
    for size in range(1, len(pairs)):
        for part in combinations(range(len(pairs)), size):
            if _kept(plan, tuple(pairs[at] for at in part), tuple(signs[at] for at in part), ends):
                return False
    return True


def _end_to_end(
    plan: GraphPlan, trail: Trail, near: list[Integers], far: list[Integers], effort: Effort
) -> tuple[Finding, Finding]:
    """Whole releases of both graphs, from edges to noisy answers."""
    sampled = Sampled(plan.cost, _noises(plan), near, far)
    for side in (True, False):
        frame = _frame(plan, trail, not side)
        for run in range(effort.releases // 2):
            measured = release(plan, frame, seed=f"{effort.seed} graph {not side} {run}").measured
            sampled.add(side, [measured.blocks] if measured.pairs is None else [measured.blocks, measured.pairs])
    return sampled.findings(effort)


def _noises(plan: GraphPlan) -> list[Noise]:
    return [plan.block_noise, *([] if plan.pair_noise is None else [plan.pair_noise])]


def _frame(plan: GraphPlan, trail: Trail, after: bool) -> pd.DataFrame:
    """The edges of the graph before the move, or after it."""
    import pandas as pd

    one, other = pairs_of(plan.spec)
    names = np.array(plan.spec.nodes.names, dtype=object)
    chosen = [pair for pair, sign in zip(trail.pairs, trail.signs, strict=True) if (sign > 0) == after]
    columns = plan.spec.data.columns
    return pd.DataFrame({columns[0]: names[one[chosen]], columns[1]: names[other[chosen]]}, dtype=object)
