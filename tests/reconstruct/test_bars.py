"""Error bars from simulations: as wide as few simulations call for, and not narrowed by cells that never move."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

import margrave as mg
from margrave.reconstruct import published as published_module
from margrave.reconstruct.bars import Simulated
from margrave.reconstruct.held import FullTable
from margrave.reconstruct.publication import Published
from tests.shapes import domain_of

MARGIN = ("a", "b")
SHAPE = (40, 50)


def published(table):
    return Published(domain_of(*SHAPE), FullTable(domain_of(*SHAPE), np.asarray(table)), "least-squares", "none", {})


def simulated(truth, deviation, count, factor=1.0):
    """Simulations with normal errors."""
    draws = np.random.default_rng(count).normal(size=(count, *SHAPE))
    again = tuple(published(truth + deviation * draw) for draw in draws)
    return Simulated(
        published(truth), again, factor, lambda margin: np.array([one.margin(margin).ravel() for one in again])
    )


@pytest.mark.parametrize("count", [16, 48])
def test_few_simulations_give_the_intervals_of_student(count):
    size, width = simulated(np.full(SHAPE, 100.0), 3.0, count).cell_errors(MARGIN, 0.95)
    ratio = float(width[0] / size[0])
    assert np.allclose(width, ratio * size)
    assert ratio == pytest.approx(t.ppf(0.975, count - 1), rel=0.02)
    assert ratio > 1.02 * norm.ppf(0.975)


def test_a_factor_lengthens_bars():
    plain, longer = (simulated(np.full(SHAPE, 100.0), 3.0, 16, factor) for factor in (1.0, 1.5))
    for one, other in zip(plain.cell_errors(MARGIN, 0.95), longer.cell_errors(MARGIN, 0.95), strict=True):
        assert np.allclose(1.5 * one, other)


def test_cells_that_stay_at_zero_do_not_narrow_the_others():
    full = np.zeros(SHAPE)
    full[:2] = 100.0
    size, width = simulated(full, np.where(full > 0, 3.0, 0.0), 48).cell_errors(MARGIN, 0.95)
    assert (width / size)[:100].min() > 1.9
    assert np.allclose(size[100:], 0.25) and np.allclose(width[100:], 0.25 * norm.ppf(0.975))


def test_the_same_answers_are_published_once(monkeypatch):
    """With next to no noise every simulation has the same answers."""
    made = []
    again = published_module.publish_again
    monkeypatch.setattr(
        published_module, "publish_again", lambda plan, fits, *rest: made.extend(fits) or again(plan, fits, *rest)
    )
    document = {"attributes": {"a": ["x", "y"], "b": ["u", "v", "w"]}, "release": {"all": 2}}
    data = pd.DataFrame({"a": ["x", "y"] * 30, "b": ["u", "v", "w"] * 20})
    for epsilon, least, most in ((10**6, 1, 1), (1, 2, 1000)):
        made.clear()
        spec = mg.Spec.load({**document, "privacy": {"epsilon": epsilon}})
        mg.release(spec, data, seed=1).table("a", "b")
        assert least <= len(made) <= most
