"""What exact cuboids cost and save: the price against the known values, the variance against a closed form."""

import json
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from margrave.cli.app import app
from margrave.errors import UsageError
from margrave.study import cuboids
from margrave.study.cuboids import consistent, czech, fact_table, reading, reproduce, study


@pytest.fixture(scope="module")
def rows():
    found = pytest.MonkeyPatch()
    found.setattr(cuboids, "SETS", {"fact table": ("", "s", "sa+ay"), "Czech": ("", "s+m", "sm+hp", "smh+mhp")})
    try:
        yield study(Fraction(1), 300, "test")
    finally:
        found.undo()


@pytest.mark.slow
def test_the_prices_are_those_of_the_lemmas(rows):
    assert [row.price for row in rows] == [1, 2, 4, 1, 4, 8, 4]
    assert [row.overlap for row in rows] == [0, 0, 1, 0, 0, 0, 2]


def test_consistency_leaves_the_share_of_unknown_residuals(rows):
    for row in rows:
        assert row.measured == pytest.approx(row.after, rel=0.15)
        assert row.after <= row.before
    assert rows[2].after / rows[2].before == pytest.approx(1 - 42 / 70), "7·2 + 7·5 − 7 residuals are known"


def test_no_set_of_exact_cuboids_is_worth_its_price(rows):
    assert all(row.worth > 1 for row in rows if row.exact)
    assert reading(rows).startswith("0 of 5 sets")
    planned = {row.name: row.planned for row in rows if row.table == "Czech"}
    assert planned["{smoke, mental, physical}, {mental, physical, pressure}"] < np.sqrt(rows[-1].after)


def test_a_consistent_table_has_the_exact_margins():
    subject = czech()
    errors = np.random.default_rng(1).normal(size=(3, 16))
    left = consistent(subject, [("smoke", "mental"), ("pressure",)], errors).reshape(3, 2, 2, 2, 2)
    assert np.abs(left.sum(axis=(3, 4))).max() < 1e-12 and np.abs(left.sum(axis=(1, 2, 3))).max() < 1e-12
    assert consistent(subject, [], errors) is errors


def test_the_fact_table_is_the_drafts():
    table = fact_table().table()
    assert table.sum() == 8 and table.sum(axis=(0, 1)).tolist() == [0, 3, 3, 0, 2]


@pytest.mark.slow
def test_the_command_writes_the_figure_and_the_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(cuboids, "SETS", {"fact table": ("", "s"), "Czech": ("", "s")})
    folder = tmp_path / "out"
    shown = CliRunner().invoke(app, ["reproduce", "cuboids", "--runs", "20", "--out", str(folder)])
    assert shown.exit_code == 0 and "sets of exact cuboids" in shown.output
    assert (folder / "cuboids.png").read_bytes().startswith(b"\x89PNG")
    assert len(json.loads((folder / "cuboids.json").read_text())) == 4
    with pytest.raises(UsageError):
        reproduce(folder)
    wrong = CliRunner().invoke(app, ["reproduce", "cuboids", "--quick"])
    assert isinstance(wrong.exception, UsageError)
    with pytest.raises(UsageError):
        study(Fraction(1), 1, "few")
