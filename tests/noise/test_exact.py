"""Chances and coins, checked against an exponential of our own in big integers and by exhausting the decisions."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from margrave.noise import Generator
from margrave.noise.exact import FIRST, NEXT, Chance, Coins, exp_bounds
from margrave.noise.laplace import Magnitudes


def taylor(x: Fraction, terms: int) -> tuple[Fraction, Fraction]:
    """Exact bounds on exp(−x), 0 <= x <= 1: two partial sums of an alternating series with falling terms."""
    total = sum((-x) ** j / factorial(j) for j in range(2 * terms))
    return Fraction(total), Fraction(total) + x ** (2 * terms) / factorial(2 * terms)


class Tape:
    """Stands in for a generator: hands out the bytes and words it was given and counts what was taken."""

    def __init__(self, octets: list[int], words: list[int]) -> None:
        self._octets, self._words = list(octets), list(words)

    def octets(self, count: int) -> np.ndarray:
        taken, self._octets = self._octets[:count], self._octets[count:]
        assert len(taken) == count
        return np.array(taken, dtype=np.uint8)

    def words(self, count: int) -> np.ndarray:
        taken, self._words = self._words[:count], self._words[count:]
        assert len(taken) == count
        return np.array(taken, dtype=np.uint64)

    @property
    def spent(self) -> bool:
        return not self._octets and not self._words


@pytest.mark.parametrize(
    "x", [Fraction(1), Fraction(1, 3), Fraction(1, 10**12), Fraction(999, 1000), Fraction(3, 2**45)]
)
@pytest.mark.parametrize("bits", [8, 72, 200, 500])
def test_exp_bounds_enclose_the_series(x: Fraction, bits: int) -> None:
    low, high = exp_bounds(x, bits)
    below, above = taylor(x, 60)
    assert low <= above * 2**bits
    assert high >= below * 2**bits
    assert high - low <= 2


@pytest.mark.parametrize("x", [Fraction(7), Fraction(40, 3), Fraction(100), Fraction(199)])
def test_exp_bounds_of_large_exponents(x: Fraction) -> None:
    low, high = exp_bounds(x, 200)
    below, above = (bound ** int(x + 1) for bound in taylor(x / int(x + 1), 60))
    assert low <= above * 2**200
    assert high >= below * 2**200
    assert high - low <= 2


def test_exp_bounds_at_the_ends() -> None:
    assert exp_bounds(Fraction(0), 64) == (1 << 64, 1 << 64)
    assert exp_bounds(Fraction(1 << 40), 200) == (0, 1)


@pytest.mark.parametrize("multiple, weight", [(1, 0), (1, 1), (2, 1)])
@pytest.mark.parametrize("x", [Fraction(1, 10**9), Fraction(1, 7), Fraction(1)])
def test_digits_are_the_floor(multiple: int, weight: int, x: Fraction) -> None:
    below, above = (multiple * r / (1 + weight * r) for r in taylor(x, 60))
    for bits in (8, 72, 136):
        digits = Chance(x, multiple, weight).digits(bits)
        assert digits == below * 2**bits // 1 == above * 2**bits // 1


def test_digits_agree_at_every_length() -> None:
    chance = Chance(Fraction(3, 7), 2, 1)
    assert all(chance.digits(bits) == chance.digits(300) >> (300 - bits) for bits in range(1, 300, 13))


@pytest.mark.parametrize("chance", [Chance(Fraction(1, 3)), Chance(Fraction(2), 1, 1), Chance(Fraction(1, 99), 2, 1)])
def test_every_first_byte_is_judged_exactly(chance: Chance) -> None:
    """All 256 bytes: heads below ⌊256p⌋, tails above, and only the byte that holds p asks for more."""
    edge, word = divmod(chance.digits(FIRST + NEXT), 1 << NEXT)
    for byte in range(256):
        tape = Tape([], [] if byte != edge else [word - 1])
        heads = Coins([chance]).judge(np.array([[byte]], dtype=np.uint8), tape)  # type: ignore[arg-type]
        assert heads.tolist() == [[byte <= edge]]
        assert tape.spent


@pytest.mark.parametrize("chance", [Chance(Fraction(1, 3)), Chance(Fraction(2), 1, 1), Chance(Fraction(40), 1, 1)])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("offset", [-1, 1])
def test_open_coins_are_settled_at_any_depth(chance: Chance, depth: int, offset: int) -> None:
    """U agrees with p for 8 + 64·(depth − 1) bits, then the next word is one less or one more than p's."""
    digits = chance.digits(FIRST + NEXT * depth)
    words = [digits >> NEXT * (depth - 1 - i) & (1 << NEXT) - 1 for i in range(depth)]
    edge = digits >> NEXT * depth
    if words[-1] + offset < 0:
        pytest.skip("p has no smaller word here")
    words[-1] += offset
    tape = Tape([], words)
    assert chance.settle(edge, FIRST, tape) is (offset < 0)  # type: ignore[arg-type]
    assert tape.spent
    tape = Tape([], words)
    assert Coins([chance]).judge(np.array([[edge]], dtype=np.uint8), tape).item() is (offset < 0)  # type: ignore[arg-type]
    assert tape.spent


def test_certainty_is_always_heads() -> None:
    assert Chance(Fraction(0)).settle(2**32 - 1, 32, Tape([], []))  # type: ignore[arg-type]


def test_coins_fall_with_their_chances() -> None:
    chances = [Chance(Fraction(1, k), 1, 1) for k in range(1, 6)]
    heads = Coins(chances).judge(Generator.seeded(1).octets(5 * 100_000).reshape(5, -1), Generator.seeded(2))
    expected = [chance.digits(53) * 2.0**-53 for chance in chances]
    assert np.all(np.abs(heads.mean(axis=1) - expected) < 4 * 0.5 / np.sqrt(100_000))


def test_single_flips_fall_with_their_chance() -> None:
    generator, chance = Generator.seeded(3), Chance(Fraction(1))
    heads = sum(chance.flip(generator) for _ in range(4000))
    assert abs(heads / 4000 - np.exp(-1)) < 4 * 0.49 / np.sqrt(4000)


@pytest.mark.parametrize("further", [0, 1, 3])
def test_rare_quotients_are_counted_one_by_one(further: int) -> None:
    """Scale 1 has four digits; a quotient of 1 + further, once in e^16 draws, adds 16 each time."""
    digits, nonzero, quotient, minus = [0, 255, 255, 255], 0, 0, 1
    tape = Tape([*digits, nonzero, quotient, minus, *[0] * further, 1], [0] * (1 + further))
    magnitudes, negative = Magnitudes(Fraction(1)).sample(1, tape)  # type: ignore[arg-type]
    assert magnitudes.tolist() == [1 + 1 + 16 * (1 + further)]
    assert negative.tolist() == [True]
    assert tape.spent
