"""The classic again: its estimator, its variance, its misprint, and a curator beside it."""

import json
from fractions import Fraction
from math import log

import pytest
from typer.testing import CliRunner

from margrave.cli.app import app
from margrave.errors import UsageError
from margrave.study.warner.page import reproduce
from margrave.study.warner.runs import SHARES, compared, needed, noise_variance, thrown


@pytest.mark.parametrize("share", SHARES)
def test_two_coins_have_the_mean_and_variance_of_the_formulas_and_not_the_printed_ones(share):
    found = thrown(share, 2000)
    assert found.yes == pytest.approx(found.expected, abs=1.5)
    assert abs(found.yes - found.printed) > 200
    assert found.estimate == pytest.approx(share, abs=0.003)
    assert found.variance == pytest.approx(found.formula, rel=0.12)
    assert abs(found.variance - 1.3 * found.formula) > 0.12 * found.formula


def test_the_coins_of_the_slides_add_three_quarters():
    assert noise_variance(log(3)) == pytest.approx(0.75)


def test_more_privacy_needs_more_respondents():
    counts = [needed(Fraction(text)).respondents for text in ("4", "1", "0.5", "0.25")]
    assert counts == sorted(counts)
    assert needed(Fraction("1.0986122886681098")).respondents == 10_000
    assert needed(Fraction(1)).plain == 2500


def test_a_curator_is_far_more_accurate_and_both_are_as_forecast():
    found = compared(Fraction(1), 6)
    assert found.local > 5 * found.central
    assert found.local == pytest.approx(found.forecast, rel=0.35)


@pytest.mark.slow
def test_the_study_is_written_as_a_page_with_its_numbers(tmp_path):
    done = CliRunner().invoke(app, ["reproduce", "warner", "--runs", "2", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "with a curator" in done.output
    said = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert said["people"] == 1841
    assert "data:image/png" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="two runs"):
        reproduce(tmp_path / "other", 1)
