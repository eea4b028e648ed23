"""The documentation is a site of the pages in docs/: it builds without a warning, and needs no network."""

import json
import os
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]


class Links(HTMLParser):
    """Where a page leads, what it loads, and the places in it."""

    def __init__(self, text):
        super().__init__()
        self.leads, self.loads, self.places = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.places |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.leads.add(found["href"])
        elif tag in ("script", "img", "iframe") and found.get("src"):
            self.loads.add(found["src"])
        elif tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.add(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_there_and_every_link_leads_somewhere(site):
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} <= {path.stem for path in pages}
    lost = []
    for path, found in pages.items():
        for target in found.leads | found.loads:
            if re.match(r"https?:|mailto:|data:|javascript:", target) or path.name == "404.html":
                continue
            file, place = urldefrag(unquote(target))
            there = (path.parent / file).resolve() if file else path
            if not there.exists() or (place and there in pages and place not in pages[there].places | {"__tabbed"}):
                lost.append((path.name, target))
        assert not re.search(r"^(```|## )", path.read_text(encoding="utf-8"), re.M), path.name
    assert lost == []


def test_no_page_loads_anything_from_elsewhere(site):
    for path in site.rglob("*.html"):
        loads = Links(path.read_text(encoding="utf-8")).loads
        assert [one for one in loads if re.match(r"(https?:)?//", one)] == [], path.name


def test_it_can_be_searched_without_a_network(site):
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert any("residual" in one["text"] for one in found)


def test_the_glossary_is_the_list_that_the_report_shows():
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))["glossary"]()
    assert (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8") == made
