"""The processes together: HTTP workers that share one socket, and one that has questions answered.

The supervisor sees nothing of what they do. It starts one that died again, and stops all of them in good order.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from threading import Event, Thread
from time import monotonic
from typing import Any

from margrave.errors import RefusedError, UsageError
from margrave.files.temporary import temporary_folder
from margrave.ledger.ledger import Ledger

PORT = 8642
RATE = 100
"""Requests a second that an account may send to each worker."""
_BACKLOG = 2_048
_GRACE = 10.0
_QUICK = 1.0
"""A process that died sooner than this is started again only after as long."""
_OPEN = "{} can be reached from elsewhere: give --tls-cert and --tls-key, or say --behind-proxy if a proxy has TLS"


@dataclass(frozen=True)
class ServerSettings:
    """How a server is run."""

    ledger: str
    host: str = "127.0.0.1"
    port: int = PORT
    workers: int = 1
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    timed: bool = True
    rate: int = RATE
    sources: Path | None = None
    """The folder with all files that curators may have opened."""

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise UsageError("a certificate and its key belong together: give both --tls-cert and --tls-key")
        for file in (self.tls_cert, self.tls_key):
            if file is not None and not file.is_file():
                raise UsageError(f"{file}: there is no such file")
        if self.sources is not None and not self.sources.is_dir():
            raise UsageError(f"{self.sources}: there is no such folder")
        if not 0 <= self.port < 1 << 16 or not 1 <= self.workers <= 64 or self.rate < 1:
            raise UsageError("a port is a number below 65536; there are 1 to 64 workers, and a rate is 1 or more")
        if not self.https and not self.behind_proxy and not _is_loopback(self.host):
            raise RefusedError(_OPEN.format(self.host))

    @property
    def https(self) -> bool:
        return self.tls_cert is not None


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def bound(settings: ServerSettings) -> socket.socket:
    """The socket that all workers take requests from."""
    with ExitStack() as stack:
        try:
            family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
            # Named as TCP, for the loop then sends small packets at once: without it every reply waits 40 ms.
            found = stack.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((settings.host, settings.port))
            found.listen(_BACKLOG)
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            raise UsageError(f"{where} cannot be used ({error.strerror}): name another") from None
        stack.pop_all()
    return found


def address_of(settings: ServerSettings, held: socket.socket) -> str:
    """Where the server is found."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.https else 'http'}://{host}:{held.getsockname()[1]}"


class Child:
    """A process that is started again when it dies."""

    def __init__(self, start: Callable[[], SpawnProcess]) -> None:
        self._start = start
        self._since = monotonic()
        self.process = start()

    def renew(self, stopped: Event) -> None:
        """Start it again if it died; one that dies at once is not started at once."""
        if self.process.is_alive() or stopped.is_set():
            return
        self.process.join()
        if monotonic() - self._since < _QUICK and stopped.wait(_QUICK):
            return
        self._since, self.process = monotonic(), self._start()

    def stop(self) -> None:
        if self.process.is_alive():
            self.process.terminate()

    def ended(self, until: float) -> None:
        self.process.join(max(0.1, until - monotonic()))
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def supervise(settings: ServerSettings, held: socket.socket, stopped: Event) -> None:
    """Run all processes until stopped."""
    context, identity = get_context("spawn"), token_hex(8)

    def started(target: Callable[..., None], *arguments: Any) -> SpawnProcess:
        found = context.Process(target=target, args=arguments, daemon=False)
        found.start()
        return found

    children = [Child(lambda: started(answering_process, settings, identity))]
    children += [Child(lambda: started(http_process, settings, held)) for _ in range(settings.workers)]
    try:
        while not stopped.is_set():
            wait([one.process.sentinel for one in children], timeout=0.5)
            for one in children:
                one.renew(stopped)
    finally:
        # First nobody comes in any more; then what waits is left for the next time.
        until = monotonic() + _GRACE
        for one in children:
            one.stop()
        for one in children:
            one.ended(until)


def _until_orphaned(stopped: Event) -> None:
    """Stop when the supervisor is gone, however it went."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
        stopped.set()
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=watch, daemon=True).start()


def http_process(settings: ServerSettings, held: socket.socket) -> None:
    """One HTTP worker."""
    import uvicorn

    from margrave.serve.app import Rates, Worker
    from margrave.serve.connections import PatientProtocol
    from margrave.serve.operations.declared import House

    _until_orphaned(Event())
    shelf = temporary_folder(Path(gettempdir()), "margrave-serve-shelf-")
    with Ledger.open(settings.ledger) as ledger, shelf as folder:
        options = {"https": settings.https, "behind_proxy": settings.behind_proxy}
        house = House(ledger, opens=settings.sources is not None)
        worker = Worker(house, Rates.of(settings.rate), folder, **options)
        config = uvicorn.Config(
            worker.app,
            http=PatientProtocol,
            loop="asyncio",
            ws="none",
            access_log=False,
            log_level="error",
            server_header=False,
            date_header=True,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
            limit_concurrency=1_000,
            ssl_certfile=str(settings.tls_cert) if settings.tls_cert else None,
            ssl_keyfile=str(settings.tls_key) if settings.tls_key else None,
        )
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[held])


def answering_process(settings: ServerSettings, identity: str) -> None:
    """The process that has questions answered."""
    from margrave.serve.answering import answer_jobs
    from margrave.serve.kept.holding import Holder
    from margrave.serve.kept.tables import ServerTables
    from margrave.serve.opening import open_asked

    stopped = Event()
    for kind in (signal.SIGTERM, signal.SIGINT):
        signal.signal(kind, lambda number, frame: stopped.set())
    _until_orphaned(stopped)
    with Ledger.open(settings.ledger) as ledger:
        holder = Holder(ServerTables(ledger), identity)
        opener = Thread(target=open_asked, args=(settings.ledger, settings.sources, stopped, holder.held), daemon=True)
        opener.start()
        try:
            answer_jobs(ledger, stopped, timed=settings.timed, held=holder.held)
        finally:
            opener.join(_GRACE / 2)
            holder.release()
