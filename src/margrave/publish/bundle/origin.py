"""What `release.json` says of the simulated error bars of published tables: enough to simulate them again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.errors import BundleError
from margrave.publish.bars import Bars, Origin
from margrave.publish.bundle.forms import Forms
from margrave.reconstruct.bars import replicates

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
