"""Draws against the stated law: the true scale is accepted, a scale wrong by 30 % in either direction is rejected."""

import threading
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from margrave.errors import UsageError
from margrave.noise import DiscreteGaussian, DiscreteLaplace, Generator, Noise

DRAWS = 200_000
SCALES = [Fraction(s) for s in ("0.1", "0.3", "1", "3.7", "50", "1000", "1e6", "1e9")]
KINDS = ["laplace", "gaussian"]
WRONG = [Fraction(13, 10), Fraction(7, 10), Fraction(1, 2)]


def noise_of(kind: str, scale: Fraction) -> Noise:
    return DiscreteLaplace(scale) if kind == "laplace" else DiscreteGaussian(scale**2)


def cumulative(kind: str, scale: float, z: np.ndarray) -> np.ndarray:
    """P(Z <= z), written here anew: summed over the integers, or the continuous law at z + 1/2 for wide noise."""
    if scale > 200:
        law = stats.laplace(scale=scale) if kind == "laplace" else stats.norm(scale=scale)
        return np.asarray(law.cdf(z + 0.5))
    support = np.arange(-40 * int(scale + 1), 40 * int(scale + 1) + 1)
    weights = np.exp(-np.abs(support) / scale) if kind == "laplace" else np.exp(-((support / scale) ** 2) / 2)
    index = np.clip(z.astype(np.int64) - support[0], 0, support.size - 1)
    return np.asarray(np.cumsum(weights / weights.sum())[index])


def p_value(draws: np.ndarray, kind: str, scale: float) -> float:
    """Chi-squared over about 40 cells of enough expected draws; where all but zero is rare, an exact binomial test."""
    edges = np.unique(np.quantile(draws, np.linspace(0, 1, 41)[1:-1], method="lower"))
    edges = np.unique(np.concatenate([edges - 1, edges, [-1, 0]])) if scale < 200 else edges
    chances = np.diff(cumulative(kind, scale, edges), prepend=0.0, append=1.0)
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=edges.size + 1)
    keep = chances * draws.size >= 5
    if keep.sum() < 3:
        zero = float(np.diff(cumulative(kind, scale, np.array([-1, 0])))[0])
        return float(stats.binomtest(int(np.count_nonzero(draws == 0)), draws.size, min(zero, 1.0)).pvalue)
    if not keep.all():
        chances = np.append(chances[keep], max(chances[~keep].sum(), 1e-300))
        counts = np.append(counts[keep], counts[~keep].sum())
        if chances[-1] * draws.size < 1 and counts[-1] < 3:
            chances, counts = chances[:-1] / chances[:-1].sum(), counts[:-1]
    expected = chances / chances.sum() * counts.sum()
    return float(stats.chisquare(counts, expected).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_true_scale_is_accepted_and_wrong_ones_rejected(kind: str, scale: Fraction) -> None:
    if (kind, scale) == ("gaussian", Fraction("0.1")):
        pytest.skip("nothing but zeros to see: P(z ≠ 0) is below 1e-21; test_tape.py covers it exactly")
    size = DRAWS if scale > Fraction("0.1") else 10 * DRAWS
    draws = noise_of(kind, scale).sample(size, Generator.seeded(f"{kind} {scale}"))
    assert p_value(draws, kind, float(scale)) > 1e-3
    for factor in WRONG:
        other = noise_of(kind, factor * scale).sample(size, Generator.seeded(f"{kind} {scale} {factor}"))
        assert p_value(draws, kind, float(factor * scale)) < 1e-6
        assert p_value(other, kind, float(scale)) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES[2:], ids=str)
def test_moments(kind: str, scale: Fraction) -> None:
    noise = noise_of(kind, scale)
    draws = noise.sample(DRAWS, Generator.seeded("moments")).astype(float)
    sd = np.sqrt(noise.variance)
    kurtosis = np.mean((draws / sd) ** 4)
    assert abs(draws.mean()) < 4 * sd / np.sqrt(DRAWS)
    assert abs(draws.var() / noise.variance - 1) < 4 * np.sqrt((kurtosis - 1) / DRAWS)
    if scale >= 50:
        assert kurtosis == pytest.approx(6 if kind == "laplace" else 3, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES[1:], ids=str)
def test_tails(kind: str, scale: Fraction) -> None:
    noise = noise_of(kind, scale)
    draws = np.abs(noise.sample(DRAWS, Generator.seeded("tails")))
    for multiple in (0, 1, 2, 4):
        z = int(multiple * scale)
        chance = float(noise.tail(z))
        assert abs(np.mean(draws > z) - chance) < 5 * np.sqrt(chance * (1 - chance) / DRAWS) + 5 / DRAWS
    assert draws.max() <= noise.safe_tail(DRAWS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1000)], ids=str)
def test_successive_draws_and_spawned_streams_are_independent(kind: str, scale: Fraction) -> None:
    noise = noise_of(kind, scale)
    one, two = (noise.sample(DRAWS, child).astype(float) for child in Generator.seeded("pair").spawn(2))
    pairs = [(one[:-lag], one[lag:]) for lag in (1, 2, 8192)] + [(one, two)]
    for left, right in pairs:
        for shape in (np.sign, np.abs, np.asarray):
            assert abs(np.corrcoef(shape(left), shape(right))[0, 1]) < 4.5 / np.sqrt(left.size)
    table = np.histogram2d(one, two, bins=[[-np.inf, -0.5, 0.5 * float(scale) + 0.1, np.inf]] * 2)[0]
    assert stats.chi2_contingency(table).pvalue > 1e-3
    assert not np.array_equal(one[:50], two[:50])


@pytest.mark.parametrize("kind", KINDS)
def test_signs_are_fair_and_do_not_depend_on_size(kind: str) -> None:
    draws = noise_of(kind, Fraction(5)).sample(DRAWS, Generator.seeded("signs"))
    for low, high in ((1, 3), (3, 8), (8, 1000)):
        part = draws[(np.abs(draws) >= low) & (np.abs(draws) < high)]
        assert stats.binomtest(int(np.count_nonzero(part > 0)), part.size).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.7, 4.0, 1000.0])
def test_agrees_with_opendp(kind: str, scale: float) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "laplace":
        theirs = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    else:
        theirs = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
    samples = [
        np.array(theirs([0] * 20_000)),
        noise_of(kind, Fraction(str(scale))).sample(20_000, Generator.seeded("opendp")),
    ]
    edges = np.unique(np.rint(np.linspace(-2.5 * scale, 2.5 * scale, 12)))
    table = np.array([np.bincount(np.searchsorted(edges, sample), minlength=edges.size + 1) for sample in samples])
    # Their sampler cannot be seeded: the level makes a false alarm a once-in-a-billion event.
    assert stats.chi2_contingency(table[:, table.any(axis=0)]).pvalue > 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_seeded_draws_repeat_and_system_draws_do_not(kind: str) -> None:
    noise = noise_of(kind, Fraction(10**6))
    assert np.array_equal(noise.sample(500, Generator.seeded(1)), noise.sample(500, Generator.seeded(1)))
    system = Generator.system()
    assert not np.array_equal(noise.sample(50, system), noise.sample(50, system))
    assert not np.array_equal(noise.sample(50, Generator.system()), noise.sample(50, Generator.system()))


@pytest.mark.parametrize("kind", KINDS)
def test_threads_may_share_a_generator(kind: str) -> None:
    noise, shared, found = noise_of(kind, Fraction(10**9)), Generator.seeded("threads"), []
    threads = [threading.Thread(target=lambda: found.append(noise.sample(5000, shared))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    draws = np.concatenate(found)
    assert np.unique(draws).size > 0.999 * draws.size
    assert p_value(draws, kind, 1e9) > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_sizes(kind: str) -> None:
    noise = noise_of(kind, Fraction(3))
    for size in (0, 1, 7, 8191, 8192, 8193, 20_000):
        draws = noise.sample(size, Generator.seeded(1))
        assert draws.shape == (size,)
        assert draws.dtype == np.int64
    with pytest.raises(UsageError):
        noise.sample(-1, Generator.seeded(1))


@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(1 << 50)), DiscreteGaussian(Fraction(1 << 100))], ids=KINDS)
def test_widest_noise_stays_within_64_bits(noise: Noise) -> None:
    draws = noise.sample(20_000, Generator.seeded(1)).astype(float)
    assert np.mean(draws**2) == pytest.approx(noise.variance, rel=0.1)
    assert noise.safe_tail(1 << 40) < 1 << 62
