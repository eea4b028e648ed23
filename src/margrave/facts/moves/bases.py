"""A Graver basis, from memory, from the cache, or computed by whichever program is there."""

from __future__ import annotations

from time import monotonic

from margrave.algebra.arrays import Integers
from margrave.facts.moves.cache import load_basis, store_basis
from margrave.facts.moves.external import external_basis, program
from margrave.facts.moves.graver import OutOfTime, graver_basis

_SLOW = 1.0
"""Results that took more seconds than this are stored."""
_OWN_COLUMNS = 18
"""Up to so many columns our own algorithm is as fast as starting another program."""
_Key = tuple[tuple[int, ...], bytes]
_memory: dict[_Key, Integers] = {}
_in_vain: dict[_Key, float] = {}
"""Seconds that were not enough."""


def basis_of(matrix: Integers, deadline: float) -> Integers:
    """The Graver basis of a matrix, one of each pair ±g as a row; `OutOfTime` if it is not found by the deadline."""
    key = (matrix.shape, matrix.tobytes())
    if key not in _memory:
        seconds = deadline - monotonic()
        if seconds <= _in_vain.get(key, 0.0):
            raise OutOfTime
        try:
            _memory[key] = _found(matrix, deadline)
        except OutOfTime:
            _in_vain[key] = seconds
            raise
    return _memory[key]


def _found(matrix: Integers, deadline: float) -> Integers:
    large = matrix.shape[1] > _OWN_COLUMNS
    stored = load_basis(matrix) if large else None
    if stored is not None:
        return stored
    begun = monotonic()
    if large and program() is not None:
        try:
            moves = external_basis(matrix, deadline)
        except OutOfTime:
            moves = graver_basis(matrix, deadline)
    else:
        moves = graver_basis(matrix, deadline)
    if monotonic() - begun > _SLOW:
        store_basis(matrix, moves)
    return moves
