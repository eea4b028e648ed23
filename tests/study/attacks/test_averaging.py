"""The averaging attack: it works where the facts are forgotten, and not where they are accounted for."""

import json
import sys
from fractions import Fraction
from time import monotonic

import numpy as np
import pytest
from typer.testing import CliRunner

from margrave.cli.app import app
from margrave.errors import UsageError
from margrave.facts.moves.graver import graver_basis
from margrave.facts.sensitivity import induced_sensitivity
from margrave.study.attacks.averaging import averaging, consecutive_sums, guess
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
