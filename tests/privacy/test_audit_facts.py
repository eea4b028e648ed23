"""An empirical audit on induced neighbours: no release loses more than it says, and forgotten facts are found.

Two tables, or graphs, with the same public facts and none between them are measured many times. For an event E the
privacy loss is at least log P(E | one) / P(E | other). The events are those of the most powerful test, "the likelihood
ratio is at least t"; both probabilities are bounded by Clopper–Pearson at 99.9 % over all thresholds t together.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import exp, log

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from margrave.budget.accountant import epsilon_of
from margrave.budget.units import ZCDP, PureDP
from margrave.measure import run
from margrave.measure.graphs import measure_graph
from margrave.noise import DiscreteGaussian, Generator
from margrave.planning.graphs.degrees import KnownDegrees
from margrave.planning.graphs.nodes import Nodes
from margrave.planning.graphs.plan import make_graph_plan
from margrave.planning.graphs.shape import blocks_of, pairs_of
from margrave.planning.graphs.spec import GraphSpec
from margrave.planning.planner import make_plan
from margrave.spec.workload import PublicFact
from tests.facts.oracle import all_moves, facts_of, price_of
from tests.privacy.test_audit import exact_answers
from tests.shapes import frame_of, spec_of

pytestmark = pytest.mark.slow

SAMPLES = 150_000
ALPHA = 1e-3
THRESHOLDS = 12

CASES = [
    ((3, 3), "a+b", ["ab"]),
    ((2, 2, 2), "a+b+c", ["ab", "bc", "ac"]),
    ((2, 2, 2), "ab+bc+ac", ["abc"]),
    ((2, 2, 3), "a+b+c", ["ab", "bc"]),
    ((2, 2, 2, 2), "ab+cd", ["ac", "bd"]),
]


def spec_with(sizes, text, tables, budget=None):
    public = tuple(PublicFact(tuple(part)) for part in text.split("+"))
    return spec_of(sizes, tables, budget, public=public, induced="worst-case")


def forgetful(spec):
    """The same release, planned as if nothing were public."""
    return make_plan(replace(spec, public=(), induced=None))


def worst_neighbours(plan, facts):
    """The two smallest tables that differ by the dearest induced move."""
    move = max(all_moves(facts), key=lambda move: price_of(plan.domain, plan.measurements, move))
    shape = facts.domain.shape()
    return np.maximum(-move, 0).reshape(shape), np.maximum(move, 0).reshape(shape)


def log_ratio(noise, drawn, near, far):
    """log P(drawn | near) / P(drawn | far), added up over the outputs."""
    if isinstance(noise, DiscreteGaussian):
        return (((drawn - far) ** 2 - (drawn - near) ** 2) / (2 * float(noise.sigma_squared))).sum(axis=1)
    return ((np.abs(drawn - far) - np.abs(drawn - near)) / float(noise.scale)).sum(axis=1)


def scores(noises, near, far, truth, generator, samples=SAMPLES):
    """The log-likelihood ratios of near to far over many releases of the truth, which is one of the two."""
    total = np.zeros(samples)
    for noise, x, y, exact in zip(noises, near, far, truth, strict=True):
        drawn = noise.sample(samples * exact.size, generator).reshape(samples, exact.size) + exact
        total += log_ratio(noise, drawn, x, y)
    return total


def bounds(inside, outside, threshold):
    """Bounds on P(score ≥ t): from below where the truth is near, from above where it is far."""
    confidence = ALPHA / (2 * THRESHOLDS)
    hits, misses = int((inside >= threshold).sum()), int((outside >= threshold).sum())
    low = beta.ppf(confidence, hits, len(inside) - hits + 1) if hits else 0.0
    high = beta.ppf(1 - confidence, misses + 1, len(outside) - misses) if misses < len(outside) else 1.0
    return low, high


def loss_at_least(noises, near, far, seed):
    """A lower bound on the privacy loss between two lists of exact answers, each with its noise."""
    generator = Generator.seeded(seed)
    inside, outside = (scores(noises, near, far, truth, generator) for truth in (near, far))
    return loss_from(inside, outside)


def loss_from(inside, outside):
    thresholds = np.linspace(0, inside.max() * (1 - 1e-9), THRESHOLDS)
    pairs = [bounds(inside, outside, threshold) for threshold in thresholds]
    return max(log(low / high) for low, high in pairs if low)


def audited(plan, tables, seed):
    near, far = (exact_answers(plan, table) for table in tables)
    return loss_at_least([one.noise for one in plan.measurements], near, far, seed)


@pytest.mark.parametrize(("sizes", "text", "tables"), CASES)
def test_no_violation_and_forgotten_facts_are_caught(sizes, text, tables):
    spec, facts = spec_with(sizes, text, tables), facts_of(sizes, text)
    plan = make_plan(spec)
    allowed = float(plan.cost.epsilon)
    found = audited(plan, worst_neighbours(plan, facts), "facts")
    assert 0.7 * allowed < found <= allowed, "the audit must also be able to see what is spent"
    bug = forgetful(spec)
    assert bug.cost.epsilon <= spec.budget.epsilon
    assert audited(bug, worst_neighbours(bug, facts), "facts") > 1.2 * allowed


def test_every_move_of_a_small_table_is_within_the_budget():
    spec, facts = spec_with((2, 2, 2), "a+b+c", ["ab", "bc"]), facts_of((2, 2, 2), "a+b+c")
    plan = make_plan(spec)
    shape = facts.domain.shape()
    moves = all_moves(facts)
    assert len(moves) == 20
    for number, move in enumerate(moves[::2]):
        tables = np.maximum(-move, 0).reshape(shape), np.maximum(move, 0).reshape(shape)
        assert audited(plan, tables, f"move {number}") <= float(plan.cost.epsilon)


def test_whole_releases_show_the_forgotten_facts_too():
    """The same through the confidential side itself, from records to noisy answers, release by release."""
    spec, facts = spec_with((2, 2, 2), "a+b+c", ["ab", "bc", "ac"]), facts_of((2, 2, 2), "a+b+c")
    for plan, violated in ((make_plan(spec), False), (forgetful(spec), True)):
        tables = worst_neighbours(plan, facts)
        near, far = (exact_answers(plan, table) for table in tables)
        generator = Generator.seeded("whole")
        found = []
        for table in tables:
            data = frame_of(spec.domain, table)
            answers = [run.measure(plan, data, generator).answers for _ in range(150)]
            columns = zip(*([one.outputs.ravel() for one in release] for release in answers), strict=True)
            pairs = zip(plan.measurements, columns, near, far, strict=True)
            found.append(sum(log_ratio(one.noise, np.array(drawn), x, y) for one, drawn, x, y in pairs))
        assert (loss_from(*found) > float(spec.budget.epsilon)) == violated


def test_gaussian_noise_on_induced_neighbours():
    """P(E | one) − e^ε P(E | other) stays below δ; without regard to the facts it does not."""
    spec, facts = spec_with((3, 3), "a+b", ["ab"], ZCDP(Fraction(1, 4))), facts_of((3, 3), "a+b")
    delta = Fraction(1, 100)
    for plan, violated in ((make_plan(spec), False), (forgetful(spec), True)):
        near, far = (exact_answers(plan, table) for table in worst_neighbours(plan, facts))
        noises = [one.noise for one in plan.measurements]
        generator = Generator.seeded("gauss")
        inside, outside = (scores(noises, near, far, truth, generator) for truth in (near, far))
        limits = (bounds(inside, outside, t) for t in np.quantile(inside, np.linspace(0.3, 0.99, THRESHOLDS)))
        epsilon = float(epsilon_of(spec.budget.rho, delta))
        excess = max(low - exp(epsilon) * high for low, high in limits)
        assert (excess > float(delta)) == violated


def farthest_graphs(nodes):
    """Two graphs with the same degrees, no third one between, that differ in as many edges as possible."""
    pairs = list(combinations(range(nodes), 2))
    graphs = np.array(list(product((0, 1), repeat=len(pairs))))
    incidence = np.array([[int(node in pair) for pair in pairs] for node in range(nodes)])
    fibres = {}
    for graph, degrees in zip(graphs, graphs @ incidence.T, strict=True):
        fibres.setdefault(degrees.tobytes(), []).append(graph)
    best = (0, None)
    for fibre in map(np.array, fibres.values()):
        for one, other in combinations(fibre, 2):
            same = one == other
            if (~same).sum() > best[0] and (fibre[:, same] == one[same]).all(axis=1).sum() == 2:
                best = int((~same).sum()), (one, other)
    return best


def graph_frame(spec, edges):
    names = np.array(spec.nodes.names, dtype=object)
    ends = [names[end[edges == 1]] for end in pairs_of(spec)]
    return pd.DataFrame(dict(zip(("from", "to"), ends, strict=True)), dtype=object)


def worst_groups(nodes, graphs):
    """Two groups of nodes between and within which the numbers of edges differ most."""

    def change(groups):
        spec = GraphSpec(Nodes.of([(f"v{i}", group) for i, group in enumerate(groups)]), PureDP(Fraction(1)))
        blocks, of_pair = blocks_of(spec)
        return int(np.abs(np.bincount(of_pair, graphs[0] - graphs[1], minlength=len(blocks))).sum())

    return max((("x", *rest) for rest in product("xy", repeat=nodes - 1) if "y" in rest), key=change)


def test_graphs_with_public_degrees():
    changed, graphs = farthest_graphs(5)
    names = [(f"v{i}", group) for i, group in enumerate(worst_groups(5, graphs))]
    spec = GraphSpec(Nodes.of(names), PureDP(Fraction(2)), known=(KnownDegrees("degree", tuple(range(5))),))
    plan, bug = make_graph_plan(spec), make_graph_plan(replace(spec, known=()))
    assert changed == plan.sensitivity == 6
    exact = [measured_without_noise(spec, graph) for graph in graphs]
    found = loss_at_least([plan.block_noise, plan.pair_noise], *exact, "graph")
    assert 0.6 * 2 < found <= 2
    assert loss_at_least([bug.block_noise, bug.pair_noise], *exact, "graph") > 1.2 * 2


def measured_without_noise(spec, graph):
    """Exact blocks and pairs, through the confidential side with so large a budget that the noise is zero."""
    clear = make_graph_plan(replace(spec, budget=PureDP(Fraction(10**6))))
    measured = measure_graph(clear, graph_frame(spec, graph), Generator.seeded("clear"))
    assert np.array_equal(measured.pairs, graph)
    return [measured.blocks, measured.pairs]
