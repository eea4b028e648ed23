"""The hash against its authors' numbers, and the choice against one in plain Python."""

import numpy as np
import pytest

from margrave.measure.lottery import grouped, hashes, lowest

pytestmark = pytest.mark.slow

KEY = np.frombuffer(bytes(range(16)), dtype=np.uint64)
PUBLISHED = {0: 0x726FDB47DD0E0E31, 1: 0x74F839C593DC67FD, 8: 0x93F5F5799A932462, 15: 0xA129CA6149BE45E5}
"""SipHash-2-4 of the bytes 0, 1, 2, ... under the key 0, 1, ..., 15, by the length of the text."""


def turned(word, bits):
    return (word << bits | word >> (64 - bits)) & (1 << 64) - 1


def mixed(v, rounds):
    """The rounds of the hash by their definition, in whole numbers without end."""
    mask = (1 << 64) - 1
    for _ in range(rounds):
        v[0] = (v[0] + v[1]) & mask
        v[1] = turned(v[1], 13) ^ v[0]
        v[0] = turned(v[0], 32)
        v[2] = (v[2] + v[3]) & mask
        v[3] = turned(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & mask
        v[3] = turned(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & mask
        v[1] = turned(v[1], 17) ^ v[2]
        v[2] = turned(v[2], 32)


def of_words(key, words):
    start = [int.from_bytes(b"somepseudorandomlygeneratedbytes"[at : at + 8], "big") for at in range(0, 32, 8)]
    v = [int(key[at % 2]) ^ start[at] for at in range(4)]
    for word in words:
        v[3] ^= word
        mixed(v, 2)
        v[0] ^= word
    v[2] ^= 0xFF
    mixed(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def of_text(key, text):
    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) % 256])
    return of_words(key, [int.from_bytes(padded[at : at + 8], "little") for at in range(0, len(padded), 8)])


@pytest.mark.parametrize("size", PUBLISHED)
def test_the_hash_is_the_published_one(size):
    text = np.arange(size, dtype=np.uint8)
    assert hashes(KEY, np.array([0, size]), text)[0] == PUBLISHED[size] == of_text(KEY, bytes(range(size)))


def test_texts_of_every_length_are_hashed_as_defined():
    chance = np.random.default_rng(1)
    sizes = [*range(70), 255, 256, 1000]
    text = chance.integers(0, 256, sum(sizes), dtype=np.uint8)
    ends = np.append(0, np.cumsum(sizes))
    found = hashes(KEY, ends, text)
    for number, size in enumerate(sizes):
        assert found[number] == of_text(KEY, text[ends[number] : ends[number] + size].tobytes())


@pytest.mark.parametrize("most", [1, 3, 40])
def test_the_records_of_lowest_rank_stay(most):
    """Of each unit a multiset of contents: equal records are the same to whoever counts them."""
    chance = np.random.default_rng(most)
    sizes = np.array([0, 1, 3, 7, 31, 32, 33, 90])
    units = chance.permutation(np.repeat(np.arange(len(sizes)), sizes))
    content = chance.integers(0, 6, (len(units), 2)).astype(np.uint64)
    keys = chance.integers(0, 1 << 63, (len(sizes), 2)).astype(np.uint64)
    starts = np.append(0, np.cumsum(sizes))
    kept = lowest(starts, grouped(units, starts), keys, content, most)
    for unit in range(len(sizes)):
        own = [tuple(row) for row in content[units == unit].tolist()]
        stay = sorted(tuple(row) for row in content[(units == unit) & kept].tolist())
        assert stay == sorted(expected(own, keys[unit], most))


def expected(own, key, most):
    def rank(content, number):
        first = of_words(key, [*content, 0])
        return of_words(key, [first, number, 0xFF]) if number else first

    ranked = sorted((rank(content, number), content) for content in set(own) for number in range(own.count(content)))
    return [content for _, content in (ranked[:most] if len(own) > most else ranked)]
