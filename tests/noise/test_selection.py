"""Selection comes out with exactly the stated probabilities, and is refused what it could not draw."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.stats import chisquare

from margrave.errors import RefusedError, UsageError
from margrave.noise import Generator
from margrave.noise.selection import _bands, _draw_band, select


def frequencies(losses, rate, draws, seed):
    generator = Generator.seeded(seed)
    found = [select(np.array(losses, dtype=object), rate, generator) for _ in range(draws)]
    return np.bincount(found, minlength=len(losses))


@pytest.mark.parametrize(
    ("losses", "rate"),
    [
        ([0, 1, 2, 3, 40], Fraction(1, 2)),
        ([5, 5, 5], Fraction(3)),
        ([7, 0, 3, 3, 9, 1], Fraction(7, 5)),
        ([10**6, 10**6 + 300_000, 10**6 + 500_000], Fraction(1, 400_000)),
    ],
)
def test_candidates_come_out_in_proportion_to_their_weights(losses, rate):
    weights = np.array([exp(-float(rate) * (loss - min(losses))) for loss in losses])
    draws = 1_500
    found = frequencies(losses, rate, draws, f"selection {losses} {rate}")
    likely = weights / weights.sum() * draws
    enough = likely >= 5
    assert found[~enough].sum() <= 5 + 5 * likely[~enough].sum()
    scale = found[enough].sum() / likely[enough].sum()
    assert chisquare(found[enough], likely[enough] * scale).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [Fraction(2, 5), Fraction(3, 5)])
def test_another_rate_would_be_noticed(wrong):
    losses = [0, 1, 2, 3, 4]
    weights = np.array([exp(-float(wrong) * loss) for loss in losses])
    found = frequencies(losses, Fraction(1, 2), 4_000, "selection, another rate")
    assert chisquare(found, weights / weights.sum() * 4_000).pvalue < 1e-4


def test_losses_of_any_size_and_far_bands_are_told_apart():
    assert select(np.array([10**40, 0, 10**50], dtype=object), Fraction(1), Generator.seeded("far")) == 1
    assert _bands(np.array([0, 10**30], dtype=object), Fraction(1, 3))[1] == 10**30 // 3


class Scripted:
    """A generator whose bits are given: it shows how far a band is looked for."""

    def __init__(self, octets, words):
        self._octets, self._words = octets, list(words)

    def octets(self, count):
        return np.frombuffer(self._octets[:count], dtype=np.uint8)

    def words(self, count):
        return np.array([self._words.pop(0) for _ in range(count)], dtype=np.uint64)


def test_bits_that_leave_a_band_open_are_followed_by_more():
    last = Scripted(b"\xff" * 16, [2**64 - 1] * 3 + [0] * 4)
    assert _draw_band([0, 200], [1, 1], last) in (0, 1)
    assert len(last._words) < 7
    assert _draw_band([0, 1], [1, 1], Scripted(b"\x00" * 16, [])) == 0


def test_what_is_no_selection_is_refused():
    generator = Generator.seeded("refused")
    with pytest.raises(UsageError):
        select(np.array([], dtype=np.int64), Fraction(1), generator)
    for rate in (Fraction(0), Fraction(-1), 0.5, Fraction(1, 1 << 90), True):
        with pytest.raises(RefusedError):
            select(np.array([0, 1]), rate, generator)
