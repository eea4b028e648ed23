"""The plan of a graph release: how far neighbours are apart, the noise, and the exact cost. Opens no data.

Two graphs with the same public degrees are induced neighbours when no third one lies between them. They differ in at
most S edges, put and taken in turn along one trail; docs/graphs.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from margrave.algebra.words import number
from margrave.budget.units import ZCDP, PureDP
from margrave.errors import RefusedError, UsageError
from margrave.facts.graphs import directed_sensitivity, undirected_sensitivity
from margrave.ledger.values import Notion
from margrave.messages.catalogue import say, spoken
from margrave.noise import DiscreteGaussian, DiscreteLaplace, Noise
from margrave.planning.asked import Sheet
from margrave.planning.describe import asked_html, asked_text
from margrave.planning.graphs.shape import blocks_of, pair_count
from margrave.planning.graphs.spec import GraphSpec
from margrave.planning.graphs.words import guarantee_words
from margrave.planning.graphs.written import events_json, facts_json, graph_notion, question_of
from margrave.planning.promise.exposure import Exposure, edges_exposed

MOST_PAIRS = 60_000
"""Pairs of nodes up to which the nearest graph is computed."""
MOST_SUMS = 1 << 25
"""Groups times blocks up to which block tables are made to agree with public degrees, by one dense matrix."""

_LITTLE = 0.75
"""Below this probability of a right answer, single edges are hardly worth their share of the budget."""

GraphNoise = Noise


@dataclass(frozen=True)
class GraphForecast:
    """What to expect of the answers of one kind: how many there are, and the standard error of each."""

    measured: str
    answers: int
    std_error: float


@dataclass(frozen=True)
class GraphPlan:
    """What is asked of a graph: an `Asked`.

    ``sensitivity``: S. ``block_noise`` is added to each block of the block table, ``pair_noise`` to each pair of
    nodes (1 if there is an edge, 0 if not); None where no edges are released.
    """

    way: ClassVar[str] = "graph"
    exact: ClassVar[tuple[tuple[str, ...], ...]] = ()

    spec: GraphSpec
    sensitivity: int
    block_noise: GraphNoise
    pair_noise: GraphNoise | None

    def __post_init__(self) -> None:
        if self.sensitivity != sensitivity(self.spec):
            raise UsageError("the sensitivity of a graph plan must be that of its public degrees")
        noises = (noise for noise in (self.block_noise, self.pair_noise) if noise is not None)
        if any(noise.pure == self.gaussian for noise in noises):
            raise UsageError("a graph plan has Laplace noise for a budget in ε, and Gaussian noise for one in ρ")
        if self.amount > self.spec.budget.amount:
            raise UsageError("a graph plan must not cost more than its budget")

    @property
    def gaussian(self) -> bool:
        return self.spec.budget.gaussian[0]

    @cached_property
    def amount(self) -> Fraction:
        """ε, or ρ, of the whole release: the block table and the pairs are answered from the same edges."""
        total = self.block_noise.price(self.sensitivity, block_squares(self.sensitivity))
        if self.pair_noise is not None:
            total += self.pair_noise.price(self.sensitivity, self.sensitivity)
        return total

    @property
    def cost(self) -> PureDP | ZCDP:
        return self.spec.budget.with_amount(self.amount)

    @property
    def title(self) -> str:
        return self.spec.title

    @property
    def notion(self) -> Notion:
        return graph_notion(self.spec)

    @property
    def exposure(self) -> Exposure:
        """What attackers on edges can reach at most."""
        return edges_exposed(self.cost, bool(self.spec.known))

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        return events_json(self)

    @property
    def disclosed(self) -> tuple[Mapping[str, Any], ...]:
        """The public degrees."""
        return facts_json(self.spec)

    @cached_property
    def question(self) -> str:
        return question_of(self)

    @cached_property
    def forecast(self) -> tuple[GraphForecast, ...]:
        """What to expect of the block table, and of each pair."""
        blocks, of_pair = blocks_of(self.spec)
        found = [GraphForecast("blocks", len(blocks), self.block_noise.variance**0.5)]
        if self.pair_noise is not None:
            found.append(GraphForecast("pairs", len(of_pair), self.pair_noise.variance**0.5))
        return tuple(found)

    @property
    def right_pairs(self) -> float | None:
        """The probability that the noisy answer about a pair, read as edge or no edge, is right."""
        if self.pair_noise is None:
            return None
        return float((1 + self.pair_noise.pmf(0)) / 2)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What somebody should know before the budget is spent."""
        if self.right_pairs is None or self.right_pairs >= _LITTLE:
            return ()
        return (
            say(
                "the noisy answer about a pair of nodes is right with probability %(right)s: the released edges tell "
                "little beyond the block table and the public degrees",
                right=spoken().localised(f"{self.right_pairs:.3f}"),
            ),
        )

    def __repr__(self) -> str:
        return asked_text(self)

    def _repr_html_(self) -> str:
        return asked_html(self)

    def words(self) -> tuple[str, ...]:
        """The guarantee, in sentences for people."""
        return guarantee_words(self)

    def sheets(self, most: int | None = None) -> tuple[Sheet, ...]:
        """The noise of each block and of each pair."""
        spec = self.spec
        rows = [("edges of each block", f"±{number(2 * self.block_noise.variance**0.5)}")]
        if self.right_pairs is not None:
            rows.append(("edge or no edge, each pair", f"right with probability {self.right_pairs:.3f}"))
        title = f"Plan: {len(spec.nodes)} nodes, {len(spec.nodes.groups)} groups, cost {self.cost}"
        return (Sheet(title, ("what", "noise (two standard errors)"), rows[:most]),)

    def to_json(self) -> dict[str, Any]:
        """The plan for scripts."""
        return {
            "way": self.way,
            "cost": self.cost.as_dict(),
            "sensitivity": self.sensitivity,
            "events": list(self.events),
            "disclosed": list(self.disclosed),
            "block_std_error": self.block_noise.variance**0.5,
            "pair_right_probability": self.right_pairs,
            "words": list(self.words()),
            "warnings": list(self.warnings),
        }


def sensitivity(spec: GraphSpec) -> int:
    """S: the most edges in which induced neighbours differ."""
    counts = [len(spec.known_nodes(side)) for side in spec.sides]
    if spec.directed:
        return directed_sensitivity(len(spec.nodes), counts[1], counts[0])
    return undirected_sensitivity(len(spec.nodes), counts[0])


def block_squares(steps: int) -> int:
    """How far, in L2 squared, a block table moves at most: edges put and taken in turn, all put in one block."""
    return (steps // 2) ** 2 + (-(-steps // 2)) ** 2


def make_graph_plan(spec: GraphSpec) -> GraphPlan:
    """Noise that spends the budget of the spec, rounded to the safe side."""
    steps = sensitivity(spec)
    if steps == 0:
        raise RefusedError(
            f"the public degrees alone determine every graph of {len(spec.nodes)} nodes: nothing is left to protect "
            "or to release"
        )
    check_size(spec)
    blocks = _noise(spec, 1 - spec.edges, steps, block_squares(steps))
    return GraphPlan(spec, steps, blocks, _noise(spec, spec.edges, steps, steps) if spec.edges else None)


def check_size(spec: GraphSpec) -> None:
    """Refuse what could be measured and then not be published."""
    if spec.edges and pair_count(spec) > MOST_PAIRS:
        raise RefusedError(
            f"a graph of {len(spec.nodes)} nodes has {pair_count(spec):,} pairs, and the nearest simple graph is "
            f"computed for up to {MOST_PAIRS:,}: ask for the block table alone, with release.edges = 0"
        )
    blocks, groups = len(blocks_of(spec)[0]), len(spec.nodes.groups)
    if len(spec.known) * groups * blocks > MOST_SUMS:
        raise RefusedError(
            f"{groups:,} groups with public degrees and {blocks:,} blocks are more than block tables can be made to "
            "agree with: declare fewer groups, or no public degrees"
        )


def _noise(spec: GraphSpec, share: Fraction, l1: int, l2_squared: int) -> GraphNoise:
    kind = DiscreteGaussian if spec.budget.gaussian[0] else DiscreteLaplace
    return kind.at_least(kind.parameter_for(spec.budget.amount * share, l1, l2_squared))
