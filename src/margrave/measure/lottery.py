"""Which records of a unit stay, by a keyed hash: SipHash-2-4, a pseudorandom function made for short inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from margrave.algebra.compiled import compiled

Words = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]

_MANY = 32
_ZERO, _FINISH = np.uint64(0), np.uint64(0xFF)
_STARTS = tuple(
    np.uint64(word) for word in (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
)


@compiled
def _turned(word: Any, bits: int) -> Any:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@compiled
def _rounds(a: Any, b: Any, c: Any, d: Any, times: int) -> Any:
    for _ in range(times):
        a, c = a + b, c + d
        b, d = _turned(b, 13) ^ a, _turned(d, 16) ^ c
        a, c = _turned(a, 32) + d, c + b
        d, b = _turned(d, 21) ^ a, _turned(b, 17) ^ c
        c = _turned(c, 32)
    return a, b, c, d


@compiled
def _hashed(key: Words, words: Words, last: Any) -> Any:
    """The hash of whole words and of a last one, whose highest byte says how long the text is."""
    a, b = key[0] ^ _STARTS[0], key[1] ^ _STARTS[1]
    c, d = key[0] ^ _STARTS[2], key[1] ^ _STARTS[3]
    for word in words:
        a, b, c, d = _rounds(a, b, c, d ^ word, 2)
        a ^= word
    a, b, c, d = _rounds(a, b, c, d ^ last, 2)
    a, b, c, d = _rounds(a ^ last, b, c ^ _FINISH, d, 4)
    return a ^ b ^ c ^ d


@compiled
def hashes(key: Words, ends: Positions, text: npt.NDArray[np.uint8]) -> Words:
    """The hash of each text; a text ends where the next one begins."""
    found = np.empty(len(ends) - 1, np.uint64)
    words = np.empty(8, np.uint64)
    for number in range(len(found)):
        first, size = ends[number], ends[number + 1] - ends[number]
        if size >= 8 * len(words):
            words = np.empty(size // 8 + 1, np.uint64)
        last = np.uint64(size & 0xFF) << np.uint64(56)
        words[: size // 8] = _ZERO
        for place in range(size):
            byte = np.uint64(text[first + place]) << np.uint64(8 * (place % 8))
            if place // 8 < size // 8:
                words[place // 8] |= byte
            else:
                last |= byte
        found[number] = _hashed(key, words[: size // 8], last)
    return found


@compiled
def _sorted(ranks: Words, own: Positions) -> Any:
    """The ranks in order, and the records with them."""
    if len(ranks) > _MANY:
        order = np.argsort(ranks)
        return ranks[order], own[order]
    for place in range(1, len(ranks)):
        rank, record = ranks[place], own[place]
        while place and ranks[place - 1] > rank:
            ranks[place], own[place] = ranks[place - 1], own[place - 1]
            place -= 1
        ranks[place], own[place] = rank, record
    return ranks, own


@compiled
def _told_apart(ranks: Words, key: Words) -> bool:
    """Equal records, next to each other, get ranks of their own by their number. Whether there were any."""
    two = np.empty(2, np.uint64)
    alike, number, any_alike = ranks[0], 0, False
    for place in range(1, len(ranks)):
        if ranks[place] != alike:
            alike, number = ranks[place], 0
            continue
        number, any_alike = number + 1, True
        two[0], two[1] = alike, np.uint64(number)
        ranks[place] = _hashed(key, two, _FINISH)
    return any_alike


@compiled
def lowest(starts: Positions, order: Positions, keys: Words, content: Words, most: int) -> npt.NDArray[np.bool_]:
    """The records that stay: all of a unit with few, else those of the lowest ranks.

    Unit u owns the records ``order[starts[u]:starts[u + 1]]``, which are put in another order, and has a key of its
    own. The rank of a record is the hash of its content; where the unit has more that are equal, those after the first
    have the hash of that and of their number.
    """
    kept = np.zeros(len(order), np.bool_)
    room = np.empty(_MANY, np.uint64)
    for unit in range(len(starts) - 1):
        own = order[starts[unit] : starts[unit + 1]]
        if len(own) <= most:
            kept[own] = True
            continue
        ranks = room[: len(own)] if len(own) <= _MANY else np.empty(len(own), np.uint64)
        for place in range(len(own)):
            ranks[place] = _hashed(keys[unit], content[own[place]], _ZERO)
        ranks, own = _sorted(ranks, own)
        if _told_apart(ranks, keys[unit]):
            ranks, own = _sorted(ranks, own)
        kept[own[:most]] = True
    return kept


@compiled
def grouped(units: Positions, starts: Positions) -> Positions:
    """The records in the order of their units."""
    free = starts.copy()
    order = np.empty(len(units), np.int64)
    for record in range(len(units)):
        order[free[units[record]]] = record
        free[units[record]] += 1
    return order
