"""Exact discrete noise from a cryptographic generator. Knows no data; nothing else in the package draws randomness."""

from margrave.noise.batch import sample_many
from margrave.noise.family import NOISES, Noise, safe_tail
from margrave.noise.gaussian import DiscreteGaussian
from margrave.noise.generator import Generator
from margrave.noise.laplace import DiscreteLaplace
from margrave.noise.truncated import TruncatedLaplace
from margrave.noise.twofold import TwofoldLaplace

__all__ = [
    "NOISES",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Generator",
    "Noise",
    "TruncatedLaplace",
    "TwofoldLaplace",
    "safe_tail",
    "sample_many",
]
