"""Selection comes out with exactly the stated probabilities, and is refused what it could not draw."""

from fractions import Fraction
from itertools import permutations, product
from math import exp

import numpy as np
import pytest
from scipy.stats import chisquare

from margrave.errors import RefusedError, UsageError
from margrave.noise import Generator, selection
from margrave.noise.exact import Chance
from margrave.noise.selection import _bands, _draw_band, permute_and_flip, select


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


def flipped(losses, rate):
    """The chances of permute-and-flip by its definition: every order of the candidates, every coin."""
    coins = [exp(-float(rate) * (loss - min(losses))) for loss in losses]
    found = np.zeros(len(losses))
    orders = list(permutations(range(len(losses))))
    for order in orders:
        missed = 1.0
        for at in order:
            found[at] += missed * coins[at] / len(orders)
            missed *= 1 - coins[at]
    return found


def proportional(losses, rate):
    weights = np.array([exp(-float(rate) * (loss - min(losses))) for loss in losses])
    return weights / weights.sum()


FLIPPED = [([0, 1, 2, 3, 40], Fraction(1, 2)), ([5, 5, 5], Fraction(3)), ([7, 0, 3, 3, 9, 1], Fraction(7, 25))]


@pytest.mark.slow
@pytest.mark.parametrize(("losses", "rate"), FLIPPED)
def test_permute_and_flip_has_the_chances_of_its_definition_and_no_others(losses, rate):
    generator, draws = Generator.seeded(f"flips {losses}"), 4_000
    found = np.bincount(
        [permute_and_flip(np.array(losses, dtype=object), rate, generator) for _ in range(draws)], minlength=len(losses)
    )
    likely = flipped(losses, rate) * draws
    assert likely.sum() == pytest.approx(draws)
    enough = likely >= 5
    assert found[~enough].sum() <= 5
    assert chisquare(found[enough], likely[enough] * found[enough].sum() / likely[enough].sum()).pvalue > 1e-4
    if len(set(losses)) > 1:
        for wrong in (flipped(losses, rate * 2 / 3), flipped(losses, rate * 3 / 2), proportional(losses, rate)):
            kept = wrong * draws >= 5
            scaled = wrong[kept] * found[kept].sum() / wrong[kept].sum()
            assert chisquare(found[kept], scaled).pvalue < 1e-3


@pytest.mark.slow
def test_permute_and_flip_tells_no_more_than_its_price_and_is_never_further_off():
    """All losses from 0 to 3 of three candidates, and all that they can move to.

    Moves by up to one either way cost twice the rate; moves all in one direction, as counts make, cost the rate.
    """
    rate, every = Fraction(3, 4), list(product(range(4), repeat=3))
    chances = {losses: flipped(losses, rate) for losses in product(range(-1, 5), repeat=3)}
    worst = {"either": 0.0, "one": 0.0}
    for losses in every:
        for moved in product((-1, 0, 1), repeat=3):
            ratio = np.abs(np.log(chances[losses] / chances[tuple(np.add(losses, moved))])).max()
            worst["either"] = max(worst["either"], ratio)
            if min(moved) >= 0:
                worst["one"] = max(worst["one"], ratio)
        off = np.array(losses) - min(losses)
        assert chances[losses] @ off <= proportional(losses, rate) @ off + 1e-12
    assert worst["either"] <= 2 * rate + 1e-12 and worst["one"] <= rate + 1e-12
    assert worst["either"] >= 1.9 * float(rate) and worst["one"] >= 0.95 * float(rate)


def test_coins_that_floating_point_leaves_open_are_settled_exactly(monkeypatch):
    losses, rate = np.array([0, 1, 2, 5, 10**40], dtype=object), Fraction(1, 3)
    words = Generator.seeded("filter").words(5 * 300).reshape(300, 5)
    exact = [
        [loss == 0 or Chance(rate * int(loss)).settle(int(word), 64, Generator.seeded("more"))
         for loss, word in zip(losses, row, strict=True)]
        for row in words
    ]  # fmt: skip
    for wide in (selection._FILTER, 2.0):
        monkeypatch.setattr(selection, "_FILTER", wide)
        found = [selection._heads(losses, rate, Scripted(b"", list(row) + [0] * 9)).tolist() for row in words]
        assert found == exact


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
        with pytest.raises(RefusedError):
            permute_and_flip(np.array([0, 1]), rate, generator)
    with pytest.raises(UsageError):
        permute_and_flip(np.array([], dtype=np.int64), Fraction(1), generator)
