"""Repeatable normal numbers for estimates: never noise that protects anything."""

from __future__ import annotations

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.noise.generator import Generator


class Normals:
    """Standard normal numbers from a seeded generator."""

    def __init__(self, seed: str) -> None:
        self._generator = Generator.seeded(seed)

    def __call__(self, count: int) -> Floats:
        from scipy.special import ndtri

        words = self._generator.words(count) >> np.uint64(11)
        return np.asarray(ndtri((words.astype(np.float64) + 0.5) / 2.0**53))
