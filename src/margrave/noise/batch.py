"""Noise for many measurements at once: draws of the same distribution are made together, which is much faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from margrave.algebra.arrays import Integers
from margrave.noise.family import Noise
from margrave.noise.generator import Generator

_TOGETHER = 1 << 20
"""Draws made at a time: many enough to be fast, few enough to be small beside the results."""


def sample_many(requests: Sequence[tuple[Noise, int]], generator: Generator) -> Iterator[tuple[int, Integers]]:
    """For each (noise, size) its number and so many independent draws; equal noises come one after the other."""
    groups: dict[Noise, list[int]] = {}
    for number, (noise, _) in enumerate(requests):
        groups.setdefault(noise, []).append(number)
    for noise, numbers in groups.items():
        for batch in _batches(numbers, requests):
            drawn = noise.sample(sum(requests[number][1] for number in batch), generator)
            start = 0
            for number in batch:
                size = requests[number][1]
                yield number, drawn[start : start + size]
                start += size


def _batches(numbers: list[int], requests: Sequence[tuple[Noise, int]]) -> Iterator[list[int]]:
    batch: list[int] = []
    total = 0
    for number in numbers:
        batch.append(number)
        total += requests[number][1]
        if total >= _TOGETHER:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
