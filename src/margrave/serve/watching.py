"""Waiting for what becomes of jobs: all who wait at one worker look together, at multiples of a tick."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from time import monotonic

from starlette.concurrency import run_in_threadpool

from margrave.serve.kept.jobs import Jobs, State

TICK = 0.05
"""Seconds: what became of a question is looked for, and told, at multiples of this alone."""


class Watch:
    """The jobs that somebody at this worker waits for."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._awaited: Counter[str] = Counter()
        self._looking: asyncio.Task[Mapping[str, State]] | None = None

    async def settled(self, identity: str, seconds: float) -> State | None:
        """What became of a job, as soon as it waits no longer, or after so many seconds; None if there is none."""
        state = await run_in_threadpool(self._jobs.state, identity)
        until = monotonic() + seconds
        self._awaited[identity] += 1
        try:
            while state == "waiting" and monotonic() < until:
                found = await self._looked()
                state = found.get(identity, state)
        finally:
            self._awaited[identity] -= 1
            self._awaited += Counter()  # only what is still awaited stays
        return state

    async def _looked(self) -> Mapping[str, State]:
        """The states of all that is awaited, at the next tick: one look for everybody."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> Mapping[str, State]:
        await asyncio.sleep(TICK - monotonic() % TICK)
        return await run_in_threadpool(self._jobs.states, list(self._awaited))
