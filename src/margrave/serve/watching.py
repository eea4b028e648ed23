"""Waiting for what becomes of jobs: one look for all who wait at one worker, at multiples of a tick."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from margrave.errors import MargraveError
from margrave.serve.kept.jobs import Job, Jobs
from margrave.serve.operations.problems import TOO_MANY, ProblemError

Looked = Callable[..., Awaitable[Any]]
"""Calls a function with arguments, and waits for what it gives."""
TICK = 0.05
"""Seconds: what became of a question is looked for, and told, at multiples of this alone."""

MOST_WAITING = 128
"""How often one account may wait at one worker at a time, so that nobody keeps all of its connections busy."""


class Watch:
    """The jobs that somebody at this worker waits for."""

    def __init__(self, jobs: Jobs, looked: Looked) -> None:
        """``looked``: has something looked up in the store."""
        self._jobs, self._looked = jobs, looked
        self._awaited: dict[str, set[asyncio.Future[Job]]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._waiting: Counter[str] = Counter()

    def check_place(self, account: str) -> None:
        """Refuse an account that waits in all of its places."""
        if self._waiting[account] >= MOST_WAITING:
            raise ProblemError(TOO_MANY, "you wait for too much at once: ask again later", **{"Retry-After": "1"})

    @contextmanager
    def place(self, account: str) -> Iterator[None]:
        """One of an account's places to wait in."""
        self._waiting[account] += 1
        try:
            yield
        finally:
            self._waiting[account] -= 1
            self._waiting += Counter()  # who waits no longer is forgotten

    async def settled(self, identity: str, seconds: float) -> Job | None:
        """A job, as soon as it waits no longer; None if it waits after so many seconds still."""
        told: asyncio.Future[Job] = asyncio.get_running_loop().create_future()
        self._awaited.setdefault(identity, set()).add(told)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            return await asyncio.wait_for(told, seconds)
        except TimeoutError:
            return None
        finally:
            waiting = self._awaited.get(identity, set())
            waiting.discard(told)
            if not waiting:
                self._awaited.pop(identity, None)

    async def _look(self) -> None:
        """Look at every tick while anybody waits, and tell those whose job is settled."""
        while self._awaited:
            await asyncio.sleep(TICK - monotonic() % TICK)
            found: dict[str, Job] = {}
            with suppress(MargraveError):  # a store that is away may be there again at the next tick
                found = await self._looked(self._jobs.settled, list(self._awaited))
            for identity, job in found.items():
                for one in self._awaited.get(identity, ()):
                    if not one.done():
                        one.set_result(job)
