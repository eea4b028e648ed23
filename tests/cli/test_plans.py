"""What a plan prints."""

import json

import pytest

from margrave.planning.describe import FORECAST_HEADERS
from margrave.planning.glossary import GLOSSARY
from tests.cli.typed import CZECH, inside


@pytest.mark.slow
def test_plan_shows_cost_noise_and_forecast():
    out = inside("plan", CZECH).stdout
    for word in ("ε = 1", "Laplace", "mental, family", "typical error", "In plain words", "Memory"):
        assert word in out


@pytest.mark.slow
def test_plan_as_json():
    plan = json.loads(inside("plan", CZECH, "--json").stdout)
    assert plan["guarantee"].keys() == {"epsilon"}
    assert plan["rmse"] == pytest.approx(3.2, abs=0.05)
    assert [row["cells"] for row in plan["forecast"]] == [4, 8, 16]
    assert plan["groups"]["5"]["epsilon"] == pytest.approx(5)


@pytest.mark.slow
def test_plan_for_a_target_and_a_sweep():
    rows = json.loads(inside("plan", CZECH, "--sweep", "0.5,1", "--json").stdout)
    assert [row["budget"] for row in rows] == ["0.5", "1"]
    found = inside("plan", CZECH, "--target", "5@95%")
    assert "Write this budget" in found.stderr


def test_plan_says_what_its_words_mean_or_how_to_be_told():
    short, long = inside("plan", CZECH), inside("plan", CZECH, "--words")
    assert "--words" in short.stderr and "What the words mean" not in short.stdout
    assert "--words" not in long.stderr and long.stdout.startswith(short.stdout)
    told = long.stdout.partition("What the words mean\n")[2].splitlines()
    assert len(told) == len(GLOSSARY)
    for header in FORECAST_HEADERS[2:]:
        assert any(line.lower().startswith(header.replace("std.", "standard")) for line in told), header
