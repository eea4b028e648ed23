"""Kinds of records: what is known of a record before the noisy tables are looked at.

Every record is of one of a few kinds, and its values are independent of each other given its kind. How often a value is
found with a kind is learned from the records that are of it: a value with share q in the noisy one-way table has

    (how many others of the kind have it + w q) / (how many others are of the kind + w)

as its probability, and a kind is the more probable the more others are of it. This is a Dirichlet mixture of products.
While kinds are small, their values are about as frequent as q says and attributes independent; a dependency that many
records share becomes a kind of its own, and is then no longer held back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Codes, Floats, Integers
from margrave.planning.limits import RECORD_KINDS

if TYPE_CHECKING:
    from margrave.noise import Generator

_WEIGHT, _LEAST = 0.01, 10.0
"""The noisy shares weigh as much in each kind as this part of all records would, and at least as so many records."""
_SPREAD = 1.0
"""How much all kinds together weigh beside the records that are of them: little, so that few kinds are needed."""

_FAR_MORE = 1e13
"""So many that records do not count beside it."""
_WHOLE = 1 << 24
"""Up to so many records single precision counts them exactly."""


class Kinds(NamedTuple):
    """Of which kind each record is, and how many of each kind have each value.

    The codes of variable v have the rows from ``first[v]`` on of ``having``, which has a column for each kind, and of
    ``shares``, which are w q. ``habits`` is ``having`` once more, a row for each kind: both are read along their rows.
    ``members``: how many are of each kind. ``weight``: w. ``fresh``: how much a kind weighs that no record is of.
    """

    of: Integers
    first: Integers
    having: Floats
    habits: NDArray[Any]
    members: Floats
    shares: Floats
    weight: float
    fresh: float


def first_kinds(codes: Codes, shares: Sequence[Floats], generator: Generator) -> Kinds:
    """Records of kinds drawn at random."""
    of = generator.below(RECORD_KINDS, len(codes)).astype(np.int64)
    first = np.concatenate([[0], np.cumsum([len(share) for share in shares])]).astype(np.int64)
    having = np.zeros((first[-1], RECORD_KINDS))
    for variable, begin in enumerate(first[:-1]):
        np.add.at(having, (begin + codes[:, variable].astype(np.int64), of), 1.0)
    weight = max(len(codes) * _WEIGHT, _LEAST)
    return Kinds(
        of=of,
        first=first,
        having=having,
        habits=np.ascontiguousarray(having.T, dtype=np.float32 if len(codes) <= _WHOLE else np.float64),
        members=np.bincount(of, minlength=RECORD_KINDS).astype(float),
        shares=weight * np.concatenate([*shares, np.zeros(0)]),
        weight=weight,
        fresh=_SPREAD / RECORD_KINDS,
    )


def no_kinds(codes: Codes, sizes: Sequence[int]) -> Kinds:
    """All records of one kind, in which every value is as probable as any other, whatever the records are: all that is
    known of them is known otherwise.
    """
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Kinds(
        of=np.zeros(len(codes), dtype=np.int64),
        first=first,
        having=np.zeros((first[-1], 1)),
        habits=np.zeros((1, first[-1]), dtype=np.float32 if len(codes) <= _WHOLE else np.float64),
        members=np.zeros(1),
        shares=np.full(first[-1], _FAR_MORE),
        weight=_FAR_MORE,
        fresh=_FAR_MORE,
    )


def copied(kinds: Kinds) -> Kinds:
    """The same, to change on its own."""
    own = {name: getattr(kinds, name).copy() for name in ("of", "having", "habits", "members")}
    return kinds._replace(**own)
