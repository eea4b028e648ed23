"""Answers as tables with bars, and the error of a question against what it costs as a curve to pick from."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import log10
from typing import Any

import numpy as np
from markupsafe import Markup

from margrave.errors import MargraveError
from margrave.ledger.statements.allowance import Allowance
from margrave.planning.questions.price.expectation import Expectation
from margrave.planning.questions.question import PricedQuestion
from margrave.publish.questions.answer_values import AnswerRow
from margrave.publish.report.svg import Scale, bar
from margrave.publish.report.values import Intervals
from margrave.session.builders import budget_of

AMOUNTS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5")
MOST_DRAWN = 400
"""Rows of an answer that a page draws."""
_HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 220, 12.0, 96.0, 16, 184


@dataclass(frozen=True)
class AnswerLine:
    """One value of an answer, as texts, with its bar."""

    keys: tuple[str, ...]
    value: str
    interval: str
    error: str
    bar: Markup
    extra: tuple[str, ...] = ()


def number(value: Any) -> str:
    """A number as people write it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def answer_lines(rows: tuple[AnswerRow, ...]) -> list[AnswerLine]:
    """The values of an answer, with bars where all of them are numbers."""
    some = rows[:MOST_DRAWN]
    drawn = _intervals(some)
    scale = Scale.of(drawn) if drawn is not None else None
    found = []
    for at, one in enumerate(some):
        svg = bar(scale, drawn, at) if scale is not None and drawn is not None else ""
        interval = "" if one.low is None else f"{number(one.low)} to {number(one.high)}"
        error = "" if one.std_error is None else number(float(f"{one.std_error:.4g}"))
        extra = tuple(f"{name}: {number(value)}" for name, value in one.extra.items())
        keys = tuple(str(value) for value in one.keys.values())
        # What is drawn has numbers alone in it.
        found.append(AnswerLine(keys, number(one.value), interval, error, Markup(svg), extra))
    return found


def _intervals(rows: tuple[AnswerRow, ...]) -> Intervals | None:
    if not rows or any(isinstance(one.value, bool) or not isinstance(one.value, int | float) for one in rows):
        return None
    low = [one.value if one.low is None else one.low for one in rows]
    high = [one.value if one.high is None else one.high for one in rows]
    arrays = [np.asarray(each, dtype=float) for each in ([one.value for one in rows], low, high)]
    return Intervals(*arrays) if all(np.isfinite(each).all() for each in arrays) else None


@dataclass(frozen=True)
class CurvePoint:
    """A budget, the error that it buys, and whether there is enough left for it."""

    amount: str
    half_width: float
    affordable: bool
    chosen: bool
    to: str


def curve(
    question: PricedQuestion, unit: str, amount: str, allowances: tuple[Allowance, ...], address: str
) -> list[CurvePoint]:
    """How the error of a question falls with what is spent on it; ``address`` + an amount is where it is picked."""
    found = []
    for each in sorted({*AMOUNTS, amount}, key=float):
        try:
            at = question.at(budget_of(**{"eps" if unit == "epsilon" else "rho": each}))
            widest = max(one.half_width for one in at.forecast)
        except (MargraveError, ValueError):
            continue
        affordable = all(one.admits(at.cost) for one in allowances)
        found.append(CurvePoint(each, widest, affordable, each == amount, address + each))
    return [one for one in found if one.half_width > 0]


def curve_svg(points: list[CurvePoint], symbol: str, expected: Expectation) -> Markup:
    """The curve, on logarithmic scales. Each point is a link, so that no script is needed to pick one."""
    if len(points) < 2:
        return Markup("")
    across = [log10(float(one.amount)) for one in points]
    down = [log10(one.half_width) for one in points]
    places = [
        (_placed(x, across, _LEFT, _RIGHT), _placed(y, down, _BOTTOM, _TOP)) for x, y in zip(across, down, strict=True)
    ]
    parts = [f'<line class="axis" x1="{_LEFT}%" x2="{_RIGHT}%" y1="{_BOTTOM}" y2="{_BOTTOM}"/>']
    for (x, y), (x2, y2) in pairwise(places):
        parts.append(f'<line class="curve" x1="{x:.2f}%" y1="{y:.1f}" x2="{x2:.2f}%" y2="{y2:.1f}"/>')
    for one, (x, y) in zip(points, places, strict=True):
        parts.append(_point(one, x, y, symbol))
    parts += [
        f'<text class="muted end" x="{_LEFT - 3:.1f}%" y="{places[at][1] + 4:.1f}">'
        f"±{escape(_short(points[at].half_width))}</text>"
        for at in (0, -1)
    ]
    what = escape(f"{expected.what}: error against {symbol}")
    body = "".join(parts)
    return Markup(f'<svg class="pick" role="group" aria-label="{what}" width="100%" height="{_HEIGHT}">{body}</svg>')


def _placed(value: float, every: list[float], first: float, last: float) -> float:
    least, most = min(every), max(every)
    return first + (last - first) * (value - least) / ((most - least) or 1.0)


def _point(one: CurvePoint, x: float, y: float, symbol: str) -> str:
    kind = "chosen" if one.chosen else "open" if one.affordable else "beyond"
    words = f"{symbol} = {one.amount}: plus or minus {_short(one.half_width)}"
    words += "" if one.affordable else ", more than is left"
    current = ' aria-current="true"' if one.chosen else ""
    return (
        f'<a href="{escape(one.to)}" aria-label="{escape(words)}"{current}>'
        f'<circle class="{kind}" cx="{x:.2f}%" cy="{y:.1f}" r="{8 if one.chosen else 6}"/>'
        f'<text class="middle" x="{x:.2f}%" y="{_HEIGHT - 12}">{escape(one.amount)}</text></a>'
    )


def _short(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
