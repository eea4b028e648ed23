"""The place that the averaging attack had in 0.1.0, for one more version: see `margrave.study.attacks.averaging`."""

from __future__ import annotations

from typing import Any
from warnings import warn

from margrave.study.attacks import averaging as moved

_MOVED = ("Averaged", "Contender", "averaging", "consecutive_sums", "guess", "plot")


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn("margrave.study.attack is called margrave.study.attacks.averaging now", DeprecationWarning, stacklevel=2)
    return getattr(moved, name)
