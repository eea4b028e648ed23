"""Plans of graph releases: cost and sensitivities against all small graphs."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import RefusedError, UsageError
from margrave.noise import DiscreteGaussian, DiscreteLaplace
from margrave.planning.graphs.plan import MOST_PAIRS, GraphPlan, block_squares, make_graph_plan, sensitivity
from margrave.planning.graphs.shape import blocks_of, pair_count, pairs_of
from tests.planning.graphs.graphs import graph_spec, induced_differences


def block_changes(groups, directed, differences):
    blocks, of_pair = blocks_of(graph_spec(groups, directed=directed))
    sums = np.zeros((len(of_pair), len(blocks)), dtype=np.int64)
    sums[np.arange(len(of_pair)), of_pair] = 1
    return differences @ sums


CASES = [(4, known) for known in range(5)] + [(5, known) for known in range(2, 6)]


@cache
def undirected(nodes, known):
    spec = graph_spec("x" * nodes, known={"degree": range(known)} if known else {})
    return spec, induced_differences(spec)


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "known"), CASES)
def test_undirected_answers_move_no_further_than_priced(nodes, known):
    spec, differences = undirected(nodes, known)
    assert np.abs(differences).sum(axis=1).max() == sensitivity(spec)
    widest = 0
    for groups in product("xyz", repeat=nodes):
        if groups == tuple(sorted(groups)) or nodes == 4:
            moved = block_changes(groups, False, differences)
            widest = max(widest, np.abs(moved).sum(axis=1).max())
            assert (moved * moved).sum(axis=1).max() <= block_squares(sensitivity(spec))
    assert widest <= sensitivity(spec)
    assert nodes > 4 or widest == sensitivity(spec)


@pytest.mark.parametrize("known", [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 1), (3, 3)])
def test_directed_answers_move_no_further_than_priced(known):
    into, out = known
    facts = {side: range(count) for side, count in (("out_degree", out), ("in_degree", into)) if count}
    spec = graph_spec("xxx", directed=True, known=facts)
    differences = induced_differences(spec)
    assert np.abs(differences).sum(axis=1).max() <= sensitivity(spec)
    for groups in product("xyz", repeat=3):
        moved = block_changes(groups, True, differences)
        assert np.abs(moved).sum(axis=1).max() <= sensitivity(spec)
        assert (moved * moved).sum(axis=1).max() <= block_squares(sensitivity(spec))


def test_edges_are_put_and_taken_in_turn():
    """An induced step is one trail: it puts as many edges as it takes, or one more or less."""
    for nodes, known in CASES:
        assert np.abs(undirected(nodes, known)[1].sum(axis=1)).max() <= 1


@pytest.mark.parametrize("budget", [PureDP(Fraction(1)), PureDP(Fraction("0.7")), ZCDP(Fraction(1, 3))])
@pytest.mark.parametrize("edges", [Fraction(0), Fraction(1, 2), Fraction(9, 10)])
def test_the_budget_is_spent_and_not_exceeded(budget, edges):
    plan = make_graph_plan(graph_spec("xxyy", known={"degree": range(4)}, budget=budget, edges=edges))
    amount = budget.rho if isinstance(budget, ZCDP) else budget.epsilon
    assert amount * Fraction(10**6 - 1, 10**6) <= plan.amount <= amount
    assert (plan.pair_noise is None) == (edges == 0)
    assert type(plan.cost) is type(budget)


def test_the_price_is_that_of_the_worst_step_for_pairs():
    spec = graph_spec("xxxxx", known={"degree": range(5)})
    plan = make_graph_plan(spec)
    worst = max(int(np.abs(step).sum()) for step in induced_differences(spec))
    assert plan.amount == worst / plan.block_noise.scale + worst / plan.pair_noise.scale == 1


def test_a_plan_with_too_little_noise_cannot_be_made():
    plan = make_graph_plan(graph_spec("xxyy", known={"degree": range(4)}))
    with pytest.raises(UsageError, match="more than its budget"):
        replace(plan, block_noise=DiscreteLaplace(plan.block_noise.scale / 2))
    with pytest.raises(UsageError, match="sensitivity"):
        GraphPlan(plan.spec, 1, plan.block_noise, plan.pair_noise)


@pytest.mark.parametrize("budget", [PureDP(Fraction(1)), ZCDP(Fraction(1))], ids=str)
def test_the_noise_is_of_the_kind_that_the_budget_is_in(budget):
    """ρ is not ε: Gaussian noise keeps no pure ε, whatever its variance."""
    plan = make_graph_plan(graph_spec("xxyy", budget=budget))
    other = DiscreteGaussian(Fraction(100)) if isinstance(budget, PureDP) else DiscreteLaplace(Fraction(100))
    for changed in ({"block_noise": other}, {"pair_noise": other}, {"block_noise": other, "pair_noise": None}):
        with pytest.raises(UsageError, match="Gaussian noise for one in ρ"):
            replace(plan, **changed)


def test_graphs_that_the_degrees_determine_are_refused():
    with pytest.raises(RefusedError, match="nothing is left"):
        make_graph_plan(graph_spec("xxx", known={"degree": range(3)}))


def test_large_graphs_have_block_tables_only():
    big = graph_spec("x" * 400)
    assert pair_count(big) == len(pairs_of(big)[0]) > MOST_PAIRS
    with pytest.raises(RefusedError, match=r"release.edges = 0"):
        make_graph_plan(big)
    assert make_graph_plan(replace(big, edges=Fraction(0))).pair_noise is None


def test_right_answers():
    laplace = make_graph_plan(graph_spec("xx", budget=PureDP(Fraction(2))))
    assert laplace.right_pairs == pytest.approx(1 / (1 + np.exp(-1)))
    gauss = make_graph_plan(graph_spec("xx", budget=ZCDP(Fraction(1))))
    z = np.arange(0, 60)
    assert gauss.right_pairs == pytest.approx(gauss.pair_noise.pmf(z).sum())
    assert laplace.warnings and "probability 0.731" in laplace.warnings[0]
    assert not make_graph_plan(graph_spec("xx", budget=PureDP(Fraction(4)))).warnings


def test_words_name_the_facts_and_what_is_not_protected():
    words = " ".join(make_graph_plan(graph_spec("xxyy", known={"degree": (0, 2)})).words())
    assert "the degrees of 2 nodes" in words and "at most 3 edges" in words and "m times the ε" in words
    plain = " ".join(make_graph_plan(graph_spec("xxyy", budget=ZCDP(Fraction(1)))).words())
    assert "ρ = 1" in plain and "any single edge" in plain
    two = {"out_degree": (0, 1), "in_degree": (2,)}
    both = " ".join(make_graph_plan(graph_spec("xxyy", directed=True, known=two)).words())
    assert "the out-degrees of 2 nodes and the in-degrees of 1 nodes" in both


def test_blocks_without_a_pair_are_no_blocks():
    assert blocks_of(graph_spec("xyy"))[0] == ((0, 1), (1, 1))
    assert blocks_of(graph_spec("xyy", directed=True))[0] == ((0, 1), (1, 0), (1, 1))


def test_more_groups_than_can_be_made_to_agree_are_refused_before_anything_is_spent():
    names = [chr(0x4E00 + number) for number in range(500)]
    many = graph_spec("".join(names), known={"degree": (0,)}, edges=Fraction(0))
    with pytest.raises(RefusedError, match="declare fewer groups"):
        make_graph_plan(many)
    assert make_graph_plan(graph_spec("".join(names), edges=Fraction(0))).sensitivity == 1
