"""Every page of the explorer and its twins, by their addresses."""

import json
from html.parser import HTMLParser
from urllib.parse import urljoin

import pytest

from margrave.messages.catalogue import messages_of
from margrave.publish.csv_text import csv_text
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.routes import answer

VIEW = "rows=smoke&columns=age&numbers=unbiased"


class Links(HTMLParser):
    """Where a page leads to, and what it runs."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self.policy = [], 0, ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        said = dict(attributes)
        self.scripts += tag == "script" or any(name.startswith("on") for name in said)
        if said.get("http-equiv") == "Content-Security-Policy":
            self.policy = said["content"]
        if "href" in said:
            self.found.append(said["href"])


@pytest.fixture(scope="module")
def library(releases, tmp_path_factory):
    root = tmp_path_factory.mktemp("shelf")
    for name in ("raw", "total"):
        releases[name].save(root / name)
    return library_of(root)


@pytest.fixture(scope="module")
def key(library):
    return next(one.key for one in library.entries.values() if one.path.name == "raw")


def text(library, path, query=""):
    found = answer(library, path, query)
    assert found.status == 200, found.body.decode()
    return found.body.decode()


def test_every_link_of_every_page_leads_somewhere(library):
    seen, left = set(), [("/", "")]
    while left and len(seen) < 60:
        path, query = left.pop()
        if (path, query) in seen:
            continue
        seen.add((path, query))
        found = answer(library, path, query)
        assert found.status == 200, (path, query)
        if not found.kind.startswith("text/html"):
            continue
        page = Links(found.body.decode())
        assert page.scripts == 0
        assert page.policy == Served().policy
        for link in page.found:
            if not link.startswith("#"):
                target, _, more = link.partition("?")
                left.append((_joined(path, target), more))
    assert len(seen) > 20


def _joined(path, target):
    return urljoin(path, target) if target else path


def test_the_first_page_is_small(library):
    assert len(text(library, "/").encode()) < 100_000


def test_the_catalogue_says_how_private_and_how_accurate_releases_are(library):
    page = text(library, "/")
    assert "privacy loss <b>ε = 1</b>" in page
    assert "a typical interval reaches <b>±" in page


def test_searching_finds_titles_by_their_words(library):
    assert "A small survey" in text(library, "/", "q=SURVEY+small")
    assert "A small survey" not in text(library, "/", "q=large")
    assert len(json.loads(text(library, "/catalogue.json"))["releases"]) == 2


def test_downloads_are_what_show_prints(library, key, releases):
    frame = releases["raw"].noisy("smoke", "age")
    assert text(library, f"/r/{key}/table.csv", VIEW) == csv_text(frame)
    assert json.loads(text(library, f"/r/{key}/table.json", VIEW))["rows"] == frame.to_dict(orient="records")


def test_files_of_the_bundle_are_given_as_they_are(library, key):
    path = library.entries[key].path / "release.json"
    assert answer(library, f"/r/{key}/files/release.json", "").body == path.read_bytes()
    for name in ("../total/release.json", "/etc/passwd", "nothing.csv", ""):
        assert answer(library, f"/r/{key}/files/{name}", "").status == 404


def test_a_view_that_the_release_cannot_show_says_why_and_keeps_the_form(library, key):
    found = answer(library, f"/r/{key}/table", "rows=smoke&columns=unbiased&numbers=unbiased")
    assert found.status == 400
    assert "says nothing about smoke, unbiased together" in found.body.decode()
    assert "<form" in found.body.decode()


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [("/nothing", "", 404), ("/r/000000000000/", "", 404), ("/r/{}/nothing", "", 404), ("/r/{}/table", "share=x", 400)],
)
def test_what_is_not_there_is_said_on_a_page(library, key, path, query, status):
    found = answer(library, path.format(key), query)
    assert found.status == status
    assert "That does not work" in found.body.decode()


def test_pages_are_german_for_those_who_ask_for_it(library, key):
    page = answer(
        library, f"/r/{key}/table", "rows=smoke&columns=age&numbers=unbiased", messages_of("de")
    ).body.decode()
    assert '<html lang="de">' in page
    assert "Diese Tabelle ändern" in page
    assert "Change this table" not in page
