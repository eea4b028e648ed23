"""The fast samplers, bit for bit against big integers on the same random tape, and their law as exact algebra."""

from fractions import Fraction
from math import ceil, isqrt

import numpy as np
import pytest

from margrave.noise import DiscreteGaussian, DiscreteLaplace, Generator, gaussian
from margrave.noise.gaussian import Acceptance
from margrave.noise.laplace import BLOCK, Magnitudes

SCALES = [Fraction(s) for s in ("0.1", "0.5", "1", "1.7", "10", "123.456", "1e4", "1e6", "1e9")]
SCALES += [Fraction(2**40 - 1, 2**40 - 87), Fraction(10**40 + 1, 3 * 10**38)]
BITS = 512


def exponential(x: Fraction) -> tuple[int, int]:
    """Bounds on 2^BITS · exp(−x) by halving the exponent, an alternating series, and squaring back: integers only."""
    if x > BITS:
        return 0, 1
    halvings = ceil(x).bit_length() + 4
    spare = BITS + 2 * halvings + 64
    y, total, term, j = (x.numerator << spare) // (x.denominator << halvings), 0, 1 << spare, 0
    while term:
        total += -term if j % 2 else term
        j += 1
        term = (term * y >> spare) // j
    for _ in range(halvings):
        total = total * total >> spare
    # The sum errs by at most 2j + 2 units, and each squaring at most doubles that and adds 2.
    slip = (2 * j + 6) << halvings
    return (total - slip) >> (spare - BITS), -(-(total + slip) >> (spare - BITS))


class Reader:
    """Reads the tape as the samplers do, and settles each coin by comparing big integers, one coin at a time."""

    def __init__(self, seed: int) -> None:
        self.tape = Generator.seeded(seed)

    def settle(self, prefix: int, bits: int, bounds: tuple[int, int]) -> bool:
        low, high = bounds
        while True:
            if (prefix + 1) << (BITS - bits) <= low:
                return True
            if prefix << (BITS - bits) >= high:
                return False
            prefix, bits = prefix << 64 | int(self.tape.words(1)[0]), bits + 64
            assert bits <= BITS

    def magnitudes(self, scale: Fraction, count: int) -> tuple[list[int], list[bool]]:
        digits = 0
        while 2**digits < 16 * scale:
            digits += 1
        powers = [exponential(2**i / scale) for i in range(digits + 1)]
        one = 1 << BITS
        odds = [(low * one // (one + low), -(-high * one // (one + high))) for low, high in powers]
        first = exponential(1 / scale)
        rows = [*odds[:digits], (2 * first[0] * one // (one + first[0]), -(-2 * first[1] * one // (one + first[1])))]
        rows.append(powers[digits])
        revealed = self.tape.octets((len(rows) + 1) * count).reshape(len(rows) + 1, count).tolist()
        heads = [
            [self.settle(byte, 8, bounds) for byte in row] for row, bounds in zip(revealed[:-1], rows, strict=True)
        ]
        found = []
        for draw in range(count):
            x = sum(heads[i][draw] << i for i in range(digits))
            if heads[-1][draw]:
                quotient = 1
                while self.settle(int(self.tape.octets(1)[0]), 8, rows[-1]):
                    quotient += 1
                x += quotient << digits
            found.append((x + 1) * heads[-2][draw])
        return found, [byte % 2 == 1 for byte in revealed[-1]]

    def laplace(self, scale: Fraction, size: int) -> list[int]:
        out: list[int] = []
        while len(out) < size:
            found, negative = self.magnitudes(scale, min(BLOCK, size - len(out)))
            out += [-x if minus else x for x, minus in zip(found, negative, strict=True)]
        return out

    def gaussian(self, variance: Fraction, size: int) -> list[int]:
        t = isqrt(int(variance)) + 1
        a, b = variance.numerator, variance.denominator
        out: list[int] = []
        while len(out) < size:
            found, negative = self.magnitudes(Fraction(t), min(BLOCK, (size - len(out)) * 3 // 2 + 16))
            words = self.tape.octets(4 * len(found)).view("<u4").tolist()
            for y, minus, word in zip(found, negative, words, strict=True):
                if self.settle(word, 32, exponential(Fraction((y * t * b - a) ** 2, 2 * a * b * t * t))):
                    out.append(-y if minus else y)
        return out[:size]


@pytest.mark.parametrize("scale", SCALES, ids=lambda s: f"{float(s):g}")
def test_laplace_equals_the_big_integer_reference(scale: Fraction) -> None:
    for seed, size in ((1, 1), (2, 1500)):
        assert DiscreteLaplace(scale).sample(size, Generator.seeded(seed)).tolist() == Reader(seed).laplace(scale, size)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", SCALES, ids=lambda s: f"{float(s):g}")
def test_gaussian_equals_the_big_integer_reference(sigma: Fraction) -> None:
    noise = DiscreteGaussian(sigma**2)
    for seed, size in ((1, 1), (2, 1500)):
        assert noise.sample(size, Generator.seeded(seed)).tolist() == Reader(seed).gaussian(sigma**2, size)


def test_reference_agrees_across_blocks() -> None:
    size = BLOCK + 5
    assert DiscreteLaplace(Fraction(2)).sample(size, Generator.seeded(3)).tolist() == Reader(3).laplace(
        Fraction(2), size
    )


@pytest.mark.slow
@pytest.mark.parametrize("sigma", SCALES, ids=lambda s: f"{float(s):g}")
def test_filter_decides_as_big_integers_do(sigma: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = DiscreteGaussian(sigma**2)
    filtered = noise.sample(1000, Generator.seeded(4))
    monkeypatch.setattr(gaussian, "_SLACK", 2.0)  # nothing is clear to the filter any more
    assert np.array_equal(noise.sample(1000, Generator.seeded(4)), filtered)


@pytest.mark.parametrize("sigma", [*SCALES, Fraction(1, 2**20), Fraction(2**50)], ids=lambda s: f"{float(s):g}")
def test_filter_error_is_below_its_bound(sigma: Fraction) -> None:
    acceptance = Acceptance(sigma**2)
    near = Generator.seeded(5).below(ceil(12 * sigma) + 8, 400)
    far = Generator.seeded(6).below(1 << 62, 20)
    magnitudes = np.unique(np.concatenate([np.arange(8), near, far]))
    for y, value in zip(magnitudes.tolist(), acceptance.approximate(magnitudes).tolist(), strict=True):
        low, high = exponential(acceptance.chance(y).exponent)
        assert abs(Fraction(value) * 2**BITS - low) < 2 ** (BITS - 26)
        assert abs(Fraction(value) * 2**BITS - high) < 2 ** (BITS - 26)


@pytest.mark.parametrize("offset", [-1, 1])
def test_open_acceptances_are_settled_by_more_bits(offset: int) -> None:
    """The 32 revealed bits are those of exp(−γ) itself, and so is the next word but for one unit."""
    acceptance = Acceptance(Fraction(25))
    digits = acceptance.chance(3).digits(96)

    class Tape:
        def octets(self, count: int) -> np.ndarray:
            return np.array([digits >> 64], dtype="<u4").view(np.uint8)

        def words(self, count: int) -> np.ndarray:
            return np.array([digits % 2**64 + offset], dtype=np.uint64)

    assert acceptance.judge(np.array([3]), Tape()).tolist() == [offset < 0]  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", SCALES, ids=lambda s: f"{float(s):g}")
def test_laplace_coins_multiply_to_the_stated_law(scale: Fraction) -> None:
    """P(|z|) from the coins equals (1 − r)/(1 + r)·r^|z|·(2 if z ≠ 0), to 400 bits, z small to huge."""
    coins = [Fraction(chance.digits(600), 2**600) for chance in Magnitudes(scale)._coins.chances]
    *digits, nonzero, quotient = coins
    r = Fraction(exponential(1 / scale)[0], 2**BITS)
    for z in [0, 1, 2, 3, 7, int(scale), int(5 * scale) + 1]:
        high, low = divmod(max(z - 1, 0), 1 << len(digits))
        chance = Fraction(1) - nonzero
        if z:
            chance = nonzero * quotient**high * (1 - quotient)
            for i, p in enumerate(digits):
                chance *= p if low >> i & 1 else 1 - p
        power = Fraction(exponential(z / scale)[0], 2**BITS)
        assert abs(chance - (1 - r) / (1 + r) * power * (2 if z else 1)) < Fraction(1, 2**400)


@pytest.mark.parametrize("sigma", SCALES, ids=lambda s: f"{float(s):g}")
def test_gaussian_exponents_add_up_exactly(sigma: Fraction) -> None:
    """|z|/t + γ(z) − z²/(2σ²) is one constant: proposal times acceptance is the Gaussian, in rational arithmetic."""
    acceptance, t = Acceptance(sigma**2), isqrt(int(sigma**2)) + 1
    constants = {
        Fraction(z, t) + acceptance.chance(z).exponent - Fraction(z * z) / (2 * sigma**2)
        for z in [0, 1, 2, 3, int(sigma), int(9 * sigma), 10**12]
    }
    assert constants == {sigma**2 / (2 * t**2)}
    assert gaussian._whole_scale(sigma**2) == t
