"""Connections of those who are slow: whoever does not get to the point is not waited for."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_WAIT = 10.0
"""Seconds in which the head of a request must have arrived; bodies have their own."""


class PatientProtocol(H11Protocol):
    """Closes a connection on which no request has begun in time: many of these would keep everybody else out."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_busy:
            self._cancel()
        elif self._late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        super().connection_lost(exc)

    @property
    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEAD_WAIT, self._give_up)

    def _cancel(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if not self._is_busy and not self.transport.is_closing():
            self.transport.close()
