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

from margrave.algebra.words import number

_ROW = 44
_LABEL = 42
_STRONGEST = 0.6
"""The strongest shade of a heat map: dark letters stay readable on it."""


@dataclass(frozen=True)
class Bar:
    """One cell of a table: its values and count in words, the published count, its interval, and the estimate."""

    words: Sequence[str]
    value: str
    count: float
    low: float
    high: float
    unbiased: float


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


def fitted(words: Sequence[str], most: int) -> str:
    """Several words as one label; the longest give way first, so that each still says something."""
    joined = " · ".join(words)
    longest = max(map(len, words), default=0)
    while len(joined) > most and longest > 4:
        longest -= 1
        joined = " · ".join(shortened(word, longest) for word in words)
    return joined


def bars(identity: str, title: str, description: str, rows: Sequence[Bar]) -> str:
    """A bar for each cell, with its interval as a line and the unbiased estimate as a dot."""
    least = min(0.0, *(min(row.low, row.unbiased, row.count) for row in rows))
    most = max(1.0, *(max(row.high, row.unbiased, row.count) for row in rows))

    def x(value: float) -> str:
        return f"{0.5 + 99 * (value - least) / (most - least):.2f}%"

    def width(start: float, end: float) -> str:
        return f"{99 * (end - start) / (most - least):.2f}%"

    bottom = _ROW * len(rows)
    body = []
    for index, row in enumerate(rows):
        top, middle = index * _ROW, index * _ROW + 27
        left, right = sorted((0.0, row.count))
        value, _, error = row.value.partition(" ")
        body += [
            f'<text x="0" y="{top + 13}">{escape(fitted(row.words, _LABEL))}</text>',
            f'<text class="end" x="100%" y="{top + 13}"><tspan class="strong">{escape(value)}</tspan>'
            f'<tspan class="muted"> {escape(error)}</tspan></text>',
            f'<line class="axis" x1="{x(0)}" x2="{x(0)}" y1="{middle - 10}" y2="{middle + 10}"/>',
            f'<rect class="bar" x="{x(left)}" y="{middle - 6}" width="{width(left, right)}" height="12" rx="1"/>',
            f'<line class="whisker" x1="{x(row.low)}" x2="{x(row.high)}" y1="{middle}" y2="{middle}"/>',
            *(
                f'<line class="whisker" x1="{x(end)}" x2="{x(end)}" y1="{middle - 4}" y2="{middle + 4}"/>'
                for end in (row.low, row.high)
            ),
            f'<circle class="dot" cx="{x(row.unbiased)}" cy="{middle}" r="3.5"/>',
        ]
    return picture(identity, title, description, bottom + 2, "".join(body))


def heat_map(
    identity: str,
    title: str,
    description: str,
    rows: Sequence[str],
    columns: Sequence[str],
    counts: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
    corner: str,
) -> str:
    """A shade for each cell, and its count where there is room."""
    top, height = (24, 26) if len(columns) <= 8 else (84, 22)
    gutter = min(32.0, 4 + 1.9 * max(len(shortened(label, 15)) for label in (*rows, corner)))
    step = (100 - gutter) / len(columns)
    most = max(1.0, *(max(row) for row in counts))
    body = [f'<text class="muted" x="0" y="{top - 9}">{escape(shortened(corner, 15))}</text>']
    for across, label in enumerate(columns):
        middle = f"{gutter + step * (across + 0.5):.2f}%"
        if len(columns) <= 8:
            text = escape(shortened(label, max(5, 36 // len(columns))))
            body.append(f'<text class="middle" x="{middle}" y="15">{text}</text>')
        else:
            text = escape(shortened(label, 13))
            turned = f'<text transform="rotate(-60)">{text}</text>'
            body.append(f'<svg x="{middle}" y="{top - 6}" overflow="visible">{turned}</svg>')
    for down, (label, values, written) in enumerate(zip(rows, counts, texts, strict=True)):
        y = top + down * height
        body.append(f'<text x="0" y="{y + height / 2 + 4:.0f}">{escape(shortened(label, 15))}</text>')
        for across, value in enumerate(values):
            shade = _STRONGEST * max(value, 0.0) / most
            x = gutter + step * across
            body.append(
                f'<rect class="heat" x="{x:.2f}%" y="{y}" width="{step:.2f}%" height="{height}" '
                f'style="fill-opacity:{shade:.3f}"/>'
            )
            if len(columns) <= 8:
                centre = f"{x + step / 2:.2f}%"
                text = escape(written[across])
                body.append(f'<text class="middle" x="{centre}" y="{y + height / 2 + 4:.0f}">{text}</text>')
    return picture(identity, title, description, top + height * len(rows) + 2, "".join(body))


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
        body.append(f'<text class="muted end" x="{left - 2}%" y="{y + 4:.1f}">{tick:g}</text>')
    body += [
        f'<text class="muted middle" x="{across(tick):.2f}%" y="{base + 18:.0f}">{tick:g}</text>'
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
    body.append(f'<text class="strong {side}" x="{x:.2f}%" y="{y - 12:.1f}">this release</text>')
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
        '<text class="muted" x="0" y="12">published</text>',
        f'<text class="muted end" x="97%" y="{base + 20:.0f}">unbiased</text>',
        f'<line class="grid" x1="12%" x2="97%" y1="{down(least):.1f}" y2="{down(most):.1f}"/>',
        f'<line class="axis" x1="12%" x2="97%" y1="{down(0):.1f}" y2="{down(0):.1f}"/>',
        f'<text class="muted end" x="10%" y="{down(0) + 4:.1f}">0</text>',
        f'<text class="muted end" x="10%" y="{down(most) + 4:.1f}">{number(most)}</text>',
    ]
    for published, unbiased in finite:
        place = f'cx="{across(unbiased):.2f}%" cy="{down(published):.1f}"'
        body.append(f'<circle class="point" {place} r="3"/>')
    return picture(identity, title, description, base + 28, "".join(body))
