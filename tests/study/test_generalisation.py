"""Privacy and generalisation: what is chosen on private tables overfits no more than its bound."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from margrave.cli.app import app
from margrave.errors import UsageError
from margrave.noise import Generator
from margrave.study.generalisation import TRUE, associations, people, reading, right, study


@pytest.fixture(scope="module")
def rows():
    return study(4, "test")


@pytest.mark.slow
def test_exact_tables_overfit_and_private_ones_less(rows):
    exact, small, _, middle, _ = rows
    assert exact.gap > 0.05 and exact.true == TRUE
    assert small.gap < 0.03 < small.most and middle.gap < exact.gap
    assert middle.fresh > exact.fresh - 0.06


def test_no_gap_passes_its_bound(rows):
    assert all(row.gap <= row.most for row in rows)
    assert "are an illusion" in reading(rows)


def test_an_association_is_agreement_and_a_vote_follows_it():
    assert associations([np.array([[3.0, 1.0], [0.0, 2.0]])]).tolist() == [4.0]
    records = people(400, Generator.seeded("vote"))
    scores = np.zeros(records.shape[1] - 1)
    scores[0] = 1.0
    assert right(records, scores) == pytest.approx((records[:, 0] == records[:, -1]).mean())


def test_the_command_line():
    shown = CliRunner().invoke(app, ["reproduce", "generalisation", "--runs", "1", "--json"])
    found = json.loads(shown.stdout)
    assert shown.exit_code == 0 and found[0]["epsilon"] is None and len(found) == 5
    with pytest.raises(UsageError):
        study(0, "none")
