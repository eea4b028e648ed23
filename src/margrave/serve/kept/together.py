"""What several threads want at the same time, done at once by one of them: they share one write to the disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")


class Together(Generic[A, R]):
    """Has ``act`` do what was wanted while it did what was wanted before. It gives what became of each, or an error."""

    def __init__(self, act: Callable[[Sequence[A]], Sequence[R | Exception]]) -> None:
        self._act, self._one = act, Lock()
        self._wanted: deque[tuple[A, Future[R]]] = deque()

    def done(self, wanted: A) -> R:
        """What becomes of something that is wanted, once it is done."""
        told: Future[R] = Future()
        self._wanted.append((wanted, told))
        with self._one:
            # Whoever comes in first does it for all that are there.
            if not told.done():
                self._do()
        return told.result()

    def _do(self) -> None:
        taken = [self._wanted.popleft() for _ in range(len(self._wanted))]
        try:
            found = self._act([one for one, _ in taken])
        except BaseException as error:
            for _, told in taken:
                told.set_exception(error)
            return
        for (_, told), one in zip(taken, found, strict=True):
            if isinstance(one, Exception):
                told.set_exception(one)
            else:
                told.set_result(one)
