"""The compiled inner loops. Numba takes long to load, so this is imported only where records are about to be fitted."""

from __future__ import annotations

from math import exp, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Codes, Floats, Integers
from margrave.algebra.compiled import compiled, inlined
from margrave.reconstruct.records.kinds import Kinds
from margrave.reconstruct.records.layout import LoopTables
from margrave.reconstruct.records.zeros import Zeros

State = NDArray[np.uint64]
Places = NDArray[np.uint64]
Slopes = NDArray[Any]
"""Derivatives, in single precision unless there are very many records."""

_FACTORS = 16
_LOWEST, _HALF = np.float32(-0.75), np.float32(0.375)
_C0, _C1, _C2, _C3, _C4, _C5, _C6 = (np.float32(exp(-0.375) / factorial(power)) for power in range(7))
"""The series of the exponential about −⅜."""


@compiled
def _uniform(state: State) -> float:
    """The next number in [0, 1) of a splitmix stream."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word = word ^ (word >> np.uint64(31))
    return float(word >> np.uint64(11)) / 9007199254740992.0


@inlined
def _drawn(weight: Slopes, size: int, state: State) -> int:
    """One of so many indices with probability ∝ weight. Beyond them there is room for four that weigh nothing."""
    one = two = three = four = 0.0
    weight[size : size + 4] = 0.0
    for index in range(0, size, 4):
        one += weight[index]
        two += weight[index + 1]
        three += weight[index + 2]
        four += weight[index + 3]
    left = _uniform(state) * (one + two + three + four)
    begin = 0
    while begin + 4 < size:
        fourth = weight[begin] + weight[begin + 1] + (weight[begin + 2] + weight[begin + 3])
        if left < fourth:
            break
        left -= fourth
        begin += 4
    last = begin
    for index in range(begin, size):
        if weight[index] > 0.0:
            left -= weight[index]
            last = index
            if left < 0.0:
                break
    return last


@inlined
def _lowest(score: Slopes, size: int, now: int) -> int:
    """The code of the lowest score, the present one among equals."""
    best = now
    for code in range(size):
        if score[code] < score[best]:
            best = code
    return best


@inlined
def _weigh(
    weight: Slopes, score: Slopes, best: int, having: Slopes, shares: Slopes, first: int, size: int, temperature: float
) -> None:
    """Give every code the weight (how many of the kind have it + w times its share) · exp(−score / temperature).

    A loop without calls, which becomes a few instructions for many codes at once: the exponential is the 32nd power of
    a polynomial on [−¾, 0], right to five digits. Below exp(−24) it is zero.
    """
    least, rate = score[best], score.dtype.type(-1.0 / temperature / 32.0)
    for code in range(size):
        power = (score[code] - least) * rate
        at = power + _HALF
        value = _C0 + at * (_C1 + at * (_C2 + at * (_C3 + at * (_C4 + at * (_C5 + at * _C6)))))
        value *= value
        value *= value
        value *= value
        value *= value
        value *= value
        weight[code] = (having[first + code] + shares[first + code]) * value if power > _LOWEST else 0.0


@inlined
def _tally(kinds: Kinds, row: Codes, kind: int, change: float) -> None:
    """Add a record to those of a kind, or take it away."""
    kinds.members[kind] += change
    for variable in range(len(row)):
        at = kinds.first[variable] + row[variable]
        kinds.having[at, kind] += change
        kinds.habits[kind, at] += change


@inlined
def _weigh_kinds(weight: Floats, sums: Floats, inverse: Floats, row: Codes, kinds: Kinds) -> None:
    """Give every kind its probability for a record, up to a factor. ``sums``, ``inverse``: room for a number each."""
    many = len(row) > _FACTORS
    for kind in range(len(inverse)):
        weight[kind], sums[kind] = kinds.members[kind] + kinds.fresh, 0.0
        inverse[kind] = 1.0 / (kinds.members[kind] + kinds.weight)
    for variable in range(len(row)):
        at = kinds.first[variable] + row[variable]
        for kind in range(len(inverse)):
            weight[kind] *= (kinds.having[at, kind] + kinds.shares[at]) * inverse[kind]
        # A product of very many small factors would be zero; logarithms of all of them would take long.
        if many and variable % _FACTORS == _FACTORS - 1:
            for kind in range(len(inverse)):
                sums[kind] += np.log(weight[kind])
                weight[kind] = 1.0
    if many:
        for kind in range(len(inverse)):
            sums[kind] += np.log(weight[kind])
        top = sums.max()
        for kind in range(len(inverse)):
            weight[kind] = np.exp(sums[kind] - top)


@inlined
def _forbid(score: Slopes, row: Codes, variable: int, size: int, zeros: Zeros) -> None:
    """Give an infinite score to every code with which the record would match an impossible pattern."""
    for index in range(zeros.first[variable], zeros.first[variable + 1]):
        pattern = zeros.pattern[index]
        own = 0
        matched = True
        for slot in range(zeros.slots[pattern], zeros.slots[pattern + 1]):
            if zeros.variable[slot] == variable:
                own = zeros.begin[slot]
            elif not zeros.inside[zeros.begin[slot] + row[zeros.variable[slot]]]:
                matched = False
                break
        if matched:
            for code in range(size):
                if zeros.inside[own + code]:
                    score[code] = np.inf


@inlined
def _find(place: Places, row: Codes, variable: int, layout: LoopTables) -> None:
    """Where the cells of a record begin in the copy of each entry of a variable, into ``place``."""
    start = layout.first[variable]
    for entry in range(start, layout.first[variable + 1]):
        cell = layout.where[entry]
        if layout.mirror[entry] >= 0:
            cell += np.uint64(row[layout.other[entry, 0]]) * layout.width[entry]
        else:
            for slot in range(layout.others[entry]):
                cell += layout.step[layout.other_begin[entry, slot] + row[layout.other[entry, slot]]]
        place[entry - start] = cell


@inlined
def _score(
    score: Slopes, place: Places, row: Codes, variable: int, layout: LoopTables, slope: Slopes, curve: Slopes
) -> float:
    """How much the misfit would grow by each code of a variable, into ``score``. Returns what the record's own code has
    too much, because the record is in the cells already.

    Eight codes at a time, over all tables: sums that stay in registers.
    """
    size, now, start = layout.sizes[variable], int(row[variable]), layout.first[variable]
    even, end = layout.evens[variable], layout.first[variable + 1] - start
    for begin in range(np.uint64(0), np.uint64(size), np.uint64(8)):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = slope.dtype.type(0.0)
        for entry in range(even):
            cell = place[entry] + begin
            s0 += slope[cell]
            s1 += slope[cell + np.uint64(1)]
            s2 += slope[cell + np.uint64(2)]
            s3 += slope[cell + np.uint64(3)]
            s4 += slope[cell + np.uint64(4)]
            s5 += slope[cell + np.uint64(5)]
            s6 += slope[cell + np.uint64(6)]
            s7 += slope[cell + np.uint64(7)]
        score[begin] = s0
        score[begin + np.uint64(1)] = s1
        score[begin + np.uint64(2)] = s2
        score[begin + np.uint64(3)] = s3
        score[begin + np.uint64(4)] = s4
        score[begin + np.uint64(5)] = s5
        score[begin + np.uint64(6)] = s6
        score[begin + np.uint64(7)] = s7
    left_out = _summed(curve, start, even)
    for entry in range(even, end):
        begin, bend, cell = layout.begin[start + entry], curve[start + entry], place[entry]
        own = layout.step[begin + now]
        for code in range(size):
            step = layout.step[begin + code]
            score[code] += slope[cell + step] - (bend if step == own else 0.0)
    return left_out


@inlined
def _summed(curve: Slopes, start: int, count: int) -> float:
    """The sum of so many curves."""
    total = 0.0
    for entry in range(start, start + count):
        total += curve[entry]
    return total


@inlined
def _move(
    row: Codes, variable: int, code: int, slope: Slopes, curve: Slopes, place: Places, layout: LoopTables
) -> None:
    """Give a record another code of a variable: out of the cells of its own, and into those of the other, in every
    copy of each table."""
    now, start = int(row[variable]), layout.first[variable]
    row[variable] = code
    for entry in range(start, layout.first[variable + 1]):
        cell, bend = place[entry - start], curve[entry]
        mirror = layout.mirror[entry]
        if mirror >= 0:
            slope[cell + np.uint64(now)] -= bend
            slope[cell + np.uint64(code)] += bend
            cell = layout.where[mirror] + np.uint64(row[layout.other[entry, 0]])
            slope[cell + np.uint64(now) * layout.width[mirror]] -= bend
            slope[cell + np.uint64(code) * layout.width[mirror]] += bend
            continue
        begin = layout.begin[entry]
        slope[cell + layout.step[begin + now]] -= bend
        slope[cell + layout.step[begin + code]] += bend
        for slot in range(layout.others[entry]):
            copy = layout.copy[entry, slot]
            cell = layout.where[copy] + layout.step[layout.begin[copy] + row[layout.owner[copy]]]
            for further in range(layout.others[copy]):
                if layout.other[copy, further] == variable:
                    begin = layout.other_begin[copy, further]
                else:
                    cell += layout.step[layout.other_begin[copy, further] + row[layout.other[copy, further]]]
            slope[cell + layout.step[begin + now]] -= bend
            slope[cell + layout.step[begin + code]] += bend


@compiled
def sweep(
    codes: Codes,
    kinds: Kinds,
    layout: LoopTables,
    zeros: Zeros,
    slope: Slopes,
    curve: Slopes,
    temperature: float,
    state: State,
) -> tuple[int, float]:
    """Choose every value of every record anew, given all others, and then its kind. Changes all of them in place.

    At temperature 0 the best value is taken, and the kind kept. ``slope``: the derivative of the misfit by each cell of
    each copy of a table; one more record adds ``curve`` of its entry. Returns how many values changed, and by how much
    the misfit did.
    """
    room = layout.sizes.max() + 8
    score, weight = np.empty(room, slope.dtype), np.empty(room, slope.dtype)
    shares = kinds.shares.astype(kinds.habits.dtype)
    many = len(kinds.members)
    kind_weight, sums, inverse = np.empty(many + 4), np.empty(many), np.empty(many)
    place = np.empty((layout.first[1:] - layout.first[:-1]).max(), np.uint64)
    changed, gained = 0, 0.0
    for record in range(len(codes)):
        row, kind = codes[record], kinds.of[record]
        habits = kinds.habits[kind]
        _tally(kinds, row, kind, -1.0)
        for variable in range(len(layout.sizes)):
            size, now = layout.sizes[variable], int(row[variable])
            if size == 1:
                continue
            _find(place, row, variable, layout)
            left_out = _score(score, place, row, variable, layout, slope, curve)
            # The record itself is left out, so that every code is compared from the same state.
            score[now] -= left_out
            _forbid(score, row, variable, size, zeros)
            code = _lowest(score, size, now)
            if temperature > 0.0:
                _weigh(weight, score, code, habits, shares, kinds.first[variable], size, temperature)
                code = _drawn(weight, size, state)
            if code == now:
                continue
            changed += 1
            gained += score[code] - score[now]
            _move(row, variable, code, slope, curve, place, layout)
        if temperature > 0.0:
            _weigh_kinds(kind_weight, sums, inverse, row, kinds)
            kind = _drawn(kind_weight, len(inverse), state)
            kinds.of[record] = kind
        _tally(kinds, row, kind, 1.0)
    return changed, gained


@compiled
def count(codes: Codes, layout: LoopTables, counts: Integers) -> None:
    """Add the records to the counts of all tables, in one copy of each."""
    for table in range(len(layout.entry)):
        entry = layout.entry[table]
        own = layout.owner[entry]
        for record in range(len(codes)):
            row = codes[record]
            cell = layout.where[entry] + layout.step[layout.begin[entry] + row[own]]
            for slot in range(layout.others[entry]):
                cell += layout.step[layout.other_begin[entry, slot] + row[layout.other[entry, slot]]]
            counts[cell] += 1
