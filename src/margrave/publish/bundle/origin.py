"""What `release.json` says of a release, and of its simulated error bars: enough to simulate them again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.errors import BundleError
from margrave.publish.bundle.forms import Forms
from margrave.publish.bundle.manifest import Writing, manifest_json
from margrave.publish.bundle.parts.parts import published_json, table_stems
from margrave.reconstruct.bars import Bars, Origin, replicates

if TYPE_CHECKING:
    from margrave.publish.released import Released

_SEED = re.compile(r"[0-9a-f]{32,64}")


def bars_json(release: Released) -> dict[str, Any] | None:
    """How many simulations there were, from which seed, and the bars of the total; None where none are simulated.

    The report shows the total of every release, which need not be among its tables.
    """
    if not release.simulates or release.publication is None:
        return None
    errors, widths = release.error_bars(())
    return {
        "simulations": replicates(release.publication),
        "seed": release.bars_seed,
        "total": {"std_error": float(errors[0]), "half_width": float(widths[0])},
    }


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


def read_origin(forms: Forms, published: Mapping[str, Any]) -> tuple[Origin, dict[tuple[str, ...], Bars]]:
    """How the bars of a bundle came about, and those of its total, if they are simulated and stated."""
    said = published.get("bars")
    if said is None:
        return Origin(None, forms.bars), {}
    try:
        seed, total = said["seed"], (said["total"]["std_error"], said["total"]["half_width"])
        if _SEED.fullmatch(seed) is None or not all(isfinite(number) and number >= 0 for number in total):
            raise ValueError
        errors, widths = (np.array([float(number)]) for number in total)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise BundleError("release.json does not say how the error bars were simulated") from None
    return Origin(seed, forms.bars), {(): (errors, widths)}
