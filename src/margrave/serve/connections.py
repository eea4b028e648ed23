"""Connections: whoever does not get to the point is not waited for, and what is said at once is sent at once."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_WAIT = 10.0
"""Seconds in which the head of a request must have arrived; bodies have their own."""
MOST_HEAD = 1 << 16
"""Bytes of a head after those with which it began."""


class JoinedWrites:
    """A transport that sends the head of a reply and its body, which come one after the other, in one piece."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._kept: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._kept:
            self._loop.call_soon(self._send)
        self._kept.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        kept, self._kept = self._kept, []
        if kept and not self._transport.is_closing():
            self._transport.write(b"".join(kept))


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection on which no request has begun in time, or whose head has no end.

    Many of these would keep everybody else out.
    """

    _late: asyncio.TimerHandle | None = None
    _heading = False
    _head = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
        self._wait()

    def on_message_begin(self) -> None:
        self._heading = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._heading = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        begun = self._heading
        super().data_received(data)
        self._head = self._head + len(data) if begun and self._heading else 0
        if self._head > MOST_HEAD:
            self.transport.close()
        elif self._is_busy:
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
