"""What an attack reached, in three columns: published exactly (or protected the classical way), with noise but wrongly
accounted, and by Margrave at the stated ε, where the bound of the guarantee stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from margrave.errors import UsageError
from margrave.planning.asked import Sheet
from margrave.planning.describe import number

Style = Literal["exact", "wrong", "margrave", "bound", "chance"]
THREE: tuple[Style, Style, Style] = ("exact", "wrong", "margrave")
"""The three columns of a row, and their styles in a picture."""


@dataclass(frozen=True)
class Row:
    """What was reached in one setting, by column; None where a column has nothing to show.

    ``bound``: what the guarantee of the third column allows at most (errors: at least), None where it says nothing.
    """

    label: str
    exact: float | None
    wrong: float | None
    margrave: float | None
    bound: float | None = None

    @classmethod
    def of(cls, label: str, reached: Sequence[float], bound: float | None = None) -> Row:
        """From what was reached in the three columns."""
        exact, wrong, margrave = map(float, reached)
        return cls(label, exact, wrong, margrave, bound)


@dataclass(frozen=True)
class Line:
    """One line or set of marks of a picture."""

    label: str
    style: Style
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    """One picture: what runs across and up, and its lines. ``ticks``: names for the places 0, 1, 2, … across."""

    title: str
    across: str
    up: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    ticks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attack:
    """An attack that was carried out. ``measure``: what its numbers are; ``share``: they lie between 0 and 1.

    ``columns``: the titles of the three columns. ``wrongly``: what the second column really costs, in words.
    ``confidential``: it was carried out on data that must not be published, and neither may this be.
    """

    name: str
    title: str
    epsilon: Fraction
    measure: str
    columns: tuple[str, str, str]
    rows: tuple[Row, ...]
    paragraph: str
    panels: tuple[Panel, ...]
    more: tuple[Sheet, ...] = ()
    share: bool = True
    confidential: bool = False

    def __post_init__(self) -> None:
        if not self.rows or not self.panels:
            raise UsageError("an attack has at least one row and one picture")

    @property
    def headers(self) -> tuple[str, ...]:
        return ("", *self.columns, "bound")

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The rows as texts."""
        numbers = ((row.exact, row.wrong, row.margrave, row.bound) for row in self.rows)
        return tuple((row.label, *map(self._text, four)) for row, four in zip(self.rows, numbers, strict=True))

    def _text(self, value: float | None) -> str:
        return percent(value, 1) if self.share or value is None else number(value)

    def as_json(self) -> dict[str, Any]:
        """Plain values for scripts."""
        return {
            "attack": self.name,
            "title": self.title,
            "epsilon": float(self.epsilon),
            "measure": self.measure,
            "columns": dict(zip(THREE, self.columns, strict=True)),
            "rows": [asdict(row) for row in self.rows],
            "more": [{"title": one.title, "headers": one.headers, "rows": list(one.rows)} for one in self.more],
            "paragraph": self.paragraph,
        }


def percent(share: float | None, digits: int = 0) -> str:
    """A share for people; a dash where there is none."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def rows_panel(attack_rows: Sequence[Row], across: str, up: str, x: Sequence[float], columns: Sequence[str]) -> Panel:
    """The picture of the three columns and the bound, where the rows have places on an axis."""
    lines = []
    styles: tuple[Style, ...] = (*THREE, "bound")
    for style, label in zip(styles, (*columns, "bound for Margrave"), strict=True):
        values = [getattr(row, style) for row in attack_rows]
        places = [(at, value) for at, value in zip(x, values, strict=True) if value is not None]
        if places:
            lines.append(Line(label, style, tuple(a for a, _ in places), tuple(v for _, v in places)))
    return Panel("", across, up, tuple(lines))
