"""The least budget for a wanted accuracy: enough by the exact distribution of the noise, and one step less is not."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.budget.units import amount
from margrave.errors import RefusedError
from margrave.planning.planner import make_plan
from margrave.planning.target import Target, plan_for

LEVEL = 0.95
STEP = Fraction(998, 1000)


def spec_of(sizes, *lines, privacy="epsilon = 1.0"):
    named = zip("abcd", sizes, strict=False)
    values = [f"{name} = {json.dumps([f'{name}{i}' for i in range(size)])}" for name, size in named]
    return mg.Spec.parse("\n".join(["[attributes]", *values, "[release]", *lines, "[privacy]", privacy]))


def coverage(terms, half_width):
    """P(|Σ weights · noise| ≤ half_width) by convolution on a lattice: exact for weights of 1/60, else nearly so."""
    total = sum(term.count * term.weight**2 * term.noise.variance for term in terms)
    terms = [term for term in terms if term.count * term.weight**2 * term.noise.variance > 1e-9 * total]
    exact = all(abs(term.weight * 60 - round(term.weight * 60)) < 1e-9 for term in terms)
    fine = 60 if exact else 2400
    span = int(fine * 20 * total**0.5)
    total = np.zeros(2 * span + 1)
    total[span] = 1.0
    spectrum = np.fft.rfft(np.fft.ifftshift(total))
    for term in terms:
        single = np.zeros_like(total)
        z = np.arange(-400, 401)
        place = np.round(term.weight * z * fine).astype(int)
        inside = np.abs(place) <= span
        np.add.at(single, span + place[inside], term.noise.pmf(z[inside]))
        spectrum = spectrum * np.fft.rfft(np.fft.ifftshift(single)) ** term.count
    found = np.fft.fftshift(np.fft.irfft(spectrum, n=len(total)))
    at = np.arange(-span, span + 1)
    return found[np.abs(at) <= half_width * fine + (0.5 if exact else 4)].sum()


def worst(plan, half_width):
    """The least coverage over all cells of all wanted tables."""
    found = []
    for margin in plan.spec.margins:
        cells = plan.spec.domain.cells(margin)
        for unit in np.eye(1, cells) if plan.alike(margin) else np.eye(cells):
            noise = plan.linear_noise(margin, unit)
            found.append(coverage(noise.terms, half_width) if noise.terms else 1.0)
    return min(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("half_width", "stated"), [(1, Fraction("1.7656")), (2, Fraction("1.1371")), (5, Fraction("0.5383"))]
)
def test_a_table_of_two_attributes_costs_what_its_distribution_says(half_width, stated):
    plan = plan_for(spec_of((2, 2), 'tables = [["a", "b"]]'), Target(half_width, LEVEL))
    assert stated * STEP < amount(plan.spec.budget) <= stated
    assert plan.forecast[0].half_width == half_width


def test_half_widths_of_whole_numbers_are_whole_numbers():
    for epsilon in ("0.02", "0.3", "0.6541", "1", "3"):
        spec = spec_of((2, 2), 'tables = [["a", "b"], ["a"]]', 'strategy = "base"', privacy=f"epsilon = {epsilon}")
        assert all(row.half_width == round(row.half_width) for row in make_plan(spec).forecast)
        assert all(row.all_cells == round(row.all_cells) for row in make_plan(spec).forecast)


CASES = [
    ((2, 2), ("all = 2",), "epsilon = 1.0"),
    ((2, 2), ("all = 2",), 'epsilon = 1.0\nneighbours = "replace"'),
    ((2, 2), ("all = 2",), 'rho = 1.0\nneighbours = "replace"'),
    ((3, 2, 2), ("all = 2", 'sensitive = ["a"]'), "epsilon = 1.0"),
    ((3, 2, 2), ("all = 2", 'public = [["a"]]'), "epsilon = 1.0"),
    ((3, 2, 2), ("all = 2", 'public = [["a"]]'), "rho = 1.0"),
    ((3, 2, 2), ("all = 2",), "rho = 1.0"),
    ((3, 2, 2), ("all = 2",), "epsilon = 1.0\ndelta = 1e-6"),
    *(
        ((3, 2), ('tables = [["a", "b"], ["a"]]', f'strategy = "{name}"'), privacy)
        for name, privacy in product(
            ("residual", "fourier", "efron-stein", "margins", "base"), ("epsilon = 1.0", "rho = 1.0")
        )
    ),
    ((3, 2), ('tables = [["a", "b"], ["a"]]', 'strategy = "search"'), "epsilon = 1.0"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "lines", "privacy"), CASES)
@pytest.mark.parametrize("half_width", [2.0, 5.0])
def test_a_target_is_reached_and_one_step_less_does_not_reach_it(sizes, lines, privacy, half_width):
    spec, target = spec_of(sizes, *lines, privacy=privacy), Target(half_width, LEVEL)
    plan = plan_for(spec, target)
    assert worst(plan, half_width) >= LEVEL - 1e-4
    less = replace(plan.spec, budget=spec.budget.with_amount(amount(plan.spec.budget) * STEP))
    assert worst(make_plan(less), half_width) < LEVEL + 1e-3


def test_the_strategy_of_least_budget_is_named_where_it_is_not_the_usual_one():
    """At ±1 one Gaussian question of the whole table needs half of what its residuals need."""
    plan = plan_for(spec_of((2, 2), 'tables = [["a", "b"]]', privacy="rho = 1.0"), Target(1, LEVEL))
    assert plan.spec.strategy == "base" and Fraction("0.748") < amount(plan.spec.budget) < Fraction("0.75")
    again = make_plan(plan.spec)
    assert again.measurements == plan.measurements and again.forecast[0].half_width == 1


def test_a_target_below_one_is_reached_where_noise_is_nothing_nearly_always():
    plan = plan_for(spec_of((2, 2), 'tables = [["a", "b"]]'), Target(0.5, LEVEL))
    assert plan.forecast[0].half_width == 0 and worst(plan, 0.5) >= LEVEL


def test_what_no_budget_reaches_is_refused(monkeypatch):
    monkeypatch.setattr("margrave.planning.target._MOST", Fraction(2))
    with pytest.raises(RefusedError, match="no budget up to 2"):
        plan_for(spec_of((2, 2), "all = 2"), Target(0.5, LEVEL))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "privacy"),
    [
        (('tables = [["a", "b"]]',), "epsilon = 1.0"),
        (('tables = [["a", "b"]]',), 'rho = 1.0\nneighbours = "replace"'),
        (('tables = [["a", "b"]]', 'public = [["a"]]'), "epsilon = 1.0"),
    ],
)
def test_repeated_releases_cover_what_is_asked_and_no_more_than_whole_numbers_force(lines, privacy):
    """What releases cover is what the exact distribution says, which is the least above the level asked for."""
    plan = plan_for(spec_of((3, 2), *lines, privacy=privacy), Target(3.0, LEVEL))
    rows = pd.DataFrame({"a": ["a0", "a1", "a2"] * 40, "b": ["b0", "b1"] * 60})
    truth, runs = pd.crosstab(rows["a"], rows["b"]).to_numpy(), 300
    inside = sum(
        abs(mg.release(plan, rows, seed=seed).unbiased(("a", "b"))[0, 0] - truth[0, 0]) <= 3.0 + 1e-9
        for seed in range(runs)
    )
    exact = worst(plan, 3.0)
    assert LEVEL - 1e-4 <= exact < LEVEL + 0.01
    assert abs(inside / runs - exact) < 4 * (exact * (1 - exact) / runs) ** 0.5
