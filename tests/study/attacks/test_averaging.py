"""The averaging attack: it works where the facts are forgotten, and not where they are accounted for."""

import json
import sys
from fractions import Fraction
from time import monotonic

import numpy as np
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner

from margrave.algebra.query import Query
from margrave.budget.events import Measurement
from margrave.cli.app import app
from margrave.errors import UsageError
from margrave.facts.moves.graver import graver_basis
from margrave.facts.price import induced_cost
from margrave.facts.sensitivity import induced_sensitivity
from margrave.noise import DiscreteLaplace
from margrave.study.attacks.averaging import averaging, consecutive_sums, guess, least_error, most_found
from tests.facts.oracle import fact_matrix

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("counts", range(2, 10))
def test_the_facts_are_those_of_the_example(counts):
    """On the cells that are not known to be empty, the facts are the sums of consecutive counts; S is their number."""
    facts = consecutive_sums(counts)
    rows, columns = facts.domain.shape()
    places = [(i + 1) // 2 * columns + i // 2 for i in range(counts)]
    assert len(set(places)) == counts and max(places) < rows * columns
    matrix = fact_matrix(facts)[:, places]
    wanted = np.eye(counts - 1, counts, dtype=np.int64) + np.eye(counts - 1, counts, 1, dtype=np.int64)
    assert sorted(map(tuple, matrix)) == sorted(map(tuple, wanted))
    assert np.abs(graver_basis(wanted, monotonic() + 60)).tolist() == [[1] * counts]
    assert induced_sensitivity(facts).value == counts
    if counts <= 8:  # beyond it the moves are too many to list
        whole = [Measurement(Query(facts.domain.names), DiscreteLaplace(Fraction(3)))]
        assert induced_cost(facts, facts.domain, whole).value == Fraction(counts, 3), "as for every plan"


def test_every_count_tells_the_first_one():
    truth = np.array([3, 1, 4, 1, 5, 9], dtype=np.int64)
    assert guess(truth[None, :], truth[:-1] + truth[1:]).tolist() == [3.0]
    changed = truth + np.array([0, 0, 0, 6, 0, 0])
    assert guess(changed[None, :], truth[:-1] + truth[1:]).tolist() == [2.0]


def test_the_adversary_wins_only_where_the_facts_are_forgotten():
    epsilon = Fraction(1, 2)
    rows = averaging(epsilon, [2, 16, 256], 1500, "test")
    for row in rows:
        k = row.counts
        assert row.forgotten.epsilon == k * epsilon, "what it really costs"
        assert row.accounted.epsilon == epsilon and row.accounted.scale == k / epsilon
        for one in (row.forgotten, row.accounted):
            assert one.rmse == pytest.approx(one.predicted, rel=0.08)
        assert row.forgotten.predicted**2 == pytest.approx(2 / (k * float(epsilon) ** 2), rel=0.05)
    errors = [row.forgotten.rmse for row in rows]
    assert errors == sorted(errors, reverse=True) and rows[-1].forgotten.found > 0.95
    assert all(row.accounted.rmse > 2 / float(epsilon) * 0.9 for row in rows) and rows[-1].accounted.found < 0.05
    least, most = least_error(float(epsilon)), most_found(float(epsilon))
    assert all(row.accounted.rmse > least and row.accounted.found < most for row in rows)
    assert rows[-1].forgotten.rmse < least and rows[-1].forgotten.found > most, "what ε forbids"


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("offset", [0.0, 0.2, 0.5])
def test_no_noise_for_epsilon_errs_less_than_the_bound(epsilon, offset):
    """Every distribution of errors in steps of one whose neighbours differ by e^ε at most, by linear programming."""
    places = np.arange(-round(18 / epsilon), round(18 / epsilon) + 1)
    ratio, count = np.exp(-epsilon), len(places)
    one = np.eye(count)
    rules = np.concatenate([ratio * one[:-1] - one[1:], ratio * one[1:] - one[:-1]])
    whole = {"A_ub": rules, "b_ub": np.zeros(len(rules)), "A_eq": np.ones((1, count)), "b_eq": [1.0]}
    square = linprog((places + offset) ** 2, **whole).fun
    assert square == pytest.approx(least_error(epsilon) ** 2 + offset**2, rel=1e-3)
    if not offset:
        assert -linprog(-1.0 * (places == 0), **whole).fun == pytest.approx(most_found(epsilon), rel=1e-3)
        noise = DiscreteLaplace(1 / Fraction(epsilon))
        assert noise.variance == pytest.approx(least_error(epsilon) ** 2), "and that of a release reaches it"


@pytest.mark.parametrize("arguments", [(Fraction(0), [2], 1), (Fraction(1), [1], 1), (Fraction(1), [], 1)])
def test_rejected(arguments):
    with pytest.raises(UsageError):
        averaging(*arguments, "seed")


def run(*words):
    return CliRunner().invoke(app, ["attack", "averaging", *words])


def test_the_command_line():
    shown = run("--counts", "2,64", "--runs", "50")
    assert shown.exit_code == 0 and "NOT PRIVATE relative to them" in shown.output
    rows = json.loads(run("--counts", "2,64", "--runs", "50", "--json").stdout)
    assert [row["counts"] for row in rows] == [2, 64] and rows[1]["forgotten"]["epsilon"] == 64
    for counts in ("2,x", "", "99999999"):
        assert isinstance(run("--counts", counts).exception, UsageError)


def test_the_plot(tmp_path):
    assert run("--counts", "2,8", "--runs", "20", "--out", str(tmp_path / "plot.png")).exit_code == 0
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert isinstance(run("--out", str(tmp_path / "plot.png")).exception, UsageError)


def test_without_matplotlib_there_is_still_the_table(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown = run("--counts", "2,8", "--runs", "20", "--out", str(tmp_path / "plot.png"))
    assert shown.exit_code == 0 and "adversary's RMSE" in shown.output and "margrave[study]" in shown.output
    assert list(tmp_path.iterdir()) == []
