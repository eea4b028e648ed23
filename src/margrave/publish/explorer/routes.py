"""From an address to an answer: every page of the explorer, and its twins for machines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from margrave.errors import MargraveError, UsageError, VerificationError
from margrave.files.untrusted import MOST_REPORT
from margrave.messages.catalogue import ENGLISH, Messages, say, speaking
from margrave.publish.bundle.account import unsealed
from margrave.publish.bundle.untrusted.reading import manifest_content, opened
from margrave.publish.bundle.words import MANIFEST
from margrave.publish.explorer import pages
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.compare import compared
from margrave.publish.explorer.figures import figures, simulates
from margrave.publish.explorer.library import KEY, Entry, Library
from margrave.publish.explorer.twins import view_csv, view_json
from margrave.publish.explorer.view import read
from margrave.publish.released import Released
from margrave.publish.report.values import written
from margrave.publish.verification.verify import verify

_RELEASE = re.compile(rf"/r/([0-9a-f]{{{KEY}}})/(.*)")
HTML, JSON, CSV, BYTES = "text/html", "application/json", "text/csv", "application/octet-stream"


@dataclass(frozen=True)
class Answer:
    """What is sent back; ``name`` is that of a file to keep."""

    status: int
    kind: str
    body: bytes
    name: str = ""

    @classmethod
    def text(cls, kind: str, text: str, status: int = 200, name: str = "") -> Answer:
        return cls(status, f"{kind}; charset=utf-8", text.encode(), name)


def answer(library: Library, path: str, query: str, messages: Messages = ENGLISH) -> Answer:
    """The answer to an address; what goes wrong is said on a page."""
    to = Served("../" * (path.count("/") - 1) or "./")
    with speaking(messages):
        try:
            return _found(library, path, query, to)
        except UsageError as error:
            return Answer.text(HTML, pages.problem_page(str(error), to), 400)
        except MargraveError as error:
            return Answer.text(HTML, pages.unreadable_page(str(error), to), 500)


def _found(library: Library, path: str, query: str, to: Served) -> Answer:
    wanted = dict(parse_qsl(query, max_num_fields=100)).get("q", "") if path in ("/", "/catalogue.json") else ""
    if path == "/":
        return Answer.text(HTML, pages.catalogue_page(library, wanted, to))
    if path == "/catalogue.json":
        return Answer.text(JSON, catalogue_json(library.search(wanted)))
    if path == "/compare":
        return _compared(library, query, to)
    match = _RELEASE.fullmatch(path)
    if match is None or match[1] not in library.entries:
        return Answer.text(HTML, pages.problem_page(say("There is no page of this address."), to), 404)
    return _of_release(library, library.entries[match[1]], match[2], query, to)


def _compared(library: Library, query: str, to: Served) -> Answer:
    """Two releases, by the words ``one`` and ``other``; the rest of the address is the view."""
    pairs = parse_qsl(query, max_num_fields=1000)
    said = dict(pairs)
    keys = (said.get("one", ""), said.get("other", ""))
    view = read(urlencode([pair for pair in pairs if pair[0] not in ("one", "other")]))
    if not any(keys):
        return Answer.text(HTML, pages.compare_page(library, keys, view, "", to))
    try:
        found = compared(library.release(keys[0]), library.release(keys[1]), view)
    except UsageError as error:
        return Answer.text(HTML, pages.compare_page(library, keys, view, str(error), to), 400)
    return Answer.text(HTML, pages.compare_page(library, keys, view, found, to))


def catalogue_json(entries: list[Entry]) -> str:
    found = [{"key": e.key, "digest": e.digest, "title": e.title, "created": e.created, "way": e.way} for e in entries]
    return json.dumps({"releases": found}, indent=2, ensure_ascii=False)


def _of_release(library: Library, entry: Entry, rest: str, query: str, to: Served) -> Answer:
    if rest.startswith("files/"):
        return _file(entry, rest.removeprefix("files/"), to)
    release = library.release(entry.key)
    if rest == "":
        return Answer.text(HTML, pages.release_page(release, entry, lengths(entry), to))
    if rest == "about":
        return Answer.text(HTML, pages.about_page(release, to))
    if rest == "checked":
        return Answer.text(HTML, _checked(release, entry, to))
    if rest == "table":
        view = read(query)
        try:
            if simulates(release, view) and (making := library.simulations.unfinished(entry.key, release)):
                return Answer.text(HTML, pages.waiting_page(release, making, to), 202)
            found = figures(release, view)
        except UsageError as error:
            return Answer.text(HTML, pages.table_page(release, entry, view, str(error), to), 400)
        return Answer.text(HTML, pages.table_page(release, entry, view, found, to))
    if rest == "table.csv":
        return Answer.text(CSV, view_csv(release, figures(release, read(query))), name="table.csv")
    if rest == "table.json":
        return Answer.text(JSON, view_json(release, figures(release, read(query))))
    return Answer.text(HTML, pages.problem_page(say("There is no page of this address."), to), 404)


def _checked(release: Released, entry: Entry, to: Served) -> str:
    """The page of what is found when the files of a release are checked just now."""
    try:
        with speaking(ENGLISH):  # as files are written
            found = verify(entry.path)
    except VerificationError as error:
        return pages.checked_page(release, str(error), (), to)
    said = [
        say("%(count)s files are as they were written.", count=written(found.files)),
        say("%(count)s tables follow from the measurements.", count=written(found.tables)),
    ]
    if found.signer is not None:
        said.append(say("Signed by the key %(key)s.", key=found.signer.fingerprint))
    return pages.checked_page(release, "", said, to)


def lengths(entry: Entry) -> dict[str, int]:
    """The files of a bundle, as its `release.json` lists them, and that itself."""
    with opened(entry.path) as files:
        content = manifest_content(files)
    listed = unsealed(content)["files"]
    return {MANIFEST: len(content), **{name: int(said["bytes"]) for name, said in listed.items()}}


def _file(entry: Entry, name: str, to: Served) -> Answer:
    """A file of the bundle, as it is."""
    with opened(entry.path) as files:
        if name not in files.names:
            return Answer.text(HTML, pages.problem_page(say("The bundle has no file of this name."), to), 404)
        content = manifest_content(files) if name == MANIFEST else files.read(name, MOST_REPORT)
    return Answer(200, BYTES, content, name.rpartition("/")[2])
