"""Messages over HTTPS: a mailbox that takes them in, and sending one. Both ends show a certificate (mutual TLS).

A mailbox takes only messages that are signed by somebody in the spec, and never another one in the place of one that
came. TLS keeps others from reading along; who said what is told by the signature of the message itself.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from http.client import HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from margrave.errors import MargraveError, RefusedError, UsageError
from margrave.join.folder import SessionFolder
from margrave.join.messages import MOST_HEADING, parse, read_file
from margrave.join.side import MOST_RESULT
from margrave.planning.join.plan import JoinPlan

CERTIFICATE, SECRET, AUTHORITY = "certificate.pem", "secret.pem", "authority.pem"
WAIT = 60.0
"""Seconds that either end waits for the other to go on."""
_TAKEN, _CONFLICT, _BAD, _LONG = 204, 409, 400, 413
_SPARE = MOST_HEADING + 4096
_DIGITS = 15
_MOST_SENT = 1 << 33
"""Bytes of the longest message that a spec allows, and more."""


@dataclass(frozen=True)
class Tls:
    """A folder with the own certificate and its secret key, and the authority that signed the others'."""

    folder: Path

    def context(self, *, serving: bool) -> ssl.SSLContext:
        purpose = ssl.PROTOCOL_TLS_SERVER if serving else ssl.PROTOCOL_TLS_CLIENT
        context = ssl.SSLContext(purpose)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_cert_chain(self.folder / CERTIFICATE, self.folder / SECRET)
            context.load_verify_locations(self.folder / AUTHORITY)
        except (OSError, ssl.SSLError):
            names = f"{CERTIFICATE}, {SECRET} and {AUTHORITY}"
            raise UsageError(f"{self.folder} must hold {names}, in PEM, which fit together") from None
        return context


def send(path: Path, url: str, tls: Tls) -> None:
    """Send a message to the mailbox at an address. Sent again it is the same bytes, and taken again."""
    host, port = address_of(url)
    try:
        content = read_file(path, _MOST_SENT)
        connection = HTTPSConnection(host, port, timeout=WAIT, context=tls.context(serving=False))
        try:
            connection.request("POST", "/", content, {"Content-Type": "application/octet-stream"})
            answer = connection.getresponse()
            said = answer.read(_SPARE).decode(errors="replace").strip()
        finally:
            connection.close()
    except (OSError, HTTPException) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise RefusedError(f"{url} could not be reached ({why}): the message is in {path}, send it again") from None
    if answer.status != _TAKEN:
        raise RefusedError(f"{url} did not take the message: {said[:300]}")


def address_of(url: str) -> tuple[str, int]:
    """The host and the port of a mailbox."""
    try:
        parts = urlsplit(url)
        good = parts.scheme == "https" and parts.hostname is not None and parts.path in ("", "/")
        port = parts.port or 443
    except ValueError:
        good = False
    if not good or parts.hostname is None:
        raise UsageError(f"{url!r} is no address of a mailbox: write it as https://hospital.example:8443")
    return parts.hostname, port


class Mailbox(ThreadingHTTPServer):
    """Takes messages about one plan into a folder: for each session one inside it."""

    daemon_threads = True

    def __init__(self, plan: JoinPlan, inbox: Path, tls: Tls, host: str, port: int) -> None:
        self.plan, self.inbox = plan, inbox
        self.most = max(MOST_RESULT, *plan.message_bytes(most=True).values()) + _SPARE
        self._context = tls.context(serving=True)
        SessionFolder.at(inbox)
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise UsageError(f"{host}:{port} cannot be listened at ({error.strerror}): name another") from None

    def get_request(self) -> tuple[Any, Any]:
        """A connection whose handshake is left to a thread of its own, so that nobody holds up the others."""
        plain, address = super().get_request()
        plain.settimeout(WAIT)
        return self._context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that fails is the sender's concern."""

    def take(self, content: bytes) -> Path:
        """Keep a message, if it is one of this spec; the same one again is kept already."""
        message = parse(content, self.plan.spec)
        folder = SessionFolder.at(self.inbox / message.session)
        with folder.alone():
            place = folder if message.step != "submission" else SessionFolder.at(folder.path / message.sender)
            place.receive(message.step, content)
            return place.message(message.step)


class _Handler(BaseHTTPRequestHandler):
    server: Mailbox
    timeout = WAIT

    def setup(self) -> None:
        self.request.do_handshake()
        super().setup()

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > _DIGITS or int(length) > self.server.most:
            self._say(_LONG, "a message has a length, and none is as long as this")
            return
        try:
            self.server.take(self.rfile.read(int(length)))
        except RefusedError as error:
            self._say(_CONFLICT, str(error))
        except MargraveError as error:
            self._say(_BAD, str(error))
        else:
            self._say(_TAKEN, "")

    def _say(self, status: int, text: str) -> None:
        content = text.encode()
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: addresses and times are nobody's business."""
