"""What takes a while is done when it is first needed, or earlier where somebody wants to see how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from margrave.progress import Progress

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Later(Generic[T]):
    """A value that is made when it is first asked for, and then kept; whoever asks first may follow its making."""

    make: Callable[[Progress | None], T]
    _made: list[T] = field(default_factory=list, init=False, repr=False)

    def get(self, progress: Progress | None = None) -> T:
        """The value; ``progress`` is told how far it is, if it is made now."""
        if not self._made:
            self._made.append(self.make(progress))
        return self._made[0]
