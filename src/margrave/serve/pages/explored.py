"""Released tables for everybody: the explorer's own pages, over the releases that this server has published."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

from margrave.files.writing import replace_file
from margrave.messages.catalogue import preferred
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.library import Library, library_of
from margrave.publish.explorer.routes import answer
from margrave.serve.operations.declared import House, HttpReply
from margrave.serve.operations.releases import bundle_bytes, published
from margrave.serve.pages.frame import redirect

_POLICY = {"Content-Security-Policy": Served().policy + "; frame-ancestors 'none'"}


class Shelf:
    """The published bundles as files of a folder of this worker, fetched from the store when they are new."""

    def __init__(self, house: House, folder: Path) -> None:
        self._house, self._folder, self._lock = house, folder, Lock()
        self._known: tuple[str, ...] = ()
        self._library = Library({})

    def library(self) -> Library:
        ids = tuple(one.id for one in published(self._house))
        with self._lock:
            if ids != self._known:
                for one in ids:
                    path = self._folder / f"{one}.zip"
                    if not path.exists():
                        replace_file(path, bundle_bytes(self._house, one))
                self._library, self._known = library_of(self._folder), ids
            return self._library

    def shown(self, path: str, query: str, languages: str) -> HttpReply:
        """A page of the explorer, or one of its twins for machines."""
        library = self.library()
        if not library.entries:
            return redirect("/")
        found = answer(library, path, query, preferred(languages))
        own = {"Content-Security-Policy": f"{found.policy}; frame-ancestors 'none'"} if found.policy else {}
        kept = {"Content-Disposition": f'attachment; filename="{found.name}"'} if found.name else {}
        return HttpReply(content=found.body, status=found.status, media=found.kind, headers={**_POLICY, **own, **kept})
