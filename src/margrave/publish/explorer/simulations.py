"""Error bars that are simulated while somebody waits: done beside, once for each release, and one can see how far."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from margrave.publish.released import Released

PATIENCE = 0.5
"""Seconds after which whoever waits is told how far it is."""


@dataclass(eq=False)
class Making:
    """The simulations of one release: so many of them are done."""

    done: int = 0
    of: int = 0
    finished: Event = field(default_factory=Event)

    def told(self, done: int, total: int | None, misfit: float | None = None, /) -> None:
        self.done, self.of = done, total or 0


@dataclass(frozen=True, eq=False)
class Simulations:
    """What is being simulated, by the key of the release."""

    _made: dict[str, Making] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def unfinished(self, key: str, release: Released, seconds: float = PATIENCE) -> Making | None:
        """How far the simulations of a release are, if they are not done after so many seconds; begun if need be."""
        with self._lock:
            making = self._made.get(key)
            if making is None:
                making = self._made[key] = Making()
                Thread(target=_simulate, args=(release, making), daemon=True).start()
        return None if making.finished.wait(seconds) else making


def _simulate(release: Released, making: Making) -> None:
    try:
        release.simulate(making.told)
    finally:
        making.finished.set()
