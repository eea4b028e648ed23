"""Draws how time and memory grow, from the tables of docs/benchmarks.md: python docs/images/growth.py"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "benchmarks.md"
WIDTH, HEIGHT = 720, 320
TOP, BOTTOM = 56, 262
PANELS = ((64, 344), (424, 704))
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.muted{fill:#5a5a5a;font-size:12px}.title{font-weight:600}"
    ".grid{stroke:#ddd}.guide{stroke:#8a8a8a;stroke-dasharray:5 4;fill:none}"
    ".line{stroke:#1f5fa8;stroke-width:2;fill:none}"
    ".dot{fill:#1f5fa8}"
)
Point = tuple[float, float]
Sizes = list[tuple[int, float, float]]
"""How many rows or cells there are, seconds of processor time, GiB of memory."""


def table(page: str, script: str) -> list[list[str]]:
    """The rows that a benchmark has printed, cell by cell."""
    found = re.search(rf"<!-- {script} -->(.*?)<!-- end -->", page, re.DOTALL)
    lines = found[1].splitlines() if found else []
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]


def number(cell: str) -> float:
    """The number in a cell, without its unit."""
    return float(cell.split()[0].replace(",", ""))


def by_rows(page: str) -> Sizes:
    """Counting all three-way margins of 15 columns."""
    rows = [row for row in table(page, "counting.py") if row[0] == "Margrave"]
    return [(int(number(row[1])), number(row[2]), number(row[3]) / 1024) for row in rows]


def by_cells(page: str) -> Sizes:
    """Plan, noise and fit of all tables of up to three attributes."""
    rows = table(page, "margins.py")[2:]
    return [(int(number(row[2])), sum(map(number, row[3:6])), number(row[7])) for row in rows]


def short(value: float) -> str:
    """A number on an axis."""
    for unit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


def decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return low, max(high, low + 1)


def scale(low: int, high: int, start: float, end: float) -> Callable[[float], float]:
    """Where a number stands between two powers of ten."""
    return lambda value: start + (end - start) * (log10(value) - low) / (high - low)


def panel(sides: tuple[int, int], title: str, points: Sequence[Point], axis: str, guided: bool) -> str:
    """One plot on logarithmic axes, with a guide of slope 1 through its last point where that is wanted."""
    xs, ys = decades([x for x, _ in points]), decades([y for _, y in points])
    across, down = scale(*xs, *sides), scale(*ys, BOTTOM, TOP)
    parts = [f'<text class="title" x="{sides[0]}" y="{TOP - 16}">{title}</text>']
    for power in range(ys[0], ys[1] + 1):
        y = down(10.0**power)
        parts.append(f'<line class="grid" x1="{sides[0]}" x2="{sides[1]}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="muted" text-anchor="end" x="{sides[0] - 8}" y="{y + 4:.1f}">{10.0**power:g}</text>')
    for power in range(xs[0], xs[1] + 1):
        x = across(10.0**power)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM}"/>')
        parts.append(
            f'<text class="muted" text-anchor="middle" x="{x:.1f}" y="{BOTTOM + 18}">{short(10.0**power)}</text>'
        )
    parts.append(f'<text class="muted" text-anchor="end" x="{sides[1]}" y="{BOTTOM + 38}">{axis}</text>')
    if guided:
        (x1, _), (x2, y2) = points[0], points[-1]
        start = max(x1, x2 * 10.0 ** ys[0] / y2)
        parts.append(
            f'<line class="guide" x1="{across(start):.1f}" y1="{down(y2 * start / x2):.1f}" '
            f'x2="{across(x2):.1f}" y2="{down(y2):.1f}"/>'
        )
    line = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in points)
    parts.append(f'<polyline class="line" points="{line}"/>')
    parts += [f'<circle class="dot" cx="{across(x):.1f}" cy="{down(y):.1f}" r="4"/>' for x, y in points]
    return "".join(parts)


def draw(name: str, what: str, sizes: Sizes) -> str:
    times = [(size, seconds) for size, seconds, _ in sizes]
    memory = [(size, gib) for size, _, gib in sizes]
    said = "; ".join(f"{size:,} {name}: {seconds:.2f} s, {gib:.2f} GiB" for size, seconds, gib in sizes)
    body = panel(PANELS[0], "processor time, seconds", times, name, guided=True)
    body += panel(PANELS[1], "peak memory, GiB", memory, name, guided=name == "cells")
    legend = f'<text class="muted" x="{PANELS[0][0]}" y="{HEIGHT - 8}">dashed: growth in proportion (slope 1)</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img"><title>{what}</title><desc>{said}</desc><style>{STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{body}{legend}</svg>\n'
    )


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    for name, what, sizes in (
        ("rows", "Counting against rows", by_rows(text)),
        ("cells", "Plan, noise and fit against cells", by_cells(text)),
    ):
        (HERE / f"growth-{name}.svg").write_text(draw(name, what, sizes), encoding="utf-8")
