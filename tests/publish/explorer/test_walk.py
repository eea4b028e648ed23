"""What somebody does in a real Chromium: from a folder without a network, without scripts, by keyboard alone."""

import io
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest

import margrave as mg
from margrave.publish.explorer.compare import compared
from margrave.publish.explorer.figures import figures
from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.site.writing import write_site
from margrave.publish.explorer.twins import compared_frame, frame_of
from margrave.publish.explorer.view import read
from margrave.publish.report.values import percentage, written
from margrave.publish.verification.verify import verify

pytestmark = pytest.mark.slow

CELLS = "#drawing tbody td:not([data-all]) b"
BUNDLED = ("fungus", "czech", "rochdale", "journey")


@pytest.fixture(scope="module")
def bundled(tmp_path_factory):
    """Releases of every bundled data set, and one site of them all."""
    root = tmp_path_factory.mktemp("bundled")
    (root / "shelf").mkdir()
    for name in BUNDLED:
        mg.release(mg.examples.path(name), seed=1).save(root / "shelf" / name)
    library = library_of(root / "shelf")
    write_site(library, root / "site")
    return library, root / "site"


@pytest.fixture(params=["laplace", *BUNDLED])
def walked(request, shelf, site, keys):
    """A site, one of its releases, and the key of that."""
    if request.param in keys:
        return site, shelf.release(keys[request.param]), keys[request.param]
    library, place = request.getfixturevalue("bundled")
    (key,) = [key for key, one in library.entries.items() if one.path.name == request.param]
    return place, library.release(key), key


def shown(tab):
    return tab.locator(CELLS).all_inner_texts()


def expected(release, address):
    """The numbers of a view, as its table has them."""
    view = read(address)
    cells = figures(release, view).cells
    write = written if view.share == "none" else percentage
    return [write(float(v), float(w)) for v, w in zip(cells.value.ravel(), cells.width.ravel(), strict=True)]


def address_of(tab):
    return tab.evaluate("location.hash.slice(1)")


def settled(tab, release, word):
    """Once the address has a word, the page shows the numbers that Python computes."""
    tab.wait_for_function("(word) => location.hash.includes(word)", arg=word)
    tab.wait_for_function(
        "([cells, text]) => [...document.querySelectorAll(cells)].map((b) => b.textContent).join() === text",
        arg=[CELLS, ",".join(expected(release, address_of(tab)))],
    )


def test_from_a_folder_without_a_network_tables_are_found_built_kept_and_verified(walked, browser, tmp_path):
    site, release, key = walked
    first, second = release.plan.spec.margins[0][:2]
    values = release.domain[second].values
    context = browser.new_context(offline=True, accept_downloads=True)
    tab = context.new_page()
    problems = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto((site / "index.html").as_uri())
    tab.fill("#q", release.plan.spec.title or "")
    tab.click(f'.shelf li:not([hidden]) a[href*="{key}"]')
    tab.click("a.action")
    tab.wait_for_selector("body[data-ready]")
    tab.check(f'input[name="rows"][value="{first}"]')
    settled(tab, release, "rows=")
    tab.check(f'input[name="columns"][value="{second}"]')
    settled(tab, release, "columns=")
    _collapse(tab, release, second, values)
    tab.select_option('select[name="share"]', "rows")
    settled(tab, release, "share=rows")
    _fresh(tab, browser)
    tab.select_option('select[name="share"]', "none")
    tab.wait_for_function("!location.hash.includes('share')")
    _kept(tab, release, tmp_path)
    if (more := tab.locator("#steps a", has_text="as well")).count():
        before = address_of(tab)
        more.first.click()
        tab.wait_for_function("(before) => location.hash.slice(1) !== before", arg=before)
        settled(tab, release, "rows=")
    _verified(tab, site, key)
    assert problems == []
    context.close()


def _collapse(tab, release, name, values):
    if len(values) < 3:
        return
    tab.locator(f'fieldset:has(input[value="{name}"]) summary').first.click()
    for value in values[:2]:
        tab.select_option(f'select[name="join.{name}"] >> nth={values.index(value)}', f"1:{value}")
    settled(tab, release, f"1%3A{values[1]}")


def _fresh(tab, browser):
    """The permanent link shows the same in another browser."""
    context = browser.new_context(offline=True)
    other = context.new_page()
    other.goto(tab.locator("#permanent").get_attribute("href"))
    other.wait_for_selector("body[data-ready]")
    assert shown(other) == shown(tab)
    assert other.locator("#drawing").inner_text() == tab.locator("#drawing").inner_text()
    context.close()


def _kept(tab, release, folder):
    """The numbers that are downloaded are those that Python has of the view."""
    with tab.expect_download() as waiting:
        tab.click("#csv")
    waiting.value.save_as(folder / "table.csv")
    view = read(address_of(tab))
    frame = frame_of(release, figures(release, view))
    found = pd.read_csv(io.StringIO((folder / "table.csv").read_text()), dtype=dict.fromkeys(view.shown, str))
    assert list(found.columns) == list(frame.columns)
    for name in frame.columns:
        if name in view.shown:
            assert list(found[name]) == [str(value) for value in frame[name]]
        else:
            assert found[name].to_numpy() == pytest.approx(frame[name].to_numpy(dtype=float), abs=2e-6)


def _verified(tab, site, key):
    """Every file that the page of the release leads to is there, and together they are the bundle as it was written."""
    tab.click('.where a[href="index.html"]')
    names = tab.locator(".files a").all_inner_texts()
    folder = site / "r" / key / "files"
    assert sorted(names) == sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())
    assert verify(folder).files == len(names)


def test_without_scripts_a_table_is_built_by_its_form(server, keys, browser):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(server.address)
    tab.fill("#q", "small")
    tab.click(".search button")
    tab.click(f'a[href="r/{keys["laplace"]}/"]')
    tab.click("a.action")
    tab.check('input[name="rows"][value="smoke"]')
    tab.click(".builder button")
    tab.check('input[name="columns"][value="age"]')
    tab.select_option('select[name="share"]', "rows")
    tab.click(".builder button")
    assert parse_qs(urlsplit(tab.url).query)["columns"] == ["age"]
    release = server.library.release(keys["laplace"])
    assert shown(tab) == expected(release, urlsplit(tab.url).query)
    tab.click("summary:has-text('age')")
    for at, value in enumerate(("young", "middle")):
        tab.select_option(f'select[name="join.age"] >> nth={at}', f"1:{value}")
    tab.click(".builder button")
    assert parse_qs(urlsplit(tab.url).query)["join.age"] == ["1:young", "1:middle"]
    assert "young + middle" in tab.inner_text("#drawing thead")
    assert len(shown(tab)) == 4
    assert shown(tab) == expected(release, urlsplit(tab.url).query)
    assert tab.get_by_role("link", name="CSV").get_attribute("href").startswith("table.csv?")
    tab.click("#steps a:has-text('without')")
    assert tab.locator("#drawing table").count() == 1
    context.close()


def reach(tab, selector):
    """Go on by the Tab key until something is reached."""
    for _ in range(200):
        tab.keyboard.press("Tab")
        if tab.evaluate("(one) => document.activeElement.matches(one)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by keyboard")


def test_by_keyboard_alone_a_table_is_found_and_built(site, shelf, keys, browser):
    release, key = shelf.release(keys["laplace"]), keys["laplace"]
    tab = browser.new_page()
    tab.goto((site / "index.html").as_uri())
    reach(tab, "#q")
    tab.keyboard.type("small")
    reach(tab, f'a[href*="{key}"]')
    with tab.expect_navigation():
        tab.keyboard.press("Enter")
    reach(tab, "a.action")
    with tab.expect_navigation():
        tab.keyboard.press("Enter")
    tab.wait_for_selector("body[data-ready]")
    reach(tab, 'input[name="rows"][value="smoke"]')
    tab.keyboard.press("Space")
    settled(tab, release, "rows=smoke")
    reach(tab, 'input[name="columns"][value="age"]')
    tab.keyboard.press("Space")
    settled(tab, release, "columns=age")
    reach(tab, 'select[name="share"]')
    tab.keyboard.press("ArrowDown")
    settled(tab, release, "share=rows")
    reach(tab, ".scroll")
    tab.close()


def test_a_site_compares_two_releases(site, shelf, keys, browser, tmp_path):
    tab = browser.new_page()
    tab.goto(
        f"{(site / 'compare.html').as_uri()}#one={keys['laplace']}&other={keys['zeros']}&rows=age&numbers=unbiased"
    )
    tab.wait_for_selector("#drawings section:nth-of-type(3) table")
    texts = [tab.locator(f"#drawings section:nth-of-type({at}) tbody td b").all_inner_texts() for at in (1, 2, 3)]
    numbers = [[float(text.replace("−", "-").replace(",", "")) for text in row] for row in texts]
    for one, other, apart in zip(*numbers, strict=True):
        assert apart == pytest.approx(other - one, abs=1.01)
    assert "An experiment: not private" in tab.inner_text("#drawings h2 >> nth=0")
    assert all(keys[name] in tab.inner_text("#citation") for name in ("laplace", "zeros"))
    with tab.expect_download() as waiting:
        tab.click("#csv")
    waiting.value.save_as(tmp_path / "compare.csv")
    found = pd.read_csv(tmp_path / "compare.csv")
    view = read("rows=age&numbers=unbiased")
    frame = compared_frame(compared(*(shelf.release(keys[name]) for name in ("laplace", "zeros")), view))
    assert list(found.columns) == list(frame.columns)
    for name in frame.columns[1:]:
        # The browser's half-widths are within 3 %.
        assert found[name].to_numpy() == pytest.approx(frame[name].to_numpy(dtype=float), rel=0.05, abs=1e-3)
    tab.select_option('select[name="share"]', "rows")
    tab.click("#compare button")
    tab.wait_for_function("location.hash.includes('share=rows')")
    tab.wait_for_selector("#drawings section:nth-of-type(3) table")
    assert "%" in tab.inner_text("#drawings")
    tab.close()


def test_from_a_folder_a_browser_runs_classic_scripts_and_no_modules(browser, tmp_path):
    """The reason why the scripts of a site are no ES modules; when this fails, they can become some."""
    for name in ("classic", "module"):
        (tmp_path / f"{name}.js").write_text(f'document.body.dataset.{name} = "";', encoding="utf-8")
    scripts = '<script src="classic.js"></script><script type="module" src="module.js"></script>'
    (tmp_path / "page.html").write_text(f"<!doctype html><body>{scripts}</body>", encoding="utf-8")
    tab = browser.new_page()
    tab.goto((tmp_path / "page.html").as_uri())
    tab.wait_for_load_state("networkidle")
    assert tab.evaluate("Object.keys(document.body.dataset)") == ["classic"]
    tab.close()
