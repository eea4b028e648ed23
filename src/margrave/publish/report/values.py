"""What is drawn: numbers with their intervals along axes that have names, and numbers as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Margin
from margrave.errors import UsageError
from margrave.messages.catalogue import say, spoken
from margrave.spec.codebook import Codebook

_LEAST = 0.5
"""Smaller numbers are written as 0."""


@dataclass(frozen=True)
class Titled:
    """An attribute in words: its title, and the label of each value in the declared order."""

    name: str
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))

    def __len__(self) -> int:
        return len(self.labels)


def axes_of(codebook: Codebook, margin: Margin) -> tuple[Titled, ...]:
    """The attributes of a table in words."""
    entries = [codebook[name] for name in margin]
    return tuple(Titled(one.title or one.name, tuple(map(one.label, one.attribute.values))) for one in entries)


def table_title(codebook: Codebook, margin: Margin) -> str:
    """What a table is called: the titles of its attributes."""
    return " × ".join(axis.name for axis in axes_of(codebook, margin)) or say("Total")


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals and the ends of their intervals, three arrays of one shape; where both ends meet, a number is exact."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if not self.value.shape == self.low.shape == self.high.shape:
            raise UsageError("numbers and the ends of their intervals must have one shape")

    @property
    def exact(self) -> NDArray[np.bool_]:
        return np.asarray(self.low == self.high)

    @property
    def width(self) -> NDArray[np.float64]:
        """Half of each interval, to its farther end."""
        return np.maximum(self.value - self.low, self.high - self.value)

    @property
    def reaches_zero(self) -> NDArray[np.bool_]:
        """Where an interval includes zero: nobody can tell whether there is any record at all."""
        return np.asarray(~self.exact & (self.low <= 0))

    def part(self, index: Any) -> Intervals:
        return Intervals(self.value[index], self.low[index], self.high[index])

    def shaped(self, shape: Sequence[int]) -> Intervals:
        return Intervals(*(one.reshape(shape) for one in (self.value, self.low, self.high)))

    def ordered(self, axes: Sequence[int]) -> Intervals:
        """The same with its axes in another order."""
        return Intervals(*(one.transpose(axes) for one in (self.value, self.low, self.high)))


def written(value: float, width: float = 1.0) -> str:
    """A count as people write it: with thousands apart, and a decimal only where its error lets one stand."""
    text = f"{float(f'{value:.12g}'):,.{0 if width >= 1 or value == round(value) else 1}f}"
    return spoken().localised(signed(text))


def signed(text: str) -> str:
    """With a minus sign in place of a hyphen, and none before zero."""
    bare = text.removeprefix("-")
    return bare if bare == text or not bare.strip("0,.%") else f"−{bare}"


def percentage(share: float, width: float = 1.0) -> str:
    """A share as people write it."""
    return spoken().localised(signed(f"{round(100 * share, 6):.{0 if width >= 0.01 else 1}f}%"))


def span(low: float, high: float, width: float, write: Any = written) -> str:
    """An interval in words. A count whose interval leaves 0 out is no smaller than 1, and is not said to reach 0."""
    if write is written and 0 < low < _LEAST <= high and width >= 1:
        low = 1.0
    return say("%(low)s to %(high)s", low=write(low, width), high=write(high, width))
