"""Every page of the explorer and its twins, by their addresses."""

import io
import json
from html.parser import HTMLParser
from threading import Event
from urllib.parse import urljoin

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.errors import UsageError
from margrave.messages.catalogue import messages_of
from margrave.planning.plan import Plan
from margrave.publish.csv_text import csv_text
from margrave.publish.explorer import library as module
from margrave.publish.explorer import routes
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.pages import table
from margrave.publish.explorer.pages.release import LISTED
from margrave.publish.explorer.routes import answer
from margrave.publish.explorer.site.writing import write_site
from margrave.publish.report.cross import Cross, cross_table
from margrave.publish.report.values import Intervals, Titled
from margrave.spec.spec import Spec
from tests.publish.graphs.friends import EDGES
from tests.publish.graphs.friends import SPEC as FRIENDS

VIEW = "rows=smoke&columns=age&numbers=unbiased"


class Links(HTMLParser):
    """Where a page leads to, and what it runs."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self.policy = [], 0, ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        said = dict(attributes)
        runs = tag == "script" and said.get("type") != "application/ld+json"  # data for machines, which nothing runs
        self.scripts += runs or any(name.startswith("on") for name in said)
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
        # A report has a style sheet of its own: its policy, and that which comes with it, name the same hash.
        assert page.policy == Served().policy or page.policy.split("; ")[1] == found.policy.split("; ")[1], path
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


def test_the_catalogue_has_the_same_list_as_csv_and_as_json(library):
    listed = json.loads(text(library, "/catalogue.json"))["releases"]
    table = pd.read_csv(io.StringIO(text(library, "/catalogue.csv")), dtype=str)
    assert list(table.columns) == list(listed[0])
    assert list(table["key"]) == [one["key"] for one in listed] == [one.key for one in library.search("")]
    assert set(table["guarantee"]) == {"ε = 1"}
    found = Links(text(library, "/", "q=small")).found
    for kind in ("csv", "json"):
        (target,) = [one for one in found if one.startswith(f"catalogue.{kind}")]
        assert answer(library, f"/catalogue.{kind}", target.partition("?")[2]).status == 200
    assert text(library, "/catalogue.csv", "q=nowhere").splitlines() == [",".join(listed[0])]


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
    assert "says nothing about Smoking, unbiased together" in found.body.decode()
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


def test_where_no_kind_of_numbers_is_named_there_are_those_that_the_release_has(library, key):
    assert "Unbiased numbers" in text(library, f"/r/{key}/table", "rows=smoke")
    assert "Build a table" in text(library, f"/r/{key}/")
    assert '<table class="bar-table">' in text(library, f"/r/{key}/table")


def test_a_share_of_nobody_is_no_number_and_the_others_are_shaded():
    nobody = np.array([[np.nan, 0.25, 0.75]])
    drawn = cross_table(Cross(Titled("", ("",)), Titled("", ("a", "b", "c")), Intervals(nobody, nobody, nobody)), "")
    assert drawn.count("<td>–</td>") == 1
    assert drawn.count('<td class="s') == 2


def test_the_same_view_of_two_releases_has_twins_for_machines(library, key):
    other = next(one for one in library.entries if one != key)
    query = f"one={key}&other={other}&rows=smoke&numbers=unbiased"
    assert "compare.csv?one=" in text(library, "/compare", query)
    lines = text(library, "/compare.csv", query).splitlines()
    names = ("first", "second", "difference")
    assert lines[0] == ",".join(["smoke", *(f"{name}{end}" for name in names for end in ("", "_low", "_high"))])
    said = json.loads(text(library, "/compare.json", query))
    assert (said["one"], said["other"], said["view"]) == (key, other, "rows=smoke&numbers=unbiased")
    for row, line in zip(said["rows"], lines[1:], strict=True):
        assert row["difference"] == pytest.approx(row["second"] - row["first"], abs=1e-6)
        assert [str(value) for value in row.values()] == line.split(",")


def test_a_release_that_holds_no_tables_leads_to_its_report_and_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(EDGES, columns=["one", "other"]).to_csv("friends.csv", index=False)
    (tmp_path / "friends.toml").write_text(FRIENDS, encoding="utf-8")
    library = library_of(mg.release(mg.plan("friends.toml"), seed=1).save(tmp_path / "out"))
    (key,) = library.entries
    assert f"r/{key}/" in text(library, "/")
    page = text(library, f"/r/{key}/")
    assert "Read the report" in page
    assert "files/blocks.csv" in page
    found = answer(library, f"/r/{key}/report", "", messages_of("de"))
    assert "Kanten nach den Gruppen ihrer Enden" in found.body.decode()
    assert "style-src 'sha256-" in found.policy
    monkeypatch.setattr(routes, "report_of", lambda entry: pytest.fail("made again"))
    assert answer(library, f"/r/{key}/report", "", messages_of("de")) == found
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert "Every file is as it was written." in text(library, f"/r/{key}/checked")
    assert answer(library, f"/r/{key}/table", "").status == 400
    write_site(library, tmp_path / "site")
    assert (tmp_path / "site" / "r" / key / "files" / "blocks.csv").is_file()
    assert "report.html" in (tmp_path / "site" / "r" / key / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A release of 1,350 tables, which is laid out as a large one."""
    names = [f"a{at:02}" for at in range(20)]
    spec = Spec.from_dict(
        {
            "title": "Many",
            "attributes": {name: {"values": ["no", "yes"], "title": f"Question {name[1:]}"} for name in names},
            "release": {"all": 3, "nonnegative": "none"},
            "privacy": {"rho": 1},
        }
    )
    out = mg.release(spec, pd.DataFrame([dict.fromkeys(names, "no")] * 9), seed=1)
    return library_of(out.save(tmp_path_factory.mktemp("many") / "out"))


@pytest.mark.slow
def test_of_many_tables_a_page_lists_some_and_finds_others(many, monkeypatch):
    (key,) = many.entries
    page = text(many, f"/r/{key}/")
    assert page.count("<li><a") == LISTED + len(many.entries[key].files) + 1
    assert "Tables 1 to 200." in page
    assert "?q=&amp;from=200" in page
    assert "Tables 201 to 400." in text(many, f"/r/{key}/", "q=&from=200")
    assert "Question 03 × Question 07 × Question 19" in text(many, f"/r/{key}/", "q=a03+question+19+07")
    assert "No table has these attributes." in text(many, f"/r/{key}/", "q=nothing")
    for wrong in ("q=&from=-1", "q=&from=x", "q=&from=99999999999999999999"):
        assert answer(many, f"/r/{key}/", wrong).status == 200
    # Of so many attributes the form offers the values of those that are shown.
    monkeypatch.setattr(table, "_MOST_OFFERED", 10)
    page = text(many, f"/r/{key}/table", "rows=a01&columns=a02")
    assert page.count('name="rows"') == 20
    assert 'name="keep.a01"' in page
    assert 'name="keep.a03"' not in page


@pytest.mark.slow
def test_a_release_that_is_long_in_opening_says_so_and_its_forecast_is_not_made_for_all_tables(many, monkeypatch):
    library = library_of(next(iter(many.entries.values())).path)
    (key,) = library.entries
    go = Event()
    monkeypatch.setattr(module, "_LONG", 1)
    monkeypatch.setattr(module, "load", lambda path, load=module.load: (go.wait(30), load(path))[1])
    found = answer(library, f"/r/{key}/", "")
    assert found.status == 202
    assert "The release is being read" in found.body.decode()
    go.set()
    monkeypatch.setattr(Plan, "forecast_at", lambda self, level: pytest.fail("forecast of all tables"))
    while answer(library, f"/r/{key}/", "").status == 202:
        pass
    assert answer(library, f"/r/{key}/table", "rows=a01&columns=a02").status == 200


@pytest.mark.slow
def test_a_site_of_some_of_many_tables_has_only_those(many, tmp_path):
    (key,) = many.entries
    with pytest.raises(UsageError, match="must name the attributes of a released table"):
        write_site(many, tmp_path / "site", tables=["a01,nothing"])
    write_site(many, tmp_path / "site", tables=["a01,a02", "a03"])
    folder = tmp_path / "site" / "r" / key
    assert len(list(folder.glob("table-*.csv"))) == 2
    assert not (folder / "files").exists()
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count('href="table-') == 2
    assert "has only some tables of the release" in page
