"""The compiled inner loops. Numba takes long to load, so this is imported only where records are about to be fitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Codes, Floats
from margrave.algebra.compiled import compiled
from margrave.reconstruct.records.kinds import Kinds
from margrave.reconstruct.records.layout import LoopTables
from margrave.reconstruct.records.zeros import Zeros

State = NDArray[np.uint64]
Places = NDArray[np.uint64]

_FACTORS = 16


@compiled
def _uniform(state: State) -> float:
    """The next number in [0, 1) of a splitmix stream."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word = word ^ (word >> np.uint64(31))
    return float(word >> np.uint64(11)) / 9007199254740992.0


@compiled
def _drawn(weight: Floats, state: State) -> int:
    """An index with probability ∝ weight."""
    left = _uniform(state) * weight.sum()
    last = 0
    for index in range(len(weight)):
        if weight[index] > 0.0:
            left -= weight[index]
            last = index
            if left < 0.0:
                break
    return last


@compiled
def _lowest(score: Floats, size: int, now: int) -> int:
    """The code of the lowest score, the present one among equals."""
    best = now
    for code in range(size):
        if score[code] < score[best]:
            best = code
    return best


@compiled
def _weigh(weight: Floats, score: Floats, best: int, having: Floats, shares: Floats, temperature: float) -> None:
    """Give every code the weight (how many of the kind have it + w times its share) · exp(−score / temperature)."""
    for code in range(len(shares)):
        weight[code] = (having[code] + shares[code]) * np.exp((score[best] - score[code]) / temperature)


@compiled
def _tally(kinds: Kinds, row: Codes, kind: int, change: float) -> None:
    """Add a record to those of a kind, or take it away."""
    kinds.members[kind] += change
    for variable in range(len(row)):
        kinds.having[kinds.first[variable] + row[variable], kind] += change


@compiled
def _weigh_kinds(weight: Floats, sums: Floats, row: Codes, kinds: Kinds) -> None:
    """Give every kind its probability for a record, up to a factor. ``sums`` is room for a number for each kind."""
    for kind in range(len(weight)):
        weight[kind], sums[kind] = kinds.members[kind] + kinds.fresh, 0.0
    for variable in range(len(row)):
        at = kinds.first[variable] + row[variable]
        for kind in range(len(weight)):
            weight[kind] *= (kinds.having[at, kind] + kinds.shares[at]) / (kinds.members[kind] + kinds.weight)
        # A product of very many small factors would be zero; logarithms of all of them would take long.
        if variable % _FACTORS == _FACTORS - 1:
            sums += np.log(weight)
            weight[:] = 1.0
    sums += np.log(weight)
    weight[:] = np.exp(sums - sums.max())


@compiled
def _forbid(score: Floats, row: Codes, variable: int, size: int, zeros: Zeros) -> None:
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


@compiled
def _score(
    score: Floats, place: Places, row: Codes, variable: int, layout: LoopTables, slope: Floats, curve: Floats
) -> float:
    """How much the misfit would grow by each code of a variable, into ``score``, and where its cells begin, into
    ``place``. Returns what the record's own code has too much, because the record is in the cells already."""
    size, now, start = layout.sizes[variable], int(row[variable]), layout.first[variable]
    score[:size] = 0.0
    left_out = 0.0
    for entry in range(start, layout.first[variable + 1]):
        cell = layout.where[entry]
        for slot in range(layout.others[entry]):
            cell += layout.step[layout.other_begin[entry, slot] + row[layout.other[entry, slot]]]
        place[entry - start] = cell
        stride = layout.stride[entry]
        if stride:
            left_out += curve[entry]
            for code in range(size):
                score[code] += slope[cell]
                cell += stride
        else:
            begin = layout.begin[entry]
            own = layout.step[begin + now]
            for code in range(size):
                step = layout.step[begin + code]
                score[code] += slope[cell + step] - (curve[entry] if step == own else 0.0)
    return left_out


@compiled
def _move(
    row: Codes, variable: int, code: int, slope: Floats, curve: Floats, place: Places, layout: LoopTables
) -> None:
    """Give a record another code of a variable: out of the cells of its own, and into those of the other."""
    now, start = int(row[variable]), layout.first[variable]
    row[variable] = code
    for entry in range(start, layout.first[variable + 1]):
        begin, cell = layout.begin[entry], place[entry - start]
        slope[cell + layout.step[begin + now]] -= curve[entry]
        slope[cell + layout.step[begin + code]] += curve[entry]


@compiled
def sweep(
    codes: Codes,
    kinds: Kinds,
    layout: LoopTables,
    zeros: Zeros,
    slope: Floats,
    curve: Floats,
    temperature: float,
    state: State,
) -> tuple[int, float]:
    """Choose every value of every record anew, given all others, and then its kind. Changes all of them in place.

    At temperature 0 the best value is taken, and the kind kept. ``slope``: the derivative of the misfit by each cell;
    one more record adds ``curve`` of its entry. Returns how many values changed, and by how much the misfit did.
    """
    score, weight = np.empty(layout.sizes.max()), np.empty(layout.sizes.max())
    kind_weight, sums = np.empty(len(kinds.members)), np.empty(len(kinds.members))
    place = np.empty((layout.first[1:] - layout.first[:-1]).max(), np.uint64)
    changed, gained = 0, 0.0
    for record in range(len(codes)):
        row = codes[record]
        _tally(kinds, row, kinds.of[record], -1.0)
        for variable in range(len(layout.sizes)):
            size, now = layout.sizes[variable], int(row[variable])
            if size == 1:
                continue
            left_out = _score(score, place, row, variable, layout, slope, curve)
            # The record itself is left out, so that every code is compared from the same state.
            score[now] -= left_out
            _forbid(score, row, variable, size, zeros)
            code = _lowest(score, size, now)
            if temperature > 0.0:
                rows = slice(kinds.first[variable], kinds.first[variable + 1])
                _weigh(weight, score, code, kinds.having[rows, kinds.of[record]], kinds.shares[rows], temperature)
                code = _drawn(weight[:size], state)
            if code == now:
                continue
            changed += 1
            gained += score[code] - score[now]
            _move(row, variable, code, slope, curve, place, layout)
        if temperature > 0.0:
            _weigh_kinds(kind_weight, sums, row, kinds)
            kinds.of[record] = _drawn(kind_weight, state)
        _tally(kinds, row, kinds.of[record], 1.0)
    return changed, gained


@compiled
def count(codes: Codes, layout: LoopTables, counts: NDArray[np.int64]) -> None:
    """Add the records to the counts of all tables."""
    for table in range(len(layout.entry)):
        entry = layout.entry[table]
        own = layout.owner[entry]
        for record in range(len(codes)):
            row = codes[record]
            cell = layout.where[entry] + layout.step[layout.begin[entry] + row[own]]
            for slot in range(layout.others[entry]):
                cell += layout.step[layout.other_begin[entry, slot] + row[layout.other[entry, slot]]]
            counts[cell] += 1
