"""The block table and the nearest simple graph, against dense solves and against all small graphs."""

from fractions import Fraction

import numpy as np
import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.crossing import MeasuredGraph
from margrave.noise import Generator
from margrave.planning.graphs.plan import make_graph_plan
from margrave.planning.graphs.shape import blocks_of, pairs_of
from margrave.reconstruct.graphs import block_estimates, nearest_graph
from tests.planning.graphs.graphs import all_graphs, degree_rows, graph_spec

pytestmark = pytest.mark.slow

SPECS = [
    graph_spec("xxyyy", known={"degree": range(5)}),
    graph_spec("xxyyy", known={"degree": (0, 1)}),
    graph_spec("xyyzz", known={"degree": (1, 2, 4)}, budget=ZCDP(Fraction(1))),
    graph_spec("xxyyy", budget=PureDP(Fraction(4))),
    graph_spec("xxyy", directed=True, known={"out_degree": range(4), "in_degree": (0, 1)}),
    graph_spec("xxyy", directed=True, known={"in_degree": (0, 3)}, budget=ZCDP(Fraction(2))),
]


def block_sums(spec):
    blocks, of_pair = blocks_of(spec)
    return (of_pair == np.arange(len(blocks))[:, None]).astype(np.int64)


def measured(plan, graph, generator):
    spec = plan.spec
    sums = block_sums(spec) @ graph
    degrees, start = {}, 0
    exact = degree_rows(spec) @ graph
    for known in spec.known:
        degrees[known.side] = exact[start : start + len(known.nodes)]
        start += len(known.nodes)
    noisy = sums + plan.block_noise.sample(len(sums), generator)
    return MeasuredGraph(noisy, graph + plan.pair_noise.sample(graph.size, generator), degrees, generator.private)


def random_graph(spec, seed):
    pairs = len(pairs_of(spec)[0])
    return (Generator.seeded(seed).octets(pairs) < 90).astype(np.int64)


@pytest.mark.parametrize("number", range(len(SPECS)))
def test_the_nearest_graph_is_the_nearest_of_all(number):
    spec = SPECS[number]
    plan = make_graph_plan(spec)
    sums, rows = block_sums(spec), degree_rows(spec)
    graphs = all_graphs(spec)
    for seed in range(6):
        truth = random_graph(spec, f"graph {seed}")
        given = measured(plan, truth, Generator.seeded(f"noise {seed}"))
        found = nearest_graph(plan, given)
        assert found.proven
        edges = found.edges.astype(np.int64)
        assert np.array_equal(rows @ edges, rows @ truth)
        same = graphs[(graphs @ rows.T == rows @ truth).all(axis=1)]
        gaps = np.abs(same @ sums.T - block_estimates(plan, given).counts).sum(axis=1)
        assert np.abs(sums @ edges - block_estimates(plan, given).counts).sum() == pytest.approx(gaps.min())
        alike = same[(same @ sums.T == sums @ edges).all(axis=1)]
        assert distance(plan, given, edges) == min(distance(plan, given, graph) for graph in alike)


def distance(plan, given, graph):
    """Minus twice the log-likelihood of the noisy pairs, up to what is the same for all graphs."""
    if isinstance(plan.spec.budget, ZCDP):
        return int(((given.pairs - graph) ** 2).sum())
    return int((np.abs(given.pairs - graph)).sum())


@pytest.mark.parametrize("number", range(len(SPECS)))
def test_blocks_by_least_squares(number):
    """The same as a dense solve of the conditions for a minimum, with every sum that the degrees fix."""
    spec = SPECS[number]
    plan = make_graph_plan(spec)
    truth = random_graph(spec, "blocks")
    given = measured(plan, truth, Generator.seeded("blocks"))
    found = block_estimates(plan, given)
    sums, rows = block_sums(spec), degree_rows(spec)
    # A sum of public degrees that is the same for all pairs of a block is a sum of blocks.
    basis = known_sums(rows, sums)
    values = basis @ (sums @ truth)
    count = len(sums)
    system = np.block([[np.eye(count), basis.T], [basis, np.zeros((len(basis), len(basis)))]])
    solved = np.linalg.lstsq(system, np.concatenate([given.blocks, values]), rcond=None)[0][:count]
    assert found.counts == pytest.approx(solved, abs=1e-9)
    assert basis @ found.counts == pytest.approx(values, abs=1e-9)


def known_sums(rows, sums):
    """A basis of the sums of blocks that follow from the public degrees, by linear algebra alone."""
    if not len(rows):
        return np.zeros((0, len(sums)))
    both = np.concatenate([rows, -sums]).T.astype(np.float64)
    _, values, right = np.linalg.svd(both)
    null = right[(values > 1e-9).sum() :]
    _, sizes, wide = np.linalg.svd(null[:, len(rows) :])
    return wide[: (sizes > 1e-9).sum()]


def test_the_variance_is_as_said():
    spec = graph_spec("xxxyyyzz", known={"degree": range(6)})
    plan = make_graph_plan(spec)
    truth = random_graph(spec, "variance")
    generator = Generator.seeded("variance")
    errors = []
    for _ in range(2000):
        given = measured(plan, truth, generator)
        errors.append(block_estimates(plan, given).counts - block_sums(spec) @ truth)
    said = block_estimates(plan, given).variances
    assert (said < plan.block_noise.variance).any()
    assert np.mean(np.square(errors), axis=0) == pytest.approx(said, rel=0.15)


def test_blocks_that_the_degrees_fix_are_exact():
    spec = graph_spec("xxxxx", known={"degree": range(5)})
    plan = make_graph_plan(spec)
    truth = random_graph(spec, "fixed")
    found = block_estimates(plan, measured(plan, truth, Generator.seeded("fixed")))
    assert found.counts == pytest.approx([truth.sum()]) and found.variances.tolist() == [0.0]


def test_much_budget_gives_the_graph_itself():
    spec = graph_spec("x" * 15 + "y" * 15, known={"degree": range(0, 30, 2)}, budget=PureDP(Fraction(10**5)))
    plan = make_graph_plan(spec)
    truth = random_graph(spec, "itself")
    found = nearest_graph(plan, measured(plan, truth, Generator.seeded("itself")))
    assert found.proven and np.array_equal(found.edges, truth == 1)


def test_a_hundred_nodes_in_seconds_and_none_in_no_time():
    spec = graph_spec("x" * 60 + "y" * 40, known={"degree": range(100)})
    plan = make_graph_plan(spec)
    truth = (Generator.seeded("hundred").octets(4950) < 16).astype(np.int64)
    given = measured(plan, truth, Generator.seeded("hundred"))
    found = nearest_graph(plan, given, time_limit=30)
    assert found.proven
    assert np.array_equal(degree_rows(spec) @ found.edges, degree_rows(spec) @ truth)
    assert nearest_graph(plan, given, time_limit=0) is None
