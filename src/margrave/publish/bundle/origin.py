"""What `release.json` says of a release, and of its simulated error bars: enough to simulate them again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Margin
from margrave.errors import BundleError
from margrave.planning.plan import Plan
from margrave.publish.bundle.forms import Forms
from margrave.publish.bundle.manifest import Writing, manifest_json
from margrave.publish.bundle.parts.names import table_stems
from margrave.publish.bundle.parts.parts import published_json
from margrave.publish.bundle.parts.shares import has_shares, totals
from margrave.reconstruct.bars import Bars, Origin, replicates

if TYPE_CHECKING:
    from margrave.publish.released import Released

_SEED = re.compile(r"[0-9a-f]{32,64}")


def bars_json(release: Released) -> dict[str, Any] | None:
    """How many simulations there were, from which seed, and the bars of totals; None where none are simulated.

    The report shows the total of every release, and those of rows and columns, which need not be among its tables.
    """
    if not release.simulates or release.publication is None:
        return None
    errors, widths = release.error_bars(())
    found = {
        "simulations": replicates(release.publication),
        "seed": release.bars_seed,
        "total": {"std_error": float(errors[0]), "half_width": float(widths[0])},
    }
    if has_shares(release):
        found["attributes"] = [_totals_json(release, margin) for margin in totals(release.plan)]
    return found


def _totals_json(release: Released, margin: Margin) -> dict[str, Any]:
    errors, widths = release.error_bars(margin)
    return {"table": list(margin), "std_error": errors.tolist(), "half_width": widths.tolist()}


def manifest_of(release: Released, writing: Writing) -> dict[str, Any]:
    """What the `release.json` of a release says, if it is written like this."""
    published = None
    if release.publication is not None:
        published = {**published_json(release.publication), "bars": bars_json(release)}
    tables = [] if writing.layout is not None else table_list(release)
    return manifest_json(release.plan, release.private, writing, tables, release.ledger, published, release.level)


def table_list(release: Released) -> list[dict[str, Any]]:
    """What `release.json` says of each wanted table: its attributes, its size and its files."""
    domain, stems = release.domain, table_stems(release.plan)
    return [
        {"table": list(margin), "cells": domain.cells(margin), "csv": f"{stem}.csv", "parquet": f"{stem}.parquet"}
        for margin, stem in stems.items()
    ]


def read_origin(plan: Plan, forms: Forms, published: Mapping[str, Any]) -> tuple[Origin, dict[Margin, Bars]]:
    """How the bars of a bundle came about, and those of its totals, if they are simulated and stated."""
    said = published.get("bars")
    if said is None:
        return Origin(None, forms.bars), {}
    try:
        if _SEED.fullmatch(said["seed"]) is None:
            raise ValueError
        total = said["total"]
        found: dict[Margin, Bars] = {(): (_bars([total["std_error"]], 1), _bars([total["half_width"]], 1))}
        stated = said.get("attributes", [])
        if stated and [tuple(one["table"]) for one in stated] != [*totals(plan)]:
            raise ValueError
        for one, margin in zip(stated, totals(plan), strict=bool(stated)):
            cells = plan.spec.domain.cells(margin)
            found[margin] = _bars(one["std_error"], cells), _bars(one["half_width"], cells)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise BundleError("release.json does not say how the error bars were simulated") from None
    return Origin(said["seed"], forms.bars), found


def _bars(numbers: Sequence[Any], cells: int) -> NDArray[np.float64]:
    """Standard errors or half-widths as JSON has them; a ValueError if they are not such numbers."""
    if len(numbers) != cells or not all(isfinite(number) and number >= 0 for number in numbers):
        raise ValueError
    return np.array([float(number) for number in numbers])
