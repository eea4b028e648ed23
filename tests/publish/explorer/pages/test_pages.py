"""Pages in a real Chromium: every width, light, dark and printed; what axe finds in them, and what never runs."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.publish.explorer.conftest import EVIL, SCRIPT

pytestmark = pytest.mark.slow

SERIOUS = ("serious", "critical")
VIEW = "rows=smoke&columns=age&share=rows"
SERVED = ("", "r/{}/", "r/{}/about", "r/{}/checked", f"r/{{}}/table?{VIEW}", "compare")
WRITTEN = ("index.html", f"r/{{}}/table.html#{VIEW}", "r/{}/table-1.html", "compare.html#one={0}&other={0}&rows=age")


def places(server, site, keys):
    for page in SERVED:
        yield server.address + page.format(keys["laplace"])
    for page in WRITTEN:
        yield f"{site.as_uri()}/{page.format(keys['laplace'])}"


def test_pages_fit_every_width_and_keep_nobody_out(server, site, keys, browser):
    for width, scheme in ((1280, "light"), (390, "dark"), (320, "light")):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        tab = context.new_page()
        for place in places(server, site, keys):
            tab.goto("about:blank")
            tab.goto(place)
            tab.wait_for_load_state("networkidle")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, (place, width)
            assert serious(tab) == [], (place, width)
        context.close()


def serious(tab):
    found = Axe().run(tab, options={"resultTypes": ["violations"]}).response["violations"]
    return [one["id"] for one in found if one["impact"] in SERIOUS]


def test_on_paper_there_is_the_table_and_no_control(server, keys, browser):
    tab = browser.new_page()
    tab.goto(f"{server.address}r/{keys['laplace']}/table?{VIEW}")
    tab.emulate_media(media="print", color_scheme="dark")
    assert tab.locator("table.cross").is_visible()
    assert not tab.locator(".builder").is_visible()
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for place in (f"r/{keys['laplace']}/table?{VIEW}", f"r/{keys['laplace']}/", ""):
        tab.goto(server.address + place)
        assert serious(tab) == [], place
    tab.close()


def test_names_labels_and_titles_never_run(server, site, keys, browser):
    address = "rows=plain&keep.plain=no&numbers=unbiased"
    pages = [server.address, f"{site.as_uri()}/index.html"]
    served, written = (f"{root}r/{keys['evil']}/" for root in (server.address, f"{site.as_uri()}/"))
    pages += [served, f"{served}table?{address}", f"{written}index.html", f"{written}table.html#{address}"]
    context = browser.new_context()
    tab = context.new_page()
    problems = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("dialog", lambda dialog: problems.append(dialog.message))
    for page in pages:
        tab.goto(page)
        tab.wait_for_load_state("networkidle")
        assert tab.title() != "run"
        assert tab.locator("img").count() == 0
        assert SCRIPT in tab.content() or SCRIPT in tab.inner_text("body"), page
    tab.goto(f"{site.as_uri()}/r/{keys['evil']}/table.html#{address}")
    tab.locator("#steps a", has_text="as well").first.click()
    tab.wait_for_function("location.hash.includes('rows=plain&rows=')")
    assert EVIL in tab.inner_text("#drawing")
    assert tab.title() != "run"
    assert problems == []
    context.close()
