"""Requests to a server, retried where that is safe, and its problems as the errors that they were."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from threading import Lock
from time import sleep
from typing import Any
from urllib.parse import quote, urlsplit

from margrave.errors import FaultError, LedgerError, MargraveError, RefusedError, UsageError
from margrave.version import __version__

MOST_BYTES = 1 << 30
"""The most that is taken from a server at once."""
_SECONDS = 90.0
_TRIES = 8
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 10.0
_AGAIN = (429, 502, 503, 504)
_ERRORS: Mapping[int, type[MargraveError]] = {
    400: UsageError,
    401: RefusedError,
    403: RefusedError,
    404: UsageError,
    409: RefusedError,
    413: UsageError,
    415: UsageError,
    429: RefusedError,
}
_AWAY = "the server cannot be reached, or does not answer as one: is the address right, is it running?"


@dataclass(frozen=True)
class Received:
    """What came back: a status and content."""

    status: int
    content: bytes

    def value(self) -> dict[str, Any]:
        """The content as a JSON object."""
        try:
            found = json.loads(self.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise LedgerError(_AWAY)
        return found


class Wire:
    """A connection to a server, with a token. What fails is tried again; the key makes it the same request."""

    def __init__(self, url: str, token: str, *, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise UsageError("a server is named by its address: https://curator.example")
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            raise RefusedError("a token is sent over https alone: anybody on the way could read it")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise UsageError("that is no token: it begins with mgv_")
        self.address = f"{parts.scheme}://{parts.netloc}"
        self._host, self._port, self._secure = parts.hostname, parts.port, parts.scheme == "https"
        self._base, self._tls = parts.path.rstrip("/"), tls
        self._headers = {"User-Agent": f"margrave/{__version__}", "Accept": "*/*"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: HTTPConnection | None = None
        self._lock = Lock()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def get(self, *path: str, **query: Any) -> Received:
        """Read something."""
        told = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
        return self._tried("GET", _path(path) + (f"?{told}" if told else ""), None, {})

    def post(self, *path: str, body: Any, key: str) -> Received:
        """Ask for a change under a key, so that to try again is the same change."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        return self._tried("POST", _path(path), json.dumps(body).encode(), headers)

    def _tried(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Received:
        wait, last = _FIRST_WAIT, Received(0, b"")
        for _ in range(_TRIES):
            try:
                with self._lock:
                    last = self._once(method, path, body, headers)
            except (OSError, HTTPException):
                self.close()
                last = Received(0, b"")
            if last.status and last.status not in _AGAIN:
                break
            sleep(wait)
            wait = min(_LONGEST_WAIT, 2 * wait)
        if 200 <= last.status < 300:
            return last
        raise error_of(last)

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Received:
        if self._connection is None:
            self._connection = self._connected()
        self._connection.request(method, self._base + path, body, {**self._headers, **headers})
        reply = self._connection.getresponse()
        return Received(reply.status, _content(reply))

    def _connected(self) -> HTTPConnection:
        if not self._secure:
            return HTTPConnection(self._host, self._port, timeout=_SECONDS)
        context = self._tls or ssl.create_default_context()
        return HTTPSConnection(self._host, self._port, timeout=_SECONDS, context=context)


def _content(reply: HTTPResponse) -> bytes:
    content = reply.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise LedgerError(f"the server sends more than {MOST_BYTES:,} bytes at once")
    return content


def _path(parts: tuple[str, ...]) -> str:
    return "/v1/" + "/".join(quote(part, safe="@") for part in parts)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def error_of(received: Received) -> MargraveError:
    """The error that a server's problem was."""
    if not received.status:
        return LedgerError(_AWAY)
    return told_problem(received.value(), received.status)


def told_problem(problem: Mapping[str, Any], status: int | None = None) -> MargraveError:
    """The error that a problem tells of."""
    known = status if status is not None else problem.get("status")
    kind = _ERRORS.get(known if isinstance(known, int) else 0, FaultError)
    return kind(str(problem.get("detail", _AWAY))[:4_000])
