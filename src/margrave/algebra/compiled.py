"""Loops as machine code. Numba takes long to load, so modules of such loops are imported only where they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function, compiled when it is first called and kept for other programs, where there is a place for that.

    Other threads go on while it runs.
    """
    try:
        return cast(F, njit(function, cache=True, nogil=True))
    except RuntimeError:  # Neither beside this file nor among the user's files may anything be written.
        return cast(F, njit(function, nogil=True))


def inlined(function: F) -> F:
    """A part of a compiled function that is written into it: calls of the inmost loops would hand over every array."""
    return cast(F, njit(function, inline="always"))
