"""The error bars of published tables: where they come from, and how they are simulated when first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from margrave.crossing import Measured
from margrave.noise.generator import Generator
from margrave.reconstruct.bars import Simulated, replicates, simulate
from margrave.reconstruct.published import Published, digest
from margrave.reconstruct.unbiased import Fit

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

Bars = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The standard error and the half-width of the interval, for each cell of a table."""


@dataclass(frozen=True)
class Origin:
    """How simulated error bars came about: the ``seed`` of their random numbers, and the ``form`` of the simulation.

    No seed stands for the one that is made of the noisy answers.
    """

    seed: str | None
    form: int


def is_simulated(published: Published | None) -> bool:
    """Whether error bars are simulated: not where tables are published unbiased, or are too large for that."""
    return published is not None and replicates(published) > 0


def seed_of(measured: Measured, origin: Origin | None) -> str:
    """The seed of simulated error bars, which is published with them.

    It is drawn apart from the noise, of which it must tell nothing. A release whose noise comes from a seed is made to
    be repeated, bars and all: its own follows from the noisy answers.
    """
    if origin is not None and origin.seed is not None:
        return origin.seed
    if measured.private and origin is None:
        return Generator.system().octets(16).tobytes().hex()
    return digest(measured)


def simulated_bars(
    plan: Plan,
    fit: Fit,
    published: Published | None,
    seed: str,
    progress: Callable[[int, int | None], None] | None = None,
) -> Simulated | None:
    """Simulations of the published table, for its error bars; None where none are simulated."""
    if published is None or not is_simulated(published):
        return None
    return simulate(plan, fit, published, seed, progress)
