"""How far long work is: one way to tell it, in every room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Step = Callable[[], None]
"""Called when one of several like steps is done."""


class Progress(Protocol):
    """Whoever wants to know how far long work is."""

    def __call__(self, done: int, total: int | None, misfit: float | None = None, /) -> None:
        """So many steps are done, of ``total`` where that is known; ``misfit``, where steps are repeated until it is
        small, says how near the work is to its end."""


def counted(progress: Progress | None, total: int | None) -> Step:
    """A step to call ``total`` times, where that is known, which tells how far the work is."""
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return step
