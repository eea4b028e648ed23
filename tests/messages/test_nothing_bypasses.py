"""No fixed text of a report or of the explorer bypasses the catalogue of messages.

Pages are made in a language that puts every message in brackets, of releases whose every name begins with `qx`. What
then stands outside brackets is a name, a number, a file, a symbol, or a text that no translator would ever see.
"""

import re
from gettext import NullTranslations
from html.parser import HTMLParser

import pandas as pd
import pytest

import margrave as mg
from margrave.local.simulate import simulate
from margrave.messages.catalogue import ENGLISH, Messages, speaking
from margrave.noise import Generator
from margrave.planning.local.plan import make_local_plan
from margrave.planning.local.spec import LocalSpec
from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.routes import answer
from margrave.publish.explorer.site.writing import write_site
from margrave.publish.graphs.page import graph_page
from margrave.publish.local.page import local_page
from margrave.publish.local.release import LocalRelease
from margrave.publish.report.page import report_html
from margrave.spec.spec import Spec

pytestmark = pytest.mark.slow

_SAID = re.compile(r"⟦[^⟦⟧]*⟧")
_NAMES = re.compile(r"\bqx\w*")
_FILES = re.compile(r"[\w/*-]+\.(?:csv|json|parquet|html|toml|zip)\b|\b(?:tables|measurements)/")
_ADDRESSES = re.compile(r"\btable(?:\.html)?[?#]\S*")
_HASHES = re.compile(r"\b[0-9a-f]{12,64}\b")
_SYMBOLS = {"CSV", "JSON", "B", "ε", "ρ", "δ", "e", "Laplace", "Gauss"}
_WORD = re.compile(r"[^\W\d_]+")
_READ_ALOUD = ("aria-label", "alt", "title", "placeholder")


class Marked(NullTranslations):
    def gettext(self, message):
        return f"⟦{message}⟧"


class Brackets(Messages):
    """A language in which every message stands in brackets, and numbers are as in English."""

    @property
    def form(self):
        return ENGLISH.form


MARKED = Brackets("xx", Marked())


class Texts(HTMLParser):
    """All that a page says, to eyes and to those who have it read to them; code, styles and data apart."""

    def __init__(self):
        super().__init__()
        self.found, self._silent = [], 0

    def handle_starttag(self, tag, attrs):
        # What commands say of broken files is in English, and marked so.
        self._silent += tag in ("style", "script", "code") or (tag == "span" and ("lang", "en") in attrs)
        self.found += [value for name, value in attrs if name in _READ_ALOUD and value]

    def handle_endtag(self, tag):
        self._silent -= tag in ("style", "script", "code") or (tag == "span" and self._silent > 0)

    def handle_data(self, data):
        if not self._silent:
            self.found.append(data)


def bypassing(texts, names=()):
    """The words outside brackets that are no names, files or symbols, each with its text."""
    # A message may run over several pieces of text: a bracket opens in one and ends in another.
    text = "\n".join(texts)
    while text != (text := _SAID.sub(" ", text)):
        pass
    for pattern in (_ADDRESSES, _FILES, _NAMES, _HASHES):
        text = pattern.sub(" ", text)
    return sorted({word for word in _WORD.findall(text) if word not in _SYMBOLS and word not in names})


def said_by(page, names=()):
    reader = Texts()
    reader.feed(page)
    return bypassing(reader.found, names)


def spec(release, privacy, **more):
    return Spec.from_dict(
        {
            "title": "qxtitle",
            "attributes": {
                "qxa": {"title": "qxattribute", "values": ["qxno", "qxyes"]},
                "qxb": ["qx1", "qx2", "qx3"],
                "qxc": {"range": [1, 3]},
            },
            "release": release,
            "privacy": privacy,
            **more,
        }
    )


@pytest.fixture(scope="module")
def data():
    rows = [("qxno", "qx1", 1)] * 20 + [("qxyes", "qx3", 2)] * 12 + [("qxno", "qx2", 3)] * 2
    return pd.DataFrame(rows, columns=["qxa", "qxb", "qxc"])


PAIRS = [["qxa", "qxb"], ["qxb", "qxc"]]
RELEASES = {
    "large ε": spec({"tables": PAIRS}, {"epsilon": 12}),
    "unbiased": spec({"tables": PAIRS, "nonnegative": "none", "strategy": "fourier"}, {"rho": "0.1"}),
    "approximate": spec({"all": 3}, {"epsilon": 1, "delta": "1e-6", "neighbours": "replace"}),
    "sensitive": spec(
        {"tables": PAIRS, "sensitive": ["qxa"], "impossible": [{"qxa": "qxyes", "qxb": "qx1"}]}, {"epsilon": "0.5"}
    ),
    "facts": spec({"tables": PAIRS, "public": [["qxa"], ["qxb"], []]}, {"epsilon": 1}),
    "hardly any": spec({"all": 2}, {"epsilon": "0.01"}),
}


@pytest.mark.parametrize("name", RELEASES)
def test_reports_of_tables(name, data):
    out = mg.release(RELEASES[name], data, seed=1)
    with speaking(MARKED):
        page = report_html(out, "2026-01-31T12:00:00Z")
    assert said_by(page, {out.plan.strategy}) == []


def test_reports_of_many_tables():
    attributes = {f"qx{at}": ["qxno", "qxyes"] for at in range(20)}
    asked = {"title": "qxtitle", "attributes": attributes, "privacy": {"rho": 1}}
    out = mg.release(
        Spec.from_dict({**asked, "release": {"all": 3, "nonnegative": "none"}}),
        pd.DataFrame([dict.fromkeys(attributes, "qxno")] * 9),
        seed=1,
    )
    with speaking(MARKED):
        page = report_html(out)
    assert said_by(page, {out.plan.strategy}) == []


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("public", [False, True])
def test_reports_of_graphs(directed, public, tmp_path):
    (tmp_path / "edges.csv").write_text("one,other\nqxann,qxbob\nqxcid,qxann\nqxdan,qxbob\n", encoding="utf-8")
    sides = ("in_degrees", "out_degrees") if directed else ("degrees",)
    known = {side: ["qxann", "qxbob"] for side in sides} if public else {}
    document = {
        "title": "qxtitle",
        "data": {"source": str(tmp_path / "edges.csv"), "columns": ["one", "other"]},
        "graph": {"nodes": {"qxred": ["qxann", "qxbob"], "qxblue": ["qxcid", "qxdan"]}, "directed": directed, **known},
        "privacy": {"epsilon": 4} if public else {"rho": "0.5"},
    }
    out = mg.release(mg.plan(document), seed=1)
    with speaking(MARKED):
        page = graph_page(out, "2026-01-31T12:00:00Z", "margrave 1")
    assert said_by(page) == []


@pytest.mark.parametrize("shuffled", [False, True])
def test_reports_of_local_collections(shuffled):
    trusted = {"shuffler": "qxmixer", "delta": "1e-6"} if shuffled else {}
    document = {
        "title": "qxtitle",
        "attributes": {"qxa": ["qxno", "qxyes"], "qxb": ["qx1", "qx2", "qx3"]},
        "release": {"all": 2},
        "privacy": {"epsilon": 1},
        "local": {"expected_size": 4000, **trusted},
    }
    plan = make_local_plan(LocalSpec.load(document))
    codes = pd.DataFrame({"qxa": [0, 1] * 2000, "qxb": [0, 1, 2, 2] * 1000}).to_numpy()
    out = LocalRelease.of(plan, simulate(plan, codes, Generator.seeded(1)))
    with speaking(MARKED):
        page = local_page(out, "2026-01-31T12:00:00Z", "margrave 1")
    assert said_by(page, {one.mechanism.name for one in plan.questions}) == []


VIEWS = (
    "rows=qxa&columns=qxb",
    "rows=qxa",
    "rows=qxa&columns=qxb&share=rows&chart=bars",
    "rows=qxa&columns=qxb&rows=qxc&chart=panels&numbers=unbiased",
    "rows=qxb&columns=qxa&join.qxb=1:qx1&join.qxb=1:qx2&minus.qxa=qxno&chart=heat",
    "rows=qxa&rows=qxa",
    "rows=qxc&rows=qxa&columns=qxb",
    "rows=qxnothing",
)


@pytest.fixture(scope="module")
def shelf(data, tmp_path_factory):
    root = tmp_path_factory.mktemp("shelf")
    for name in ("large ε", "unbiased", "sensitive"):
        mg.release(RELEASES[name], data, seed=1).save(root / f"qx{name.replace(' ', '')}")
    (root / "qxbroken").mkdir()
    (root / "qxbroken" / "release.json").write_text("{}", encoding="utf-8")
    return library_of(root)


def test_pages_of_the_explorer(shelf):
    for entry in shelf.comparable:
        shelf.release(entry.key).simulate()
        pages = ["", "about", "checked", "report", "nowhere", "files/nothing", *(f"table?{view}" for view in VIEWS)]
        for page in pages:
            path, _, query = page.partition("?")
            found = answer(shelf, f"/r/{entry.key}/{path}", query, MARKED).body.decode()
            assert said_by(found, {shelf.release(entry.key).plan.strategy}) == [], page
    one, other = (entry.key for entry in shelf.comparable[:2])
    for query in ("", f"one={one}&other={other}&rows=qxa", f"one={one}&other={one}&rows=qxnothing"):
        assert said_by(answer(shelf, "/compare", query, MARKED).body.decode()) == []
    assert said_by(answer(shelf, "/", "", MARKED).body.decode()) == []
    assert said_by(answer(shelf, "/nowhere", "", MARKED).body.decode()) == []


TEXTS = """() => {
  const found = [], walk = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    if (!walk.currentNode.parentElement.closest("style, script, noscript, code")) found.push(walk.currentNode.data);
  }
  for (const one of document.querySelectorAll("[aria-label]")) found.push(one.getAttribute("aria-label"));
  return found;
}"""


def test_what_scripts_of_a_site_say(shelf, tmp_path, browser):
    write_site(shelf, tmp_path / "site", messages=MARKED)
    tab = browser.new_page()
    for entry in shelf.comparable:
        for view in VIEWS:
            tab.goto("about:blank")
            tab.goto(f"{(tmp_path / 'site').as_uri()}/r/{entry.key}/table.html#{view}")
            tab.wait_for_selector("body[data-ready]")
            assert bypassing(tab.evaluate(TEXTS)) == [], view
    one, other = (entry.key for entry in shelf.comparable[:2])
    tab.goto(f"{(tmp_path / 'site').as_uri()}/compare.html#one={one}&other={other}&rows=qxa&numbers=unbiased")
    tab.wait_for_selector("#drawings section:nth-of-type(3) table")
    assert bypassing(tab.evaluate(TEXTS)) == []
    tab.close()
