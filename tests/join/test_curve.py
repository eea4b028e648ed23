"""The curve: every trap of its encodings, and that many cores multiply as one does."""

import io

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from margrave.errors import RefusedError
from margrave.join import curve
from margrave.join.worker import LENGTH, serve
from margrave.noise import Generator

KEY = b"k" * 32
PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
IDS = [b"%09d" % number for number in range(300)]
SMALL = [0, 1, PRIME - 1, 325606250916557431795983626356110631294008115727848805560023387167927233504]
"""Points of small order: zero and one, those of order four, one of order eight."""


def encoded(*numbers):
    return np.frombuffer(b"".join(number.to_bytes(32, "little") for number in numbers), np.uint8).reshape(-1, 32)


def is_on_curve(u):
    return pow(u * (u * (u + 486662) + 1) % PRIME, (PRIME - 1) // 2, PRIME) == 1


def test_ids_are_hashed_to_points_of_the_curve_and_never_of_its_twist():
    points = curve.hash_onto(IDS, KEY)
    numbers = [int.from_bytes(row.tobytes(), "little") for row in points]
    assert all(u < PRIME and is_on_curve(u) for u in numbers)
    curve.check_points(points, "it")
    assert len(set(numbers)) == len(IDS)
    assert (points == curve.hash_onto(IDS, KEY)).all()
    assert (points != curve.hash_onto(IDS, b"l" * 32)).any(axis=1).all()


def test_hashes_and_masked_points_use_the_whole_range():
    bits = np.unpackbits(curve.hash_onto([b"%d" % number for number in range(4000)], KEY), axis=1, bitorder="little")
    assert abs(bits[:, :255].mean(axis=0) - 0.5).max() < 0.045
    assert not bits[:, 255].any()


def test_masks_commute():
    points = curve.hash_onto(IDS, KEY)
    once, other = (X25519PrivateKey.generate().private_bytes_raw() for _ in range(2))
    both = [curve.multiply(b, curve.multiply(a, points, "it"), "it") for a, b in ((once, other), (other, once))]
    assert (both[0] == both[1]).all()


def test_the_base_point_masked_by_the_other_is_what_dummies_are_made_of():
    mask, scalars = bytes(range(32)), Generator.seeded(1).octets(32 * 20).tobytes()
    public = curve.multiples(mask).tobytes()
    assert (curve.multiply(mask, curve.multiples(scalars), "it") == curve.multiples(scalars, public)).all()


def test_padding_lies_in_the_large_subgroup_where_bare_hashes_do_not():
    """Seven in eight bare hashes lie outside of the subgroup that all masked points lie in, as anybody could test."""
    padding = curve.multiples(Generator.seeded(2).octets(32 * 40).tobytes())
    assert all(_order_divides(row, ORDER) for row in padding)
    hashes = curve.hash_onto(IDS[:80], KEY)
    outside = sum(not _order_divides(row, ORDER) for row in hashes)
    assert outside > 55
    masked = curve.multiply(b"m" * 32, hashes, "it")
    assert all(_order_divides(row, ORDER) for row in masked[:20])


def _order_divides(row, scalar):
    """Whether scalar · P = 0, by a plain Montgomery ladder."""
    u = int.from_bytes(row.tobytes(), "little")
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in bin(scalar)[2:]:
        if bit == "1":
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        x3, z3 = (d * a + c * b) ** 2 % PRIME, u * (d * a - c * b) ** 2 % PRIME
        aa, bb = a * a % PRIME, b * b % PRIME
        x2, z2 = aa * bb % PRIME, (aa - bb) * (aa + 121665 * (aa - bb)) % PRIME
        if bit == "1":
            x2, z2, x3, z3 = x3, z3, x2, z2
    return z2 == 0


@pytest.mark.parametrize("number", [PRIME, PRIME + 9, 2**255 - 1, 9 + (1 << 255)])
def test_an_encoding_that_is_not_canonical_is_refused(number):
    """The library ignores the highest bit and reduces: so 9, and 9 with the bit set, are one point."""
    with pytest.raises(RefusedError, match="not canonical"):
        curve.check_points(encoded(9, number), "it")


def test_a_point_of_the_twist_is_refused():
    twist = next(u for u in range(2, 100) if not is_on_curve(u))
    with pytest.raises(RefusedError, match="no point of the curve"):
        curve.check_points(encoded(9, twist), "it")


@pytest.mark.parametrize("number", SMALL)
def test_a_point_of_small_order_is_refused(number):
    with pytest.raises(RefusedError, match=r"small order|no point of the curve"):
        curve.check_points(encoded(number), "it")
        curve.multiply(b"m" * 32, encoded(9, number), "it")
    with pytest.raises(RefusedError, match="small order"):
        curve.multiples(b"m" * 32, encoded(number).tobytes())


def test_random_bytes_would_be_found_out():
    """Half of them lie on the twist: so padding is made of points."""
    raw = Generator.seeded(3).octets(32 * 40).reshape(-1, 32).copy()
    raw[:, 31] &= 127
    with pytest.raises(RefusedError, match="no point of the curve"):
        curve.check_points(raw, "it")


def test_many_cores_multiply_as_one_does(monkeypatch):
    points = curve.hash_onto(IDS, KEY)
    alone = curve.multiply(b"m" * 32, points, "it")
    monkeypatch.setattr(curve, "_FEW", 10)
    monkeypatch.setattr(curve, "_TOGETHER", 64)
    monkeypatch.setattr(curve.os, "cpu_count", lambda: 2)
    assert (curve.multiply(b"m" * 32, points, "it") == alone).all()
    with pytest.raises(RefusedError, match="small order"):
        curve.multiply(b"m" * 32, np.concatenate([points, encoded(0)]), "it")


def test_a_worker_answers_every_request_until_there_is_none():
    points, target = curve.hash_onto(IDS[:3], KEY), io.BytesIO()
    request = b"m" * 32 + points.tobytes()
    serve(io.BytesIO(2 * (len(request).to_bytes(LENGTH, "big") + request)), target)
    assert target.getvalue() == 2 * curve.multiply(b"m" * 32, points, "it").tobytes()
