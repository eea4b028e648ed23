"""The errors of published cells, given how far they are from the unbiased ones."""

from fractions import Fraction

import numpy as np
import pytest

import margrave as mg
from margrave.budget.units import PureDP
from margrave.reconstruct.apart import Apart
from margrave.reconstruct.bars import _by_size
from tests.shapes import domain_of, frame_of, spec_of

CELLS, SIMULATIONS = 600, 16
LARGE = 100.0
"""Far above zero, in units of noise."""


def shrunk(biases, keep, random):
    """Cells whose noise is shrunk to a part that is kept, with a bias each that simulations around them do not have."""
    noise, again = random.normal(size=CELLS), random.normal(size=(SIMULATIONS, CELLS))
    published, pools = LARGE + biases + keep * noise, np.zeros(CELLS, dtype=np.int64)
    return Apart(published, LARGE + noise, published + keep * again, published + again, pools), published - LARGE


def test_what_is_published_unbiased_has_the_error_of_the_unbiased():
    apart, _ = shrunk(np.zeros(CELLS), 1.0, np.random.default_rng(1))
    assert apart.errors() == pytest.approx(1.0, abs=0.05)


def test_without_bias_the_error_is_less_than_that_of_the_noise():
    """The error of noise shrunk to its half is between that half and √(1 − ¼), which the distance alone could tell."""
    apart, wrong = shrunk(np.zeros(CELLS), 0.5, np.random.default_rng(2))
    assert np.sqrt((wrong**2).mean()) == pytest.approx(0.5, abs=0.05)
    assert 0.5 < np.sqrt((apart.errors() ** 2).mean()) < 0.95


@pytest.mark.parametrize("share", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("keep", [0.5, 0.8])
def test_intervals_hold_the_truth_whether_few_cells_are_biased_or_all(share, keep):
    """Simulations alone have errors of the size of the noise that is kept, whatever the bias of twice the noise."""
    held, simulated = [], []
    for seed in range(20):
        random = np.random.default_rng([3, seed])
        biased = random.random(CELLS) < share
        apart, wrong = shrunk(np.where(biased, 2.0 * random.choice([-1, 1], CELLS), 0.0), keep, random)
        held.append((np.abs(wrong) <= 1.96 * apart.errors())[biased].mean())
        simulated.append((np.abs(wrong) <= 1.96 * keep)[biased].mean())
    assert np.mean(held) >= 0.93
    assert np.mean(simulated) < 0.35


def held_where_biased(pooled, seed):
    """A fifth of the cells is large and two σ too low; simulations see a fifth of the noise."""
    random = np.random.default_rng([4, seed])
    large, noise = np.arange(CELLS) < CELLS // 5, random.normal(size=CELLS)
    again = random.normal(size=(SIMULATIONS, CELLS))
    truth = np.where(large, 40.0, 10.0)
    published = truth - 2.0 * large + 0.2 * noise
    apart = Apart(published, truth + noise, published + 0.2 * again, published + again, pooled(published))
    return (np.abs(published - truth) <= 1.96 * apart.errors())[large].mean()


def test_large_counts_that_are_all_too_low_are_told_apart_from_small_ones_that_are_right():
    together = [held_where_biased(lambda counts: np.zeros(len(counts), dtype=np.int64), seed) for seed in range(20)]
    apart = [held_where_biased(_by_size, seed) for seed in range(20)]
    assert np.mean(together) < 0.88
    assert np.mean(apart) >= 0.93


@pytest.mark.parametrize(
    ("counts", "alike"),
    [
        ([], []),
        ([0.0] * 9 + [5.0] * 7 + [100.0] * 2, [9, 9]),  # Few very large ones are alike with large ones,
        ([0.0] * 3 + [5.0] * 9, [12]),  # and few small ones with the next.
        ([0.5, 200.0], [2]),
        (list(np.repeat([0.5, 1.5, 3.0, 6.0], 8)), [8, 8, 8, 8]),
    ],
)
def test_counts_of_about_as_many_times_their_noise_are_alike(counts, alike):
    found = _by_size(np.array(counts))
    assert len(found) == len(counts) and (np.diff(found) >= 0).all()
    assert sorted(np.unique(found, return_counts=True)[1]) == sorted(alike)


def test_a_count_is_at_most_as_much_too_high_as_it_is():
    """The unbiased count far below zero says nothing of a published 0, and that far above zero does."""
    below, above = (
        Apart(np.zeros(1), np.array([value]), np.zeros((4, 1)), np.eye(4, 1), np.zeros(1, dtype=np.int64)).errors()
        for value in (-9.0, 9.0)
    )
    assert below <= 1.0
    assert above > 8.0


@pytest.mark.slow
def test_interactions_that_were_smoothed_away_are_inside_the_intervals():
    """Two-way tables with many interactions under much noise: simulations around the smoother table see few of them."""
    domain, random = domain_of(12, 10, 8), np.random.default_rng(5)
    alone = [random.dirichlet(np.full(size, 3.0)) for size in domain.shape()]
    shares = np.einsum("a,b,c->abc", *alone) * np.exp(0.5 * random.normal(size=(12, 10, 1)))
    frame = frame_of(domain, random.poisson(20_000 * shares / shares.sum()))
    plan = mg.plan(spec_of(domain.shape(), ["ab", "ac", "bc"], PureDP(Fraction(3, 10))))
    truth = mg.count(plan.spec, frame).counts
    held, simulated, widths = [], [], []
    for seed in range(5):
        out = mg.release(plan, frame, seed=seed)
        for margin in plan.spec.margins:
            wrong = np.abs(out.published(margin) - truth[margin]).ravel()
            noise = plan.forecast_of(margin, out.level).half_width
            away, width = truth[margin].ravel() >= noise, out.error_bars(margin)[1]
            held.extend((wrong <= width)[away])
            simulated.extend((wrong <= out.simulated.cell_errors(margin, out.level)[1])[away])
            widths.extend(width[away] / noise)
    assert np.mean(held) >= 0.93 > np.mean(simulated)
    assert np.mean(widths) < 1
