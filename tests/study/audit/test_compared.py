"""Noise that is right number by number, and still tells: the audit of whole releases sees it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from margrave.budget.units import PureDP
from margrave.measure import run
from margrave.noise import DiscreteLaplace, Generator
from margrave.planning.graphs.plan import make_graph_plan
from margrave.planning.graphs.spec import GraphSpec
from margrave.planning.planner import make_plan
from margrave.study.audit.compared import Watched, shared_noise
from margrave.study.audit.findings import Effort
from margrave.study.audit.graphs import audit_graph
from margrave.study.audit.neighbours import answers, unlike, worst
from margrave.study.audit.releases import audit_spec
from tests.shapes import spec_of

pytestmark = pytest.mark.slow

EFFORT = Effort(samples=1000, releases=240, seed="compared")
SPEC = spec_of((2, 2, 2), ["ab", "bc"], strategy="margins")


def one_draw_for_a_table(drawn):
    for number, noise in drawn:
        yield number, np.full_like(noise, noise[0])


def one_draw_for_all_tables(drawn):
    first = None
    for number, noise in drawn:
        first = noise if first is None else first
        yield number, first


def the_opposite_again(drawn):
    for number, noise in drawn:
        half = len(noise) // 2
        yield number, np.concatenate([noise[:half], -noise[:half]])


@pytest.mark.parametrize("bug", [one_draw_for_a_table, one_draw_for_all_tables, the_opposite_again])
def test_noise_that_two_numbers_share_is_seen(monkeypatch, bug):
    honest = run.sample_many
    monkeypatch.setattr(run, "sample_many", lambda requests, generator: bug(honest(requests, generator)))
    price, noise, releases, compared = audit_spec(SPEC, EFFORT).findings
    assert compared.violated
    assert not (price.violated or noise.violated or releases.violated), "each number by itself has the right noise"


def test_cells_without_noise_where_nobody_is_are_seen(monkeypatch):
    answer, counted = run.answer, []

    def watched(domain, query, counts):
        counted.append(answer(domain, query, counts))
        return counted[-1]

    made = run.Answer
    monkeypatch.setattr(run, "answer", watched)
    monkeypatch.setattr(run, "Answer", lambda one, out: made(one, np.where(counted.pop() == 0, 0, out)))
    assert audit_spec(SPEC, EFFORT).findings[2].violated


def test_shared_noise_of_a_graph_is_seen(monkeypatch):
    nodes = {"red": ["a", "b", "c"], "blue": ["d", "e"]}
    spec = {
        "data": {"source": "edges.csv", "columns": ["one", "other"]},
        "graph": {"directed": False, "nodes": nodes},
        "release": {"edges": 0.5},
        "privacy": {"epsilon": 1},
    }
    plan = make_graph_plan(GraphSpec.load(spec))
    few = replace(EFFORT, releases=120)
    assert not audit_graph(plan, few).violated
    honest = DiscreteLaplace.sample
    monkeypatch.setattr(DiscreteLaplace, "sample", lambda noise, size, one: np.full(size, honest(noise, 1, one)[0]))
    assert audit_graph(plan, few).findings[-1].violated


def test_independent_noise_is_accused_no_more_often_than_is_said():
    noise, generator = DiscreteLaplace(Fraction(1)), Generator.seeded("apart")
    change = np.array([1, 0, 0, 0, -1])
    alarms = 0
    for _ in range(200):
        near, far = (noise.sample(5 * 200, generator).reshape(200, 5) for _ in range(2))
        alarms += shared_noise(PureDP(Fraction(2)), near, far + change, change, 0.9).loss > 2
    assert alarms <= 34  # of 200, each with a chance of a tenth at most: exceeded with a probability of 0.1 %


def test_one_number_alone_is_compared_with_nothing():
    one = np.zeros((40, 1), dtype=np.int64)
    assert shared_noise(PureDP(Fraction(1)), one, one + 1, np.array([1]), 0.9).loss == 0


def test_moved_numbers_are_watched_and_others_from_all_over():
    near = [np.zeros(500, dtype=np.int64), np.zeros((20, 20), dtype=np.int64)]
    far = [one.copy() for one in near]
    far[0][7] = far[1][3, 3] = 1
    watched = Watched.of(near, far)
    assert watched.places[:2].tolist() == [7, 563] and watched.change[:2].tolist() == [1, 1]
    assert len(watched.places) == 60 and not watched.change[2:].any() and watched.places.max() == 899


def test_the_other_record_shares_no_cell_with_the_move_where_it_can():
    plan = make_plan(SPEC)
    move = worst(plan, "move").move
    (record,) = move.put
    assert all(a != b for a, b in zip(unlike(plan, move), record, strict=True))


@pytest.mark.parametrize("strategy", ["margins", "fourier"])
def test_of_equally_dear_moves_one_is_taken_that_moves_tables_in_different_ways(strategy):
    plan = make_plan(spec_of((2, 2, 2), ["ab", "bc"], strategy=strategy))
    before, after = (answers(plan, side) for side in ((), worst(plan, "ways").move.put))
    moved = [(np.flatnonzero(new - old).tolist(), (new - old).sum()) for old, new in zip(before, after, strict=True)]
    assert any(one != moved[0] for one in moved)
