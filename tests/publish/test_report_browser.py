"""The report in a real Chromium: on desktops and phones, in the light, in the dark and on paper, for any number of
tables; and what axe finds in it."""

import os
from itertools import combinations, islice, product

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.publish.report.page import report_pages
from margrave.spec.spec import Spec

pytestmark = pytest.mark.slow

WIDTHS = (1280, 390, 320)
SIZES = (1, 3, 67, 500)
SERIOUS = ("serious", "critical")
LOOK = """() => {
  const page = document.documentElement, row = document.querySelector("tbody tr");
  const hidden = [...document.querySelectorAll("th, td b, td small, h3")].filter(
    (one) => getComputedStyle(one).textOverflow === "ellipsis" || one.scrollWidth > one.clientWidth + 1 &&
      getComputedStyle(one).overflow === "hidden");
  return {
    width: page.scrollWidth, cut: hidden.length, requests: performance.getEntriesByType("resource").length,
    scripts: [...document.scripts].filter((one) => one.type !== "application/ld+json").length,
    paper: getComputedStyle(document.body).backgroundColor, breaks: getComputedStyle(row).breakInside,
    folded: [...document.querySelectorAll("details.folded > div")].filter((one) => one.checkVisibility()).length,
  };
}"""


def made(count):
    """A release of so many tables of two attributes, with long names among them."""
    attributes = next(size for size in range(2, 60) if size * (size + 1) // 2 >= count)
    names = [f"attribute {index}" if index else "an attribute with a long name indeed" for index in range(attributes)]
    values = {name: [f"value {letter}" for letter in "abcdefgh"[: 2 + at % 4]] for at, name in enumerate(names)}
    tables = [list(margin) for margin in islice((*combinations(names, 2), *combinations(names, 1)), count)]
    release = {"tables": tables, "strategy": "residual", "nonnegative": "none"}
    spec = Spec.from_dict({"attributes": values, "release": release, "privacy": {"rho": "0.5"}})
    random = np.random.default_rng(count)
    frame = pd.DataFrame({name: random.choice(listed, 500) for name, listed in values.items()})
    return mg.release(spec, frame, seed=count)


@pytest.fixture(scope="module")
def folders(tmp_path_factory, reports):
    """The first page of a report of 1, 3, 67 and 500 tables; that of three has simulated bars and shares."""
    root, found = tmp_path_factory.mktemp("sizes"), {3: reports["journey"]}
    for size in (1, 67, 500):
        for name, content in report_pages(made(size), None, "margrave 0"):
            path = root / str(size) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        found[size] = root / str(size) / "report.html"
    return found


@pytest.fixture(scope="module")
def opened(browser):
    """Pages as people see them."""
    tabs = []

    def show(path, width=1280, fragment="", **media):
        tab = browser.new_page(viewport={"width": width, "height": 900}, **media)
        tabs.append(tab)
        tab.goto(path.as_uri() + fragment)
        return tab

    yield show
    for tab in tabs:
        tab.close()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen_or_cut(opened, folders, size, scheme):
    tab = opened(folders[size], color_scheme=scheme)
    papers = set()
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        found = tab.evaluate(LOOK)
        assert found["width"] == width
        assert found["cut"] == found["requests"] == found["scripts"] == 0
        papers.add(found["paper"])
    assert papers == {"rgb(255, 255, 255)" if scheme == "light" else "rgb(17, 23, 29)"}


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_and_long_names_fit(opened, reports, width):
    found = opened(reports["hostile"], width).evaluate(LOOK)
    assert found["width"] == width
    assert found["cut"] == found["scripts"] == 0


@pytest.mark.parametrize("size", SIZES)
def test_on_paper_every_table_is_unfolded_and_no_row_is_broken(opened, folders, size):
    tab = opened(folders[size], 794)
    before = tab.evaluate(LOOK)
    tab.emulate_media(media="print")
    found = tab.evaluate(LOOK)
    assert found["breaks"] == "avoid" != before["breaks"]
    assert before["folded"] == 0
    assert found["folded"] == max(0, min(size, 200) - 3 if size > 12 else 0)
    assert found["width"] <= 794
    assert found["paper"] == "rgb(255, 255, 255)"
    if size == 3:
        assert tab.pdf(format="A4").startswith(b"%PDF")


def test_paper_has_the_shares_of_many_tables_and_leaves_the_lists_for_statisticians_out(opened, tmp_path):
    values = {name: ["yes", "no"] for name in "abcdef"}
    spec = Spec.from_dict({"attributes": values, "release": {"all": 2}, "privacy": {"rho": "0.5"}})
    frame = pd.DataFrame({name: [("yes", "no")[n >> at & 1] for n in range(640)] for at, name in enumerate(values)})
    [(_, content)] = report_pages(mg.release(spec, frame, seed=1), None, "margrave 0")
    (tmp_path / "report.html").write_bytes(content)
    tab = opened(tmp_path / "report.html", 794)
    tab.emulate_media(media="print")
    inside = "[...document.querySelectorAll('.folded details')]"
    seen = tab.evaluate(f"{inside}.map((one) => [one.querySelector('summary').textContent, one.checkVisibility()])")
    assert {(name.startswith("As shares"), there) for name, there in seen} == {(True, True), (False, False)}


@pytest.mark.parametrize("columns", [16, 32])
def test_tables_of_many_columns_are_printed_across_the_page_with_all_their_columns(opened, tmp_path, columns):
    values = {"down": {"range": [0, 39]}, "across": {"range": [0, columns - 1]}}
    release = {"tables": [["down", "across"]], "strategy": "residual", "nonnegative": "none"}
    spec = Spec.from_dict({"attributes": values, "release": release, "privacy": {"rho": "0.5"}})
    frame = pd.DataFrame({"down": [n % 40 for n in range(90_000)], "across": [n % columns for n in range(90_000)]})
    [(_, content)] = report_pages(mg.release(spec, frame, seed=1), None, "margrave 0")
    (tmp_path / "report.html").write_bytes(content)
    tab = opened(tmp_path / "report.html", 1046)  # 277 mm, the width of A4 across, without margins
    tab.emulate_media(media="print")
    table = "document.querySelector('table.cross')"
    assert tab.evaluate(f"getComputedStyle({table}.closest('article')).page") == "across"
    assert tab.evaluate(f"{table}.getBoundingClientRect().right") <= 1046


WHOLE = bool(os.environ.get("MARGRAVE_SOAK"))
"""Whether axe looks at every page in every way, as `make soak` has it; otherwise at a part of them."""
AXE = [(size, width, scheme) for size in (1, 3) for width, scheme in ((1280, "light"), (390, "dark"), (320, "light"))]
AXE += [(3, 794, "print"), (67, 1280, "light"), (500, 390, "dark")]
if WHOLE:
    AXE = list(product(SIZES, WIDTHS, ("light", "dark", "print")))


@pytest.mark.parametrize(("size", "width", "scheme"), AXE)
def test_axe_finds_nothing_serious(opened, folders, size, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    # Colours are the same on every page, and looking at all of them takes longest.
    rules = {"color-contrast": {"enabled": WHOLE or size < 100}}
    tab = opened(folders[size], width, color_scheme="dark" if scheme == "dark" else "light")
    if scheme == "print":
        tab.emulate_media(media="print")
    found = Axe().run(tab, options={"resultTypes": ["violations"], "rules": rules}).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS] == []


def test_axe_would_find_a_fault(opened, folders, tmp_path):
    from axe_playwright_python.sync_playwright import Axe

    text = folders[1].read_text(encoding="utf-8").replace("--muted: #55626f", "--muted: #dddddd")
    assert "unsafe" not in text
    # The policy of the page allows its own style sheet alone, and not one that somebody changed.
    text = text.replace('http-equiv="Content-Security-Policy"', 'name="no-policy"')
    (tmp_path / "pale.html").write_text(text.replace('lang="en"', ""), encoding="utf-8")
    found = Axe().run(opened(tmp_path / "pale.html")).response["violations"]
    assert {"color-contrast", "html-has-lang"} <= {one["id"] for one in found if one["impact"] in SERIOUS}


def test_a_link_to_a_folded_table_unfolds_it(opened, folders):
    tab = opened(folders[67], fragment="#table-40")
    assert tab.evaluate("document.querySelector('#table-40').checkVisibility()")
    assert not tab.evaluate("document.querySelector('#table-41').checkVisibility()")


def test_the_keyboard_reaches_contents_tables_and_folds(opened, folders):
    tab = opened(folders[3])
    reached = set()
    for _ in range(60):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.tagName + '.' + document.activeElement.className"))
    assert {"A.skip", "A.", "DIV.scroll", "SUMMARY."} <= reached
