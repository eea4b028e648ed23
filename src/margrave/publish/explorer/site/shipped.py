"""What a static site ships so that a browser computes any number of a release with its interval.

Published numbers: the published table and its simulations, cell by cell, and the error bars of all its tables.
Unbiased ones: the tables that are known, and how each of their cells is made of the noisy outputs of the measurements.
Every count, sum, share and difference follows from these as it does here (`figures.py`), and `numbers.js` does the same
steps. The size is bounded; what cannot be shipped says why.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from margrave.algebra.domain import Margin
from margrave.errors import UsageError
from margrave.messages.catalogue import say
from margrave.publish.bundle.parts.description import title_of
from margrave.publish.explorer.figures import tails
from margrave.publish.explorer.grid import knows
from margrave.spec.spec import possible_mask

if TYPE_CHECKING:
    from margrave.publish.released import Released
    from margrave.reconstruct.bars import Simulated

MOST_NUMBERS = 1 << 19
"""The most numbers of each kind that are shipped of one release: cells of the full table, times simulations; or cells
of known tables, times outputs of measurements."""
_MOST_TOGETHER = 12
"""The most attributes measured together whose parts are gone through one by one."""
_MOST_PARTS = 4096
"""The most tables below those that are known, each of which may have cells that are exact or empty."""


def why_not(release: Released) -> str:
    """Why no browser can compute any numbers of a release; empty where one can."""
    return why_not_published(release) and why_not_unbiased(release)


def kinds(release: Released) -> tuple[str, ...]:
    """The kinds of numbers that a browser can compute."""
    found = {"published": why_not_published(release), "unbiased": why_not_unbiased(release)}
    return tuple(kind for kind, reason in found.items() if not reason)


def why_not_published(release: Released) -> str:
    if release.publication is None:
        return say("its tables are published unbiased")
    if release.simulated is None:
        return say("its published tables are too large to be simulated")
    cells = release.domain.cells(_used(release))
    parts = _parts(release)
    bars = 2 * sum(map(release.domain.cells, parts))
    if max(cells * (len(release.simulated.again) + 1), bars) > MOST_NUMBERS or len(parts) > _MOST_PARTS:
        return say("it has more than %(count)s counts with their simulations", count=f"{MOST_NUMBERS:,}")
    return ""


def why_not_unbiased(release: Released) -> str:
    outputs = sum(one.query.outputs(release.plan.domain) for one in release.plan.measurements)
    if (
        len(release.plan.measurements) > _MOST_PARTS
        or sum(map(release.domain.cells, known(release))) * outputs > MOST_NUMBERS
    ):
        return say("it has more than %(count)s weights of noisy numbers in its tables", count=f"{MOST_NUMBERS:,}")
    return ""


def known(release: Released) -> tuple[Margin, ...]:
    """The largest sets of attributes that a release knows together: every other is part of one of them.

    What is known together has its residual measured, so it lies inside a measurement.
    """
    plan, names = release.plan, release.domain.names
    found: list[Margin] = []
    measured = {tuple(n for n in names if n in one.query.margin) for one in plan.measurements} | set(plan.spec.margins)
    for margin in sorted(measured, key=lambda one: (-len(one), [names.index(name) for name in one])):
        sizes = range(min(len(margin), _MOST_TOGETHER), -1, -1)
        for part in (part for size in sizes for part in combinations(margin, size)):
            if not any(set(part) <= set(one) for one in found) and knows(release, part):
                found.append(part)
    return tuple(found)


def _used(release: Released) -> Margin:
    """The attributes about which a release says anything."""
    return release.domain.margin(name for margin in known(release) for name in margin)


def _parts(release: Released) -> list[Margin]:
    """Every set of attributes that a release knows together."""
    together = known(release)
    return sorted(
        {part for margin in together for size in range(len(margin) + 1) for part in combinations(margin, size)}
    )


def shipped(release: Released) -> dict[str, Any]:
    """A release for `numbers.js`, as JSON."""
    if reason := why_not(release):
        raise UsageError(f"a browser cannot compute the numbers of this release: {reason}")
    plan, able = release.plan, kinds(release)
    entries = [plan.spec.codebook[name] for name in _used(release)]
    return {
        "title": title_of(release),
        "private": release.private,
        "level": release.level,
        "normal": float(ndtri((1 + release.level) / 2)),
        "attributes": [
            {
                "name": one.name,
                "title": one.title or one.name,
                "values": list(one.attribute.values),
                "labels": [one.label(value) for value in one.attribute.values],
            }
            for one in entries
        ],
        "tables": [list(margin) for margin in plan.spec.margins],
        "known": [list(margin) for margin in known(release)],
        "published": _published(release, release.simulated) if "published" in able and release.simulated else None,
        "unbiased": _unbiased(release) if "unbiased" in able else None,
    }


def _published(release: Released, simulated: Simulated) -> dict[str, Any]:
    """The published table, then each simulation less it; and table by table the bars, and which cells are sure."""
    counts = simulated.counts(_used(release)).reshape(len(simulated.again) + 1, -1)
    counts[1:] -= counts[0]
    parts = _parts(release)
    bars = [numbers for margin in parts for numbers in release.error_bars(margin)]
    whole = simulated.truth.whole and float(np.abs(counts).max(initial=0)) < 2**31
    return {
        "whole": simulated.truth.whole,
        "factor": simulated.factor,
        "student": tails(release) * float(stdtrit(len(simulated.again), (1 + release.level) / 2)),
        "simulations": len(simulated.again),
        "sure": _sure(release),
        "parts": [list(margin) for margin in parts],
        "bars": _packed(np.concatenate(bars), "<f8"),
        "counts": _packed(counts, "<i4" if whole else "<f8"),
    }


def _sure(release: Released) -> list[list[Any]]:
    """The tables with cells that are exact or empty, each with a 1 for these cells and a 0 for others."""
    found = []
    for margin in _parts(release):
        sure = np.ravel(~possible_mask(release.plan.spec, margin) | release.plan.certain(margin))
        if sure.any():
            found.append([list(margin), "".join("1" if one else "0" for one in sure.tolist())])
    return found


def _unbiased(release: Released) -> list[dict[str, Any]]:
    """Each known table, and the weight of every output of the measurements in each of its cells.

    ``variances`` and ``fourths``: the variance and the fourth cumulant of the noise that a weight stands for.
    """
    found = []
    for margin in known(release):
        weights, noises = _weights(release, margin)
        table = {
            "margin": list(margin),
            "counts": _packed(release.unbiased(margin), "<f8"),
            "weights": _packed(weights.T, "<f4"),
            "variances": [variance for variance, _ in noises],
            "fourths": [fourth for _, fourth in noises],
        }
        found.append(table)
    return found


def _weights(release: Released, margin: Margin) -> tuple[NDArray[np.float64], list[tuple[float, float]]]:
    """One row a cell, one column an output or several that always count alike; and the noise of each column."""
    cells = release.domain.cells(margin)
    rows = [{one.index: one for one in release.plan.outputs_of(margin, unit)} for unit in np.eye(cells)]
    used = sorted({index for row in rows for index in row})
    columns, noises = [np.zeros((cells, 0))], []
    for index in used:
        some = next(row[index] for row in rows if index in row)
        columns.append(
            np.array([row[index].weights.ravel() if index in row else np.zeros(some.weights.size) for row in rows])
        )
        noise = some.repeated * some.noise.variance, some.repeated * some.noise.fourth_cumulant
        noises += [noise] * some.weights.size
    return np.concatenate(columns, axis=1), noises


def _packed(numbers: NDArray[Any], kind: str) -> list[str]:
    """Little-endian numbers of a kind, packed by gzip, in base 64."""
    content = np.ascontiguousarray(numbers.astype(kind)).tobytes()
    return [kind, b64encode(gzip.compress(content, mtime=0)).decode("ascii")]
