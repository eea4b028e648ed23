"""Noise as attacks need it: vectors of floating-point numbers, from a seeded generator."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.noise import DiscreteLaplace, Generator


def laplace(scale: Fraction, size: int, generator: Generator) -> Floats:
    """Discrete Laplace noise of a scale, or a little more."""
    return DiscreteLaplace.at_least(scale).sample(size, generator).astype(np.float64)


def gaussian_like(deviation: float, size: int, generator: Generator) -> Floats:
    """Discrete Laplace noise of this standard deviation, about."""
    return laplace(Fraction(deviation / sqrt(2)).limit_denominator(1000), size, generator)
