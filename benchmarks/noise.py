"""Exact noise, a million draws at a time, beside OpenDP's samplers in the same process.

    python benchmarks/noise.py [draws]

Both sides draw from the operating system's or a cryptographic generator and return integers of exactly the stated
law. OpenDP adds its noise to a vector of zeros, in one call. Each side is warmed up by a hundredth of the draws and
then timed once, one right after the other, so that neither gains from a quieter moment.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version

import opendp.prelude as dp

from machine import header, row
from margrave.noise import DiscreteGaussian, DiscreteLaplace, Generator

SCALES = (0.5, 1.0, 10.0, 1000.0, 1e6, 1e9)


def seconds(work: Callable[[int], object], draws: int) -> float:
    """The processor time of one run, after a short one."""
    work(draws // 100)
    start = time.process_time()
    work(draws)
    return time.process_time() - start


def theirs(kind: str, scale: float) -> Callable[[list[int]], object]:
    """OpenDP's measurement that adds this noise to a vector of integers."""
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "Laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)


def compare(kind: str, scale: float, draws: int, generator: Generator) -> tuple[float, float]:
    """Seconds for Margrave and for OpenDP."""
    exact, measurement, zeros = Fraction(scale), theirs(kind, scale), [0] * draws
    noise = DiscreteLaplace(exact) if kind == "Laplace" else DiscreteGaussian(exact**2)
    return (
        seconds(lambda size: noise.sample(size, generator), draws),
        seconds(lambda size: measurement(zeros[:size]), draws),
    )


def main(draws: int) -> None:
    """Prints a row for each distribution and scale."""
    dp.enable_features("contrib")
    generator = Generator.system()
    print(header(f"noise, {draws:,} draws", "scale", "Margrave", f"OpenDP {version('opendp')}", "ratio"))
    for kind in ("Laplace", "Gaussian"):
        for scale in SCALES:
            ours, other = compare(kind, scale, draws, generator)
            print(row(kind, f"{scale:g}", f"{ours:.4f} s", f"{other:.2f} s", f"{other / ours:.0f}"), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
