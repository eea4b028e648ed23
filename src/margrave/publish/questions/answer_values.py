"""What noisy whole numbers say: values, standard errors and intervals, from the exact distribution of the noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

from margrave.planning.questions.language.aggregates import Average, Choose, Quantiles, Sum, Variance
from margrave.planning.questions.price.expectation import half_width, step_of, sum_half_width
from margrave.planning.questions.price.mechanisms import AnswerNoise, Noisy, Selected, Tree
from margrave.planning.questions.price.trees import fitted_leaves
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.sharing import counted, counted_parts

_KNOTS = 33
_FINE = 4001


@dataclass(frozen=True)
class AnswerRow:
    """One value of an answer: the keys of its group, and what the noise lets be said of the exact value.

    ``extra``: further numbers that came with it, such as how many rows an average is of.
    """

    keys: Mapping[str, Any]
    value: Any
    std_error: float | None = None
    low: Any = None
    high: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Keys, then numbers; a key with the name of a number, such as ``value``, becomes ``group_value``."""
        told = {"value": self.value, "std_error": self.std_error, "low": self.low, "high": self.high, **self.extra}
        found = {}
        for name, group in self.keys.items():
            while name in told or name in found:
                name = f"group_{name}"
            found[name] = group
        return {**found, **{name: one for name, one in told.items() if one is not None}}

    def said(self) -> str:
        where = ", ".join(f"{name} {value}" for name, value in self.keys.items())
        interval = "" if self.low is None else f"   ({_number(self.low)} to {_number(self.high)})"
        return f"{where + ': ' if where else ''}{_number(self.value)}{interval}"


def _number(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def noisy_rows(
    question: PricedQuestion, mechanism: Noisy, keys: Sequence[Mapping[str, Any]], numbers: Sequence[int]
) -> Iterator[AnswerRow]:
    """Sums with noise: counts and sums as they are, averages and variances from their parts."""
    parts = len(question.sought.parts)
    for at, key in enumerate(keys):
        mine = numbers[at * parts : (at + 1) * parts]
        if isinstance(question.aggregate, Average):
            yield _average(question, mechanism.noise, key, mine)
        elif isinstance(question.aggregate, Variance):
            yield _variance(question, mechanism.noise, key, mine)
        elif isinstance(question.aggregate, Sum):
            yield _sum(question, mechanism.noise, key, mine[0])
        else:
            half = half_width(mechanism.noise)
            low, high = max(0, mine[0] - half), max(0, mine[0] + half)
            yield AnswerRow(key, mine[0], sqrt(mechanism.noise.variance), low, high)


def _sum(question: PricedQuestion, noise: AnswerNoise, key: Mapping[str, Any], number: int) -> AnswerRow:
    step, half = step_of(question.sought.value), half_width(noise)
    value, low, high = (_plain(one * step) for one in (number, number - half, number + half))
    return AnswerRow(key, value, sqrt(noise.variance) * float(step), low, high)


def _plain(value: Any) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def averages_of_variances(
    question: PricedQuestion, noise: AnswerNoise, keys: Sequence[Mapping[str, Any]], numbers: Sequence[int]
) -> Iterator[AnswerRow]:
    """Averages from the parts (Σa², Σ2ab, Σb²) of variances of the same numbers."""
    for at, key in enumerate(keys):
        yield _average(question, noise, key, numbers[3 * at : 3 * at + 3])


def _average(question: PricedQuestion, noise: AnswerNoise, key: Mapping[str, Any], parts: Sequence[int]) -> AnswerRow:
    """(Σ(v − lo), Σ(hi − v)) = (A, B): the mean is at the share A/(A + B) of the range, and A + B is n(hi − lo).

    Of the parts of a variance, W·A is the first and half of the second, W·B the third and half of the second.
    """
    sought, step = question.sought, float(step_of(question.sought.value))
    width, many = sought.high - sought.low, len(parts)
    half = float(parts[1]) / 2 if many == 3 else 0.0
    above, below = float(parts[0]) + half, float(parts[-1]) + half
    total, width = above + below, width if many == 2 else width**2
    share = min(1.0, max(0.0, above / total)) if total > 0 else 0.5
    low, high = _shares(noise, above, below, many)
    spread = sum(weight**2 for weight in _weights(share, many))
    error = sqrt(noise.variance * spread) / total * (sought.high - sought.low) * step if total > 0 else None

    def place(one: float) -> float:
        return (sought.low + one * (sought.high - sought.low)) * step

    extra = {"rows": round(max(0.0, total / width))}
    return AnswerRow(key, place(share), error, place(min(low, share)), place(max(high, share)), extra)


def _weights(share: float, many: int) -> tuple[float, ...]:
    """The weights of the noises in (1 − s)A − sB, of two parts or of three."""
    return (1 - share, share) if many == 2 else (1 - share, 0.5 - share, share)


@lru_cache(maxsize=512)
def _half_widths(noise: AnswerNoise, many: int) -> tuple[float, ...]:
    """The half-width of (1 − s)A − sB for s from 0 to 1/2; between two of them a line lies above, as it is convex."""
    return tuple(sum_half_width(noise, _weights(float(s), many)) for s in np.linspace(0, 0.5, _KNOTS))


def _shares(noise: AnswerNoise, above: float, below: float, many: int) -> tuple[float, float]:
    """All shares s for which (1 − s)A − sB, which is then noise alone, lies within its half-width.

    At the true share that has exactly the stated probability, however large or small the sums are.
    """
    knots = np.asarray(_half_widths(noise, many))
    centre = above / (above + below) if above + below > 0 else 0.5
    reach = min(1.0, 4 * float(knots[0]) / max(above + below, 1e-300))
    spots = np.clip(
        np.concatenate([np.linspace(0, 1, _FINE), np.linspace(centre - reach, centre + reach, _FINE)]), 0, 1
    )
    limits = np.interp(np.minimum(spots, 1 - spots), np.linspace(0, 0.5, _KNOTS), knots)
    inside = spots[np.abs((1 - spots) * above - spots * below) <= limits]
    if not inside.size:
        end = min(1.0, max(0.0, centre))
        return end, end
    # The ends lie between two spots: one spot more on each side includes them.
    order = np.unique(spots)
    first, last = np.searchsorted(order, inside.min()), np.searchsorted(order, inside.max())
    return float(order[max(first - 1, 0)]), float(order[min(last + 1, len(order) - 1)])


def _variance(question: PricedQuestion, noise: AnswerNoise, key: Mapping[str, Any], parts: Sequence[int]) -> AnswerRow:
    """(Σa², Σ2ab, Σb²) with a + b = W: their sum is nW². With their shares x, y of it, the variance is
    W²(x − (x + y/2)²). The interval is that of the linear part; where noise may be half of it, nothing is said.
    """
    sought, step = question.sought, float(step_of(question.sought.value))
    width, numbers = sought.high - sought.low, [float(one) for one in parts]
    total, scale = sum(numbers), (sought.high - sought.low) ** 2 * step**2
    top = scale / 4
    if total <= 2 * sum_half_width(noise, (1.0, 1.0, 1.0)):
        return AnswerRow(key, top / 2, None, 0.0, top, {"rows": round(max(0.0, total / width**2))})
    x, y = numbers[0] / total, numbers[1] / total
    centre = x + y / 2
    slopes = (1 - 2 * centre, -centre, 0.0)
    middle = slopes[0] * x + slopes[1] * y
    weights = tuple(scale * (slope - middle) / total for slope in slopes)
    value = min(top, max(0.0, scale * (x - centre**2)))
    half = sum_half_width(noise, weights) if any(weights) else 0.0
    error = sqrt(noise.variance * sum(weight**2 for weight in weights))
    extra = {"rows": round(total / width**2), "average": (sought.low + min(1.0, max(0.0, centre)) * width) * step}
    return AnswerRow(key, value, error, max(0.0, value - half), min(top, value + half), extra)


def selected_rows(
    question: PricedQuestion, mechanism: Selected, keys: Sequence[Mapping[str, Any]], numbers: Sequence[int]
) -> Iterator[AnswerRow]:
    """Selected candidates. How far off they may be is told in rows: ``off_by``, with 95 % probability.

    Where the ends of intervals were selected too, they follow each candidate: the lower one counts from one before the
    first value, which stands for it, and the upper one ends with one after the last.
    """
    grid, aggregate = question.sought.grid, question.aggregate
    assert grid is not None and isinstance(aggregate, Quantiles | Choose)
    shown, forecast = grid.shown, question.forecast
    shares = aggregate.shares if isinstance(aggregate, Quantiles) else (None,)
    at = 0
    for key in keys:
        for share, told in zip(shares, forecast, strict=True):
            named = key if share is None else {**key, "share": float(share.value)}
            place, extra = numbers[at], {"off_by": told.half_width}
            ends: tuple[Any, Any] = None, None
            if mechanism.ends:
                low, high = max(0, numbers[at + 1] - 1), min(len(shown) - 1, numbers[at + 2])
                ends = shown[min(low, place)], shown[max(high, place)]
            yield AnswerRow(named, shown[place], None, *ends, extra)
            at += 3 if mechanism.ends else 1


def counted_rows(
    source: PricedQuestion, keys: Sequence[Mapping[str, Any]], numbers: Sequence[int]
) -> Iterator[AnswerRow]:
    """Counts that follow from an answer: all parts of an average or a variance together, or the leaves of a tree."""
    told, mechanism = counted("count", source), source.mechanism
    if isinstance(mechanism, Tree):
        leaves = fitted_leaves(np.array(numbers, dtype=object), mechanism.branching, mechanism.levels)
        counts = leaves[: len(keys)].tolist()
    else:
        parts, width = counted_parts(source)
        counts = [sum(numbers[at * parts : (at + 1) * parts]) / width for at in range(len(keys))]
    for key, count in zip(keys, counts, strict=True):
        ends = max(0.0, count - told.half_width), max(0.0, count + told.half_width)
        yield AnswerRow(key, count, told.std_error, *ends)
