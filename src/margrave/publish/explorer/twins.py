"""A view for machines: the same numbers as a data frame, as CSV and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from margrave.publish.csv_text import csv_text
from margrave.publish.explorer.compare import TwoReleases
from margrave.publish.explorer.figures import Derived, Figures

if TYPE_CHECKING:
    from margrave.publish.explorer.library import Shelved
    from margrave.publish.released import Released

_TOGETHER = "|"
"""Between the values of a group, in files."""


def frame_of(release: Released, figures: Figures) -> pd.DataFrame:
    """One row a number. Cells as they are have the columns that `margrave show` gives them."""
    if Derived(figures.grid).plain and figures.view.share == "none" and not figures.view.minus:
        return _cells(release, figures)
    numbers = {named(figures): figures.cells.value, "low": figures.cells.low, "high": figures.cells.high}
    return pd.DataFrame(values_of(figures) | {name: one.ravel() for name, one in numbers.items()})


def values_of(figures: Figures) -> dict[str, Any]:
    """For each number of a view the values that it is of, by attribute."""
    grid = figures.grid
    shown = grid.axes[: len(figures.view.shown)]
    places = np.indices(tuple(map(len, shown))).reshape(len(shown), -1)
    columns: dict[str, Any] = {}
    for axis, codes in zip(shown, places, strict=True):
        values = grid.domain[axis.name].values
        words = [_TOGETHER.join(values[code] for code in group) for group in axis.groups]
        columns[axis.name] = [words[code] for code in codes.tolist()]
    return columns


def _cells(release: Released, figures: Figures) -> pd.DataFrame:
    """The rows of the table that are kept, in the order of its file."""
    grid = figures.grid
    found = (release.noisy if figures.view.numbers == "unbiased" else release.table)(*grid.margin)
    for axis in grid.axes:
        if axis.name in grid.margin:
            values = grid.domain[axis.name].values
            found = found[found[axis.name].isin([values[code] for group in axis.groups for code in group])]
    return found.reset_index(drop=True)


def named(figures: Figures) -> str:
    """What the numbers of a view are."""
    word = "count" if figures.view.share == "none" else "share"
    return f"{word}_difference" if figures.view.minus else word


def view_csv(release: Released, figures: Figures) -> str:
    return csv_text(frame_of(release, figures))


def view_json(release: Released, figures: Figures) -> str:
    """What `margrave show --json` says, and the address of the view."""
    frame = frame_of(release, figures)
    rows = [{name: _plain(value) for name, value in row.items()} for row in frame.to_dict(orient="records")]
    found = {
        "private": release.private,
        "table": list(figures.grid.margin),
        "level": figures.level,
        "view": figures.view.address(),
        "rows": rows,
    }
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)


def compared_frame(found: TwoReleases) -> pd.DataFrame:
    """One row a number: that of the first release, that of the second, and how far they are apart."""
    columns = values_of(found.one)
    for name, part in (("first", found.one.cells), ("second", found.other.cells), ("difference", found.apart)):
        columns |= {name: part.value.ravel(), f"{name}_low": part.low.ravel(), f"{name}_high": part.high.ravel()}
    return pd.DataFrame(columns)


def compared_csv(found: TwoReleases) -> str:
    return csv_text(compared_frame(found))


def compared_json(found: TwoReleases, keys: tuple[str, str]) -> str:
    """Both releases by their keys, the address of the view, and its numbers."""
    rows = compared_frame(found).to_dict(orient="records")
    said = {
        "one": keys[0],
        "other": keys[1],
        "level": found.one.level,
        "view": found.one.view.address(),
        "rows": [{name: _plain(value) for name, value in row.items()} for row in rows],
    }
    return json.dumps(said, indent=2, ensure_ascii=False, allow_nan=False)


_LISTED = ("key", "digest", "title", "created", "way", "private", "guarantee", "tables")
"""What the catalogue says of each release."""


def catalogue_csv(entries: Sequence[Shelved]) -> str:
    rows = [tuple(getattr(one, name) for name in _LISTED) for one in entries]
    return csv_text(pd.DataFrame(rows, columns=list(_LISTED)))


def catalogue_json(entries: Sequence[Shelved]) -> str:
    found = [{name: getattr(one, name) for name in _LISTED} for one in entries]
    return json.dumps({"releases": found}, indent=2, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """As JSON has it: no number where there is none."""
    return None if isinstance(value, float) and value != value else value
