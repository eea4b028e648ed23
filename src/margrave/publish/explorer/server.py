"""A small server for one person, on the loopback address: it reads bundles, writes nothing, ends with its command."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from margrave.messages.catalogue import preferred
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.library import Library
from margrave.publish.explorer.routes import answer

HOST = "127.0.0.1"
_ALONE = "; frame-ancestors 'none'"
_HEADERS = {
    "Content-Security-Policy": Served().policy + _ALONE,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class ExplorerServer(ThreadingHTTPServer):
    """Serves the pages of a library; port 0 is any that is free."""

    daemon_threads = True

    def __init__(self, library: Library, port: int = 0) -> None:
        super().__init__((HOST, port), _Handler)
        self.library = library

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: ExplorerServer
    server_version = "Margrave"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        # A page from elsewhere whose name is made to lead here must not read what is here.
        if self.headers.get("Host") not in (
            f"{HOST}:{self.server.server_port}",
            f"localhost:{self.server.server_port}",
        ):
            self.send_error(421)
            return
        parts = urlsplit(self.path)
        messages = preferred(self.headers.get("Accept-Language", ""))
        found = answer(self.server.library, unquote(parts.path), parts.query, messages)
        self.send_response(found.status)
        own = {"Content-Security-Policy": found.policy + _ALONE} if found.policy else {}
        for name, value in {**_HEADERS, **own}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", found.kind)
        self.send_header("Content-Length", str(len(found.body)))
        if found.name:
            self.send_header("Content-Disposition", f'attachment; filename="{found.name}"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Who looks at what is nobody's business."""
