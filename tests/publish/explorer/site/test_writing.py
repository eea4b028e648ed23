"""The explorer as files: every link leads to a file, and what is for machines is what `margrave show` prints."""

import json
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin

import pytest

from margrave.errors import RefusedError
from margrave.messages.catalogue import messages_of
from margrave.publish.csv_text import csv_text
from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.site import writing as module
from margrave.publish.explorer.site.writing import write_site


class Targets(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src")]


def test_every_link_leads_to_a_file(site):
    for page in site.rglob("*.html"):
        if "files" in page.parts:
            continue
        for target in Targets(page.read_text()).found:
            file = unquote(urljoin(page.as_uri(), target.partition("#")[0])).removeprefix("file://")
            assert page.parent.joinpath(file).is_file(), (page, target)


def test_a_large_site_is_written_only_when_asked_for(shelf, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ASKED_BYTES", 1000)
    with pytest.raises(RefusedError, match="--large"):
        write_site(shelf, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_site_can_be_limited_to_some_tables(shelf, tmp_path, keys):
    write_site(shelf, tmp_path / "site", tables=["age,smoke"])
    assert [one.name for one in (tmp_path / "site" / "r" / keys["laplace"]).glob("table-*.csv")] == ["table-1.csv"]


def test_whoever_waits_for_a_site_is_told_how_far_it_is(shelf, tmp_path):
    told = []
    write_site(shelf, tmp_path / "site", progress=lambda done, total, misfit=None: told.append((done, total)))
    files = sum(1 for one in (tmp_path / "site").rglob("*") if one.is_file())
    assert told == [(done, files) for done in range(1, files + 1)]


def test_files_for_machines_are_what_show_prints(site, keys, releases):
    frame = releases["laplace"].table("smoke", "age")
    folder = site / "r" / keys["laplace"]
    assert (folder / "table-1.csv").read_text() == csv_text(frame)
    assert json.loads((folder / "table-1.json").read_text())["rows"] == frame.to_dict(orient="records")


def test_pages_are_in_the_language_that_is_asked_for(releases, tmp_path):
    write_site(library_of(releases["total"].save(tmp_path / "total")), tmp_path / "site", messages=messages_of("de"))
    page = next((tmp_path / "site" / "r").glob("*/table.html")).read_text()
    assert '<html lang="de">' in page
    assert '"exact": "genau"' in page  # what the script of the page says
