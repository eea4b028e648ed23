"""k-anonymity by generalisation: Mondrian (LeFevre, DeWitt and Ramakrishnan 2006), strict and multidimensional.

Records are split along the attribute with the widest range, at its median, as long as both parts keep at least k; what
is left is a class, and each record is published with its class's ranges in place of its values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from margrave.algebra.arrays import Flags, Floats, Integers
from margrave.errors import UsageError


@dataclass(frozen=True, eq=False)
class Anonymised:
    """For each record its class; for each class the lowest and highest code of each attribute, both included."""

    classes: Integers
    low: Integers
    high: Integers

    @property
    def sizes(self) -> Integers:
        """How many records each class has."""
        return np.bincount(self.classes, minlength=len(self.low))

    def holding(self, record: Integers) -> Integers:
        """The classes whose ranges a record lies in; strict splits leave one at most."""
        return np.flatnonzero(((self.low <= record) & (record <= self.high)).all(axis=1))


def mondrian(codes: Integers, k: int) -> Anonymised:
    """The classes of records given as codes of their quasi-identifiers, in their order."""
    if not 1 <= k <= len(codes):
        raise UsageError(f"k ({k}) must be at least 1 and at most the number of records ({len(codes)})")
    spread = np.maximum(1, codes.max(axis=0) - codes.min(axis=0))
    waiting: list[npt.NDArray[np.intp]] = [np.arange(len(codes))]
    classes = np.zeros(len(codes), dtype=np.int64)
    low: list[Integers] = []
    high: list[Integers] = []
    while waiting:
        rows = waiting.pop()
        parts = _split(codes[rows], k, spread)
        if parts is None:
            classes[rows] = len(low)
            low.append(codes[rows].min(axis=0))
            high.append(codes[rows].max(axis=0))
        else:
            waiting += [rows[parts], rows[~parts]]
    return Anonymised(classes, np.array(low), np.array(high))


def _split(part: Integers, k: int, spread: Integers) -> Flags | None:
    """Which records go to the lower half, along the widest attribute that can be cut; None if none can."""
    widths: Floats = (part.max(axis=0) - part.min(axis=0)) / spread
    for axis in np.argsort(-widths, kind="stable"):
        if widths[axis] == 0:
            return None
        values = part[:, axis]
        middle = np.sort(values)[(len(values) - 1) // 2]
        for limit in (middle, middle - 1):
            lower = values <= limit
            if k <= lower.sum() <= len(values) - k:
                return np.asarray(lower)
    return None


def spread_evenly(found: Anonymised, shape: tuple[int, ...], axes: tuple[int, ...]) -> Floats:
    """A table over some attributes from the classes alone: each class is spread evenly over its ranges."""
    total = np.zeros([shape[axis] for axis in axes])
    for size, low, high in zip(found.sizes.tolist(), found.low, found.high, strict=True):
        box = tuple(slice(int(low[axis]), int(high[axis]) + 1) for axis in axes)
        total[box] += size / max(1, total[box].size)
    return total
