"""Work that is done while somebody waits: beside, once for each release, and one can see how far it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

from margrave.errors import MargraveError
from margrave.progress import Progress

PATIENCE = 0.5
"""Seconds after which whoever waits is told how far it is."""

Job = Callable[[Progress], object]


@dataclass(eq=False)
class Making:
    """One piece of work: so much of it is done."""

    done: int = 0
    of: int = 0
    finished: Event = field(default_factory=Event)

    def told(self, done: int, total: int | None, misfit: float | None = None, /) -> None:
        self.done, self.of = done, total or 0


@dataclass(frozen=True, eq=False)
class Waiting:
    """What is being done, by its name."""

    _made: dict[str, Making] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def unfinished(self, name: str, job: Job, seconds: float = PATIENCE) -> Making | None:
        """How far a job is, if it is not done after so many seconds; begun if need be."""
        with self._lock:
            making = self._made.get(name)
            if making is None:
                making = self._made[name] = Making()
                Thread(target=_do, args=(job, making), daemon=True).start()
        return None if making.finished.wait(seconds) else making

    def forget(self, name: str) -> None:
        """Have a job done anew when it is next asked for."""
        with self._lock:
            self._made.pop(name, None)


def _do(job: Job, making: Making) -> None:
    # What fails here fails again where its outcome is needed, and is said there.
    with suppress(MargraveError):
        job(making.told)
    making.finished.set()
