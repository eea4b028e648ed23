"""The optimiser behind the auto planner: formulas against simulation and brute force, plans against rivals."""

import math
import time
from itertools import combinations, product

import numpy as np
import pytest

from margrave.errors import UsageError
from margrave.planning.search import moves as search_moves
from margrave.planning.search.designs import designs
from margrave.planning.search.model import Goal, closure_of, subsets
from margrave.planning.search.moves import Candidates, simple_sets
from margrave.planning.search.search import WORK_PER_EFFORT, Walk, explore, rated, search_laplace
from margrave.planning.search.shares import polish
from tests.planning.search_oracle import forecast, table_forecast, variances

pytestmark = pytest.mark.slow


def letters(text):
    return {tuple(sorted(ord(c) - ord("A") for c in table)): 1.0 for table in text.split()}


def all_tables(d, r):
    return dict.fromkeys(combinations(range(d), r), 1.0)


FUNGUS = ((2,) * 6, letters("AD AB BE CE CF"))
CZECH = ((2,) * 6, letters("BF ADE ABCE"))
ROCHDALE = ((2,) * 8, letters("ACE ACG ADG BDH BF BE CEF CFG"))
JOURNEY = ((4, 4, 16), letters("AB AC BC"))
TEN_BINARY = ((2,) * 10, all_tables(10, 2))
ADULT = ((42, 9, 16, 7, 15, 6, 5, 2, 41, 21, 10, 2, 40, 16, 10), all_tables(15, 2))


def scored(case, plan, objective="mean"):
    return forecast(case[0], plan, case[1], objective)


def rmse(case, plan):
    return math.sqrt(scored(case, plan))


def fourier(case):
    closure = closure_of(case[1])
    return [(t, t, 1 / len(closure)) for t in closure]


def random_cases(count):
    numbers = np.random.default_rng(7)
    for _ in range(count):
        d = int(numbers.integers(3, 6))
        sizes = tuple(int(k) for k in numbers.choice([2, 2, 3, 5], size=d))
        tables = [t for t in subsets(range(d)) if 1 <= len(t) <= 3]
        picked = numbers.choice(len(tables), size=int(numbers.integers(2, 6)), replace=False)
        yield sizes, {tables[i]: float(numbers.uniform(0.5, 3)) for i in sorted(picked)}


RANDOM = list(random_cases(10))


def check_plan(case, plan, max_cells=2**20):
    assert sum(share for *_, share in plan) == pytest.approx(1)
    assert all(share > 0 for *_, share in plan)
    assert len({(s, b) for s, b, _ in plan}) == len(plan)
    for s, b, _ in plan:
        assert set(b) <= {j for j in s if case[0][j] == 2}
        assert math.prod(case[0][j] for j in s) <= max_cells or s in closure_of(case[1])
    assert all(math.isfinite(v) for v in variances(case[0], plan, closure_of(case[1])).values())


def rivals(case, objective):
    """Objective of each simple strategy: tables on their own, all contrasts, base table; uniform and best shares."""
    sizes, workload = case
    target = Goal(sizes, workload, objective)
    sets = [
        [(t, ()) for t in workload],
        [(t, tuple(j for j in t if sizes[j] == 2)) for t in target.closure],
        [(tuple(range(len(sizes))), ())],
    ]
    for members in sets:
        uniform = np.full(len(members), 1 / len(members))
        yield forecast(sizes, [(*m, 1 / len(members)) for m in members], workload, objective)
        yield polish(target, target.rows(members), uniform)[1]


@pytest.mark.parametrize(("case", "expected"), [(FUNGUS, 8.49), (CZECH, 10.18), (ROCHDALE, 16.04)])
def test_rmse_is_per_published_cell(case, expected):
    assert rmse(case, fourier(case)) == pytest.approx(expected, abs=0.005)


def test_forecast_of_a_hand_written_plan():
    plan = [((0, 1, 2, 3, 4), (), 0.812), ((1, 5), (5,), 0.188)]
    assert rmse(CZECH, plan) == pytest.approx(3.269, abs=0.001)


@pytest.mark.parametrize(
    ("case", "target", "seconds"),
    [(FUNGUS, 4.33, 4), (CZECH, 3.27, 4), (ROCHDALE, 5.955, 15), (JOURNEY, 3.2665, 4), (TEN_BINARY, 14.95, 30)],
    ids=["fungus", "czech", "rochdale", "journey", "ten-binary"],
)
def test_targets(case, target, seconds):
    start = time.process_time()
    plan = search_laplace(*case)
    assert time.process_time() - start < seconds
    check_plan(case, plan)
    assert rmse(case, plan) <= target


def test_forecast_agrees_with_simulated_least_squares():
    sizes = (2, 3, 2)
    tables = ((0, 1), (1, 2), (0, 2))
    plan = [((0, 1), (), 0.4), ((0, 1, 2), (0,), 0.25), ((1, 2), (2,), 0.2), ((0, 2), (), 0.15)]
    cells = list(product(*(range(k) for k in sizes)))

    def query(s, b):
        rest = [j for j in s if j not in b]
        outputs = list(product(*(range(sizes[j]) for j in rest)))
        sign = [math.prod(1 - 2 * cell[j] for j in b) for cell in cells]
        picked = [[tuple(cell[j] for j in rest) == out for cell in cells] for out in outputs]
        return np.array(picked, dtype=float) * sign

    queries = [query(s, b) for s, b, _ in plan]
    stacked = np.vstack([q * share for q, (*_, share) in zip(queries, plan, strict=True)])
    noise = np.random.default_rng(3).laplace(scale=1.0, size=(20_000, len(stacked)))
    estimates = noise @ np.linalg.pinv(stacked).T
    expected = table_forecast(sizes, plan, tables)
    for table in tables:
        simulated = (estimates @ query(table, ()).T).var(axis=0)
        assert simulated == pytest.approx(np.full(len(simulated), expected[table]), rel=0.06)
        exact = 2 * np.sum((query(table, ()) @ np.linalg.pinv(stacked)) ** 2, axis=1)
        assert exact == pytest.approx(np.full(len(exact), expected[table]))


@pytest.mark.parametrize("objective", ["mean", "max"])
def test_brute_force_on_two_attributes(objective):
    case = ((2, 3), {(0,): 1.0, (1,): 2.0})
    candidates = [((0,), ()), ((0,), (0,)), ((1,), ()), ((), ()), ((0, 1), ())]
    best = math.inf
    for parts in product(range(13), repeat=4):
        if sum(parts) <= 12:
            shares = [*parts, 12 - sum(parts)]
            plan = [(*c, n / 12) for c, n in zip(candidates, shares, strict=True) if n]
            best = min(best, scored(case, plan, objective))
    assert scored(case, search_laplace(*case, objective), objective) <= best * (1 + 1e-6)


@pytest.mark.parametrize("objective", ["mean", "max"])
@pytest.mark.parametrize("case", RANDOM, ids=range(len(RANDOM)))
def test_never_worse_than_simple_strategies(case, objective):
    plan = search_laplace(*case, objective, effort=0.1)
    check_plan(case, plan)
    assert scored(case, plan, objective) <= min(rivals(case, objective)) * (1 + 1e-6)


@pytest.mark.parametrize(
    "case", [((2,) * 30, all_tables(30, 2)), ((2,) * 16, all_tables(16, 3)), ADULT], ids=["pairs", "triples", "adult"]
)
def test_large_workloads_beat_simple_strategies(case):
    plan = search_laplace(*case, effort=0.02)
    check_plan(case, plan)
    assert scored(case, plan) <= min(rivals(case, "mean"))


def test_designs_keep_large_plans_short():
    pairs = ((2,) * 30, all_tables(30, 2))
    assert rmse(pairs, search_laplace(*pairs, effort=0.02)) < 97
    triples = ((2,) * 16, all_tables(16, 3))
    assert rmse(triples, search_laplace(*triples, effort=0.02)) < 61


def test_same_arguments_same_plan():
    assert search_laplace(*ROCHDALE) == search_laplace(*ROCHDALE)


@pytest.mark.parametrize(("sizes", "table"), [((2, 3), (0, 1)), ((4,), (0,)), ((2, 2, 2), (0, 1, 2))])
def test_one_table_is_counted_itself_or_better(sizes, table):
    plan = search_laplace(sizes, {table: 1.0})
    assert forecast(sizes, plan, {table: 1.0}) <= 2 * (1 + 1e-9)


def test_the_total_alone():
    assert search_laplace((2, 3), {(): 1.0}) == [((), (), 1.0)]
    assert search_laplace((), {(): 1.0}) == [((), (), 1.0)]


def test_margins_stay_below_the_cell_cap():
    plan = search_laplace(*TEN_BINARY, effort=0.05, max_cells=8)
    check_plan(TEN_BINARY, plan, max_cells=8)


def test_a_wanted_table_above_the_cap_is_still_covered():
    case = ((10, 10, 10), {(0, 1, 2): 1.0, (0, 1): 1.0})
    check_plan(case, search_laplace(*case, max_cells=50), max_cells=50)


def test_weights_shift_the_budget():
    light, heavy = (
        table_forecast((2,) * 4, search_laplace((2,) * 4, {(0, 1): w, (2, 3): 1.0}), [(0, 1)])[0, 1]
        for w in (1.0, 50.0)
    )
    assert heavy < light


def test_polished_shares_improve_on_uniform_ones():
    target = Goal(*ROCHDALE)
    for members in simple_sets(target, Candidates(target, 2**20)):
        rows = target.rows(members)
        uniform = np.full(len(members), 1 / len(members))
        shares, value = polish(target, rows, uniform)
        assert value <= target.value(rows.T @ uniform**2) * (1 + 1e-12)
        assert value == pytest.approx(scored(ROCHDALE, [(*m, s) for m, s in zip(members, shares, strict=True)]))


@pytest.mark.parametrize("strength", [2, 3])
def test_every_few_points_meet_in_a_block(strength):
    for g, blocks in designs(strength, 20):
        assert {t for block in blocks for t in combinations(block, strength)} >= set(combinations(range(g), strength))


@pytest.mark.parametrize(
    ("sizes", "workload", "objective"),
    [
        ((1, 2), {(0,): 1.0}, "mean"),
        ((2, 2), {}, "mean"),
        ((2, 2), {(1, 0): 1.0}, "mean"),
        ((2, 2), {(0, 2): 1.0}, "mean"),
        ((2, 2), {(0,): 0.0}, "mean"),
        ((2, 2), {(0,): math.inf}, "mean"),
        ((2, 2), {(0,): 1.0}, "median"),
    ],
)
def test_bad_arguments_are_refused(sizes, workload, objective):
    with pytest.raises(UsageError):
        search_laplace(sizes, workload, objective)


def test_known_residuals_are_not_paid_for():
    """With the table of b and c known, all of the budget goes to what involves a."""
    sizes, workload = (2, 3, 2), {(0, 1): 1.0, (1, 2): 1.0}
    plan = search_laplace(sizes, workload, known=[(1, 2)])
    assert all(0 in s for s, _, _ in plan)
    covered = {t for s, b, _ in plan for t in subsets(s) if set(b) <= set(t)}
    assert {t for t in closure_of(workload) if 0 in t} <= covered
    assert sum(share for _, _, share in plan) == pytest.approx(1)


def asked_one_by_one(target, candidates):
    """The rows of `Goal.rows`, each residual asked for alone."""
    rows = np.zeros((len(candidates), len(target.closure)))
    for row, (s, b) in enumerate(candidates):
        for column, t in enumerate(target.closure):
            if set(b) <= set(t) <= set(s):
                outside = math.prod(target.sizes[j] for j in s if j not in t)
                rows[row, column] = 2.0 ** len(b) / (2 * outside)
    return rows


@pytest.mark.parametrize("vast", [False, True], ids=["few", "many"])
def test_what_candidates_cover_is_the_same_listed_or_asked(monkeypatch, vast):
    if vast:
        monkeypatch.setattr("margrave.planning.search.model.DENSE_ENTRIES", 100)
    target = Goal((2, 3, 2, 2, 4, 2), {**all_tables(6, 2), (0, 1, 2): 1.0})
    candidates = [
        (s, b) for s in closure_of(target.workload) for b in subsets(s) if all(target.sizes[j] == 2 for j in b)
    ]
    candidates.append((tuple(range(6)), ()))
    expected = asked_one_by_one(target, candidates)
    assert target.rows(candidates) == pytest.approx(expected, rel=1e-12)
    found = target.matrix(candidates)
    assert (found.toarray() if vast else found) == pytest.approx(expected, rel=1e-12)


def test_tables_of_one_attribute_are_packed_as_any_others_are(monkeypatch):
    """Beside the general way, which looks at all waiting tables for each block."""
    numbers = np.random.default_rng(3)
    for _ in range(40):
        sizes = tuple(int(k) for k in numbers.choice([2, 2, 3, 4, 7], int(numbers.integers(2, 20))))
        target = Goal(sizes, all_tables(len(sizes), 1))
        tables = [(j,) for j in range(len(sizes))]
        for most in (4, 16, 100):
            packed = search_moves.cover(target, tables, most)
            with monkeypatch.context() as patch:
                patch.setattr(search_moves, "_packed", search_moves.grown)
                assert search_moves.cover(target, tables, most) == packed


def test_ten_thousand_tables_of_one_attribute_need_no_matrix_of_all_residuals(monkeypatch):
    def refused(self):
        raise AssertionError("a matrix of residuals by attributes was made")

    monkeypatch.setattr(Goal, "incidence", property(refused))
    plan = search_laplace((2,) * 10_000, all_tables(10_000, 1))
    assert sum(share for _, _, share in plan) == pytest.approx(1)
    assert {j for s, _, _ in plan for j in s} == set(range(10_000))


def test_a_search_ends_once_nothing_better_comes():
    target = Goal((2,) * 10, dict.fromkeys(combinations(range(10), 2), 1.0))
    walk = Walk(target, Candidates(target, 1 << 16), WORK_PER_EFFORT)
    explore(walk, sorted((rated(target, one) for one in simple_sets(target, walk.candidates)), key=lambda s: s.value))
    assert walk.work < WORK_PER_EFFORT / 10
    assert walk.quiet_since(0.0) and not walk.quiet_since(walk.work)


@pytest.mark.parametrize("case", [FUNGUS, CZECH], ids=["fungus", "czech"])
def test_a_plan_that_was_descended_from_before_has_the_same_end_and_counts_as_the_same_work(case, monkeypatch):
    def walked(remembers):
        target = Goal(case[0], case[1])
        walk = Walk(target, Candidates(target, 1 << 20), WORK_PER_EFFORT)
        descents = []
        if not remembers:
            monkeypatch.setattr(Walk, "descend", lambda self, state: self._descend(state))
        plain = Walk._descend
        monkeypatch.setattr(Walk, "_descend", lambda self, state: descents.append(state) or plain(self, state))
        starts = sorted((rated(target, m) for m in simple_sets(target, walk.candidates)), key=lambda s: s.value)
        best = explore(walk, starts)
        monkeypatch.undo()
        return best.members, best.shares.tolist(), pytest.approx(walk.work), len(descents)

    *known, few = walked(remembers=True)
    *anew, many = walked(remembers=False)
    assert known == anew
    assert 2 * few < many
