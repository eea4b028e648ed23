"""What a collector keeps of reports, as one file: the sums, how many reports they are of, and what was refused.

A collection that goes on has the hashes of the tokens that were used as well, sorted, so that none is counted twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from margrave.crossing import Collected
from margrave.errors import DataError, UsageError
from margrave.planning.local.plan import LocalPlan

FORMAT = "margrave-collected"
_MOST = 1 << 31
"""Bytes of such a file: a number for each answer of each question, and 64 digits for each token."""
_HASH = 32


@dataclass(frozen=True)
class Kept:
    """Sums, and the hashes of the tokens that they are of; None where these were not kept."""

    collected: Collected
    tokens: frozenset[bytes] | None = None

    def __post_init__(self) -> None:
        if self.tokens is not None and len(self.tokens) < self.collected.reports:
            raise UsageError("a collection is of more reports than tokens: it was changed")


def kept_bytes(plan: LocalPlan, collected: Collected, tokens: Iterable[bytes] | None = None) -> bytes:
    """The content of the file; ``tokens``: the hashes of those that were used, where they are kept."""
    said: dict[str, Any] = {
        "format": FORMAT,
        "version": 1,
        "plan": plan.question,
        "reports": list(collected.counts),
        "refused": dict(collected.refused),
        "tallies": [one.ravel().tolist() for one in collected.tallies],
    }
    if tokens is not None:
        said["tokens"] = b"".join(sorted(tokens)).hex()
    return (json.dumps(said) + "\n").encode()


def is_kept(path: Path) -> bool:
    """Whether a file is one that a collector wrote, and no list of reports."""
    if not path.is_file():
        return False
    with path.open("rb") as handle:
        return handle.read(1) == b"{"


def read_kept(plan: LocalPlan, path: Path) -> Kept:
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
        return Kept(Collected(tallies, tuple(_whole(said["reports"])), refused), _tokens(said.get("tokens")))
    except (OSError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise DataError(f"{path} is no file of reports, and none that 'margrave local collect' wrote") from None


def _tokens(said: str | None) -> frozenset[bytes] | None:
    if said is None:
        return None
    content = bytes.fromhex(said)
    if len(content) % _HASH:
        raise ValueError
    return frozenset(content[start : start + _HASH] for start in range(0, len(content), _HASH))


def _whole(values: list[Any]) -> list[int]:
    if any(type(one) is not int for one in values):
        raise TypeError
    return values
