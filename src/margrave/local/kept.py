"""What a collector keeps of reports, as one file: the sums, how many reports they are of, and what was refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from margrave.crossing import Collected
from margrave.errors import DataError
from margrave.planning.local.plan import LocalPlan

FORMAT = "margrave-collected"
_MOST = 1 << 30
"""Bytes of such a file: a number for each answer of each question."""


def kept_bytes(plan: LocalPlan, collected: Collected) -> bytes:
    """The content of the file."""
    said: dict[str, Any] = {
        "format": FORMAT,
        "version": 1,
        "plan": plan.question,
        "reports": list(collected.counts),
        "refused": dict(collected.refused),
        "tallies": [one.ravel().tolist() for one in collected.tallies],
    }
    return (json.dumps(said) + "\n").encode()


def is_kept(path: Path) -> bool:
    """Whether a file is one that a collector wrote, and no list of reports."""
    if not path.is_file():
        return False
    with path.open("rb") as handle:
        return handle.read(1) == b"{"


def read_kept(plan: LocalPlan, path: Path) -> Collected:
    """The inverse of `kept_bytes`."""
    try:
        if path.stat().st_size > _MOST:
            raise ValueError
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["format"] != FORMAT or said["version"] != 1:
            raise ValueError
        if said["plan"] != plan.question:
            raise DataError(f"{path} was collected for another plan: use the spec that its reports were made for")
        shapes = [one.mechanism.tally_shape for one in plan.questions]
        tallies = tuple(
            np.array(_whole(values), dtype=np.int64).reshape(shape)
            for values, shape in zip(said["tallies"], shapes, strict=True)
        )
        refused = {str(kind): int(count) for kind, count in said["refused"].items()}
        return Collected(tallies, tuple(_whole(said["reports"])), refused)
    except (OSError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise DataError(f"{path} is no file of reports, and none that 'margrave local collect' wrote") from None


def _whole(values: list[Any]) -> list[int]:
    if any(type(one) is not int for one in values):
        raise TypeError
    return values
