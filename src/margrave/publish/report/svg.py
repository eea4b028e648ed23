"""Plots as inline SVG that need nothing but a browser.

Positions across are percentages, positions down are pixels: a plot fills the width it is given, on a phone or on
paper, and its letters keep their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor, isfinite, log10

import numpy as np

from margrave.algebra.words import number
from margrave.messages.catalogue import say, spoken
from margrave.publish.report.values import Intervals


@dataclass(frozen=True)
class Scale:
    """From counts to places across, as percentages; zero is always on it."""

    least: float
    most: float

    @classmethod
    def of(cls, numbers: Intervals) -> Scale:
        """One that holds all numbers and their intervals."""
        ends = np.concatenate([numbers.low.ravel(), numbers.high.ravel(), numbers.value.ravel()])
        return cls(min(0.0, float(ends.min(initial=0.0))), max(1.0, float(ends.max(initial=1.0))))

    def at(self, value: float) -> float:
        return 1 + 98 * (value - self.least) / (self.most - self.least)

    def place(self, value: float) -> str:
        return f"{self.at(value):.2f}%"


def bar(scale: Scale, numbers: Intervals, at: int) -> str:
    """One count as a bar, and its interval as a line: beside the number itself, so it has no words."""
    value, low, high = (float(one[at]) for one in (numbers.value, numbers.low, numbers.high))
    left, right = sorted((scale.at(0.0), scale.at(value)))
    parts = [
        f'<line class="axis" x1="{scale.place(0.0)}" x2="{scale.place(0.0)}" y1="0" y2="22"/>',
        f'<rect class="bar" x="{left:.2f}%" y="5" width="{right - left:.2f}%" height="12" rx="1"/>',
    ]
    if low < high:
        ends = (scale.place(low), scale.place(high))
        parts.append(f'<line class="whisker" x1="{ends[0]}" x2="{ends[1]}" y1="11" y2="11"/>')
        parts += [f'<line class="whisker" x1="{end}" x2="{end}" y1="7" y2="15"/>' for end in ends]
    return f'<svg aria-hidden="true" width="100%" height="22">{"".join(parts)}</svg>'


def _tick(value: float) -> str:
    return spoken().localised(f"{value:g}")


def picture(identity: str, title: str, description: str, height: float, body: str) -> str:
    """An SVG with its alternative text."""
    return (
        f'<svg role="img" aria-labelledby="{identity}-t {identity}-d" width="100%" height="{height:.0f}">'
        f'<title id="{identity}-t">{escape(title)}</title><desc id="{identity}-d">{escape(description)}</desc>'
        f"{body}</svg>"
    )


def shortened(text: str, most: int) -> str:
    """A label that fits; the table behind the plot has it in full."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def curve(
    identity: str,
    title: str,
    description: str,
    points: Sequence[tuple[float, float]],
    chosen: tuple[float, float],
    axes: tuple[str, str],
) -> str:
    """A line through positive points on logarithmic axes, with one point marked."""
    height, base = 250.0, 205.0
    left, right = 14.0, 97.0
    xs, ys = [log10(x) for x, _ in (*points, chosen)], [log10(y) for _, y in (*points, chosen)]
    low_y, high_y = floor(min(ys) * 2) / 2, ceil(max(ys) * 2) / 2

    def across(x: float) -> float:
        return left + (right - left) * (log10(x) - min(xs)) / ((max(xs) - min(xs)) or 1)

    def down(y: float) -> float:
        return base - (base - 28) * (log10(y) - low_y) / ((high_y - low_y) or 1)

    body = [f'<text class="muted" x="0" y="13">{escape(axes[1])}</text>']
    for tick in _ticks(low_y, high_y):
        y = down(tick)
        body.append(f'<line class="grid" x1="{left}%" x2="{right}%" y1="{y:.1f}" y2="{y:.1f}"/>')
        body.append(f'<text class="muted end" x="{left - 2}%" y="{y + 4:.1f}">{_tick(tick)}</text>')
    body += [
        f'<text class="muted middle" x="{across(tick):.2f}%" y="{base + 18:.0f}">{_tick(tick)}</text>'
        for tick in _ticks(min(xs), max(xs))
    ]
    body.append(f'<text class="muted end" x="{right}%" y="{base + 38:.0f}">{escape(axes[0])}</text>')
    for (x1, y1), (x2, y2) in pairwise(points):
        ends = f'x1="{across(x1):.2f}%" x2="{across(x2):.2f}%" y1="{down(y1):.1f}" y2="{down(y2):.1f}"'
        body.append(f'<line class="curve" {ends}/>')
    x, y = across(chosen[0]), down(chosen[1])
    body.append(f'<line class="drop" x1="{x:.2f}%" x2="{x:.2f}%" y1="{y:.1f}" y2="{base}"/>')
    body.append(f'<circle class="dot" cx="{x:.2f}%" cy="{y:.1f}" r="5.5"/>')
    side = "end" if x > 60 else "start"
    body.append(f'<text class="strong {side}" x="{x:.2f}%" y="{y - 12:.1f}">{say("this release")}</text>')
    return picture(identity, title, description, height, "".join(body))


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two logarithms; powers alone where those are many."""
    factors = (1, 2, 5) if high - low < 2.2 else (1,)
    values = [factor * 10.0**power for power in range(floor(low) - 1, ceil(high) + 1) for factor in factors]
    return [value for value in values if low - 1e-9 <= log10(value) <= high + 1e-9]


def scatter(identity: str, title: str, description: str, points: Sequence[tuple[float, float]]) -> str:
    """Published counts against unbiased ones; where they agree, points lie on the line."""
    finite = [point for point in points if all(map(isfinite, point))]
    least = min(0.0, *(min(point) for point in finite))
    most = max(1.0, *(max(point) for point in finite))
    base = 235.0

    def across(value: float) -> float:
        return 12 + 85 * (value - least) / (most - least)

    def down(value: float) -> float:
        return base - (base - 24) * (value - least) / (most - least)

    body = [
        f'<text class="muted" x="0" y="12">{say("published")}</text>',
        f'<text class="muted end" x="97%" y="{base + 20:.0f}">{say("unbiased")}</text>',
        f'<line class="grid" x1="12%" x2="97%" y1="{down(least):.1f}" y2="{down(most):.1f}"/>',
        f'<line class="axis" x1="12%" x2="97%" y1="{down(0):.1f}" y2="{down(0):.1f}"/>',
        f'<text class="muted end" x="10%" y="{down(0) + 4:.1f}">0</text>',
        f'<text class="muted end" x="10%" y="{down(most) + 4:.1f}">{number(most)}</text>',
    ]
    for published, unbiased in finite:
        place = f'cx="{across(unbiased):.2f}%" cy="{down(published):.1f}"'
        body.append(f'<circle class="point" {place} r="3"/>')
    return picture(identity, title, description, base + 28, "".join(body))
