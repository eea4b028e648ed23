"""A real Chromium goes through the house: from the first curator to a refusal, with scripts and without, by keyboard
alone, on desktops and phones, in the light and in the dark; and what axe finds on every page.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe

from margrave.serve.operations.public import COOKIE
from margrave.serve.pages.opening import EXAMPLE
from tests.serve.kept.test_collections import SPEC
from tests.serve.served import DATASET, PASSWORD

pytestmark = pytest.mark.slow
SERIOUS = ("serious", "critical")
SIZES = ((1280, "light"), (390, "dark"), (320, "light"))
CHECKED = set()
"""Pages that axe has seen, by width and title."""
SHOUT = "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">"


class Visitor:
    """Somebody with a browser, who looks at every page in some width and light, and notices what is wrong with it."""

    def __init__(self, browser, served, number, *, scripts=True):
        width, scheme = SIZES[number]
        options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
        self.context = browser.new_context(**options, java_script_enabled=scripts)
        self.tab, self.served, self.width, self.scripts = self.context.new_page(), served, width, scripts
        self.said = []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))

    def go(self, path):
        self.tab.goto(self.served.address + path)
        self.look()

    def enter(self, name):
        """Come as somebody who has logged in: the door lets only so many through that come from one address."""
        cookie = {"name": COOKIE, "value": self.served.login(name), "url": self.served.address}
        self.context.add_cookies([cookie])

    def look(self):
        """The page has no serious fault, fits, and nobody's script has run."""
        assert self.tab.title() != "ran" and self.tab.locator("h1").count() == 1
        if self.scripts:
            assert self.tab.evaluate("document.documentElement.scrollWidth") <= self.width, self.tab.url
        kind = (self.width, self.tab.url)
        if self.scripts and kind not in CHECKED:
            CHECKED.add(kind)
            found = Axe().run(self.tab).response["violations"]
            assert [one["id"] for one in found if one["impact"] in SERIOUS] == [], self.tab.url

    def press(self, name):
        """A button, by what it says, up to the page that it leads to."""
        with self.tab.expect_navigation():
            self.tab.get_by_role("button", name=name).click()
        self.look()

    def ask(self):
        """Ask, and wait until the page says what became of the question: it is loaded again by itself, or by hand."""
        self.tab.get_by_role("button", name="Ask, and pay").click()
        self.answered()

    def fill(self, **fields):
        for name, value in fields.items():
            self.tab.fill(f'main [name="{name}"]', value)

    def secret(self):
        return self.tab.locator(".notice pre").inner_text()

    def text(self):
        return self.tab.locator("main").inner_text()

    def answered(self):
        """Wait until the page of a question says what became of it."""
        self.tab.wait_for_url("**/questions/*")
        again = self.tab.get_by_role("link", name="Look again")
        if self.scripts:
            again.wait_for(state="detached", timeout=60_000)
            self.tab.wait_for_load_state()
        for _ in range(0 if self.scripts else 12):
            if again.count():
                again.click()
        self.look()

    def close(self):
        assert [one for one in self.said if "status of 4" not in one] == []
        self.context.close()


@pytest.mark.parametrize(("number", "scripts"), [(0, True), (1, True), (2, False)])
def test_from_the_first_curator_to_a_refusal(served, browser, new_name, number, scripts):
    curator, analyst = Visitor(browser, served, number, scripts=scripts), None
    name, other = new_name(), new_name()
    invitation = served.invitation if number == 0 else served.invited("curator")
    curator.go(f"/invitation?code={invitation}")
    curator.fill(name=name, password=PASSWORD)
    curator.press("Come in")
    assert DATASET in curator.text()
    curator.tab.get_by_role("link", name=DATASET, exact=True).click()
    assert "Protected" in curator.tab.locator("header").inner_text()
    curator.go("/curate/people")
    curator.fill(name=other)
    curator.press("Invite")
    invitation = curator.secret()
    curator.go("/curate/grants")
    curator.tab.select_option('[name="account"]', other)
    curator.fill(amount="0.15")
    curator.press("What would it allow?")
    assert "± " in curator.text()
    curator.press("Grant it")
    assert other in curator.text() and "ε = 0.15 left" in curator.text()
    try:
        analyst = Visitor(browser, served, number, scripts=scripts)
        assert invitation.startswith(f"{served.address}/invitation?code=inv_")
        analyst.go(invitation.removeprefix(served.address))
        analyst.fill(name=other, password=PASSWORD)
        analyst.press("Come in")
        analyst.press("Log out")
        analyst.go(f"/ask/{DATASET}")
        assert "/login" in analyst.tab.url
        analyst.fill(name=other, password=PASSWORD)
        analyst.press("Log in")
        _asks(analyst)
        curator.go("/curate/grants")
        curator.press(f"End that of {other}")
        analyst.go(f"/ask/{DATASET}")
        assert "not enough left" in analyst.text()
    finally:
        for path in ("/curate", "/curate/requests", "/curate/ledger?verify=1", "/curate/log", "/tokens"):
            curator.go(path)
        assert "what programs come in with" in curator.tab.locator("header").inner_text().lower()
        curator.close()
        if analyst is not None:
            analyst.close()


def _asks(analyst):
    tab = analyst.tab
    tab.select_option('[name="by"] >> nth=0', "region")
    if analyst.scripts:
        # What it would cost is renewed while the form is filled in.
        tab.get_by_role("heading", name="people by region count").wait_for()
    else:
        analyst.press("Explain")
    assert "standard error" in analyst.text() and "ε = 0.05 left" in analyst.text()
    point = tab.locator("svg.pick a[aria-label^='ε = 0.05']")
    assert point.count() == 1
    tab.goto(analyst.served.address + point.get_attribute("href"))
    assert tab.input_value('[name="amount"]') == "0.05" and "ε = 0.1 left" in analyst.text()
    tab.go_back()
    tab.get_by_text("Copy as Python").click()
    assert "SELECT region, COUNT(*)" in analyst.text()
    analyst.ask()
    assert "north" in analyst.text() and tab.locator("td.bars svg").count() == 2
    tab.get_by_role("link", name="Ask on").click()
    analyst.look()
    tab.goto(f"{analyst.served.address}/ask/{DATASET}?what=units&amount=0.1")
    assert "not enough left" in analyst.text()
    analyst.ask()
    assert "the grant of" in tab.get_by_role("alert").inner_text()
    analyst.go("/questions")
    assert "answered" in analyst.text() and "refused" in analyst.text()


SEEN = """() => {
    const at = document.activeElement.getBoundingClientRect();
    return at.width > 0 && at.left >= 0 && at.right <= innerWidth && at.bottom > 0 && at.top < innerHeight;
}"""


@pytest.mark.parametrize("number", range(len(SIZES)))
def test_a_question_is_asked_by_keyboard_alone(served, browser, new_name, number):
    """Whatever has the focus can be seen, also on the smallest phone."""
    name = new_name()
    served.person(name, epsilon=1)
    one = Visitor(browser, served, number)
    keys = one.tab.keyboard

    def to(selector):
        """Go on by the tabulator until something has the focus."""
        for _ in range(60):
            if one.tab.evaluate("selector => document.activeElement.matches(selector)", selector):
                assert one.tab.evaluate(SEEN), selector
                return
            keys.press("Tab")
        raise AssertionError(selector)

    if number:
        one.enter(name)
        one.go("/ask")
    else:
        one.go("/login")
        to('[name="name"]')
        keys.type(name)
        to('[name="password"]')
        keys.type(PASSWORD)
        keys.press("Enter")
        one.tab.wait_for_url("**/ask")
    to(f'a[href="/ask/{DATASET}"]')
    keys.press("Enter")
    one.tab.wait_for_url(f"**/ask/{DATASET}")
    to('[name="what"]')
    keys.type("how many units")
    one.tab.get_by_role("heading", name="people units").wait_for()
    to("svg.pick a")
    keys.press("Enter")
    one.tab.wait_for_url("**amount=0.01")
    to("form[method='post'][action^='/ask'] button")
    keys.press("Enter")
    one.answered()
    assert one.tab.locator("td.bars svg").count() == 1
    one.close()


@pytest.mark.parametrize(("number", "scripts"), [(2, True), (1, False)])
def test_a_curator_registers_a_data_set_and_has_it_opened(served, browser, new_name, number, scripts):
    one, name = Visitor(browser, served, number, scripts=scripts), f"{new_name()}@1"
    curator = new_name()
    served.person(curator, "curator")
    one.enter(curator)
    one.go("/curate")
    one.tab.get_by_role("link", name="Another data set").click()
    one.fill(name=name, amount="2")
    one.press("Check it")
    assert "What everybody will read" in one.text() and "from people.csv" in one.text()
    wrong = one.tab.input_value("textarea").replace("people.csv", "../people.csv")
    one.fill(spec=wrong)
    one.press("Register and open")
    assert "must be a file in the folder" in one.tab.get_by_role("alert").inner_text()
    assert one.tab.input_value("textarea") == wrong and one.tab.input_value('[name="name"]') == name
    one.fill(spec=wrong.replace("../", "").replace('"south"', '"west"'))
    one.press("Register and open")
    opened(one, name)
    assert "not opened" in row(one, name) and "50 records" in row(one, name)
    one.tab.get_by_role("link", name=f"Try again with {name}").click()
    assert '"west"' in one.tab.input_value("textarea")
    one.fill(spec=one.tab.input_value("textarea").replace('"west"', '"south"'))
    one.press("Register and open")
    opened(one, name)
    assert "open for questions" in row(one, name)
    one.tab.get_by_role("link", name=f"Let somebody ask about {name}").click()
    assert one.tab.input_value('[name="dataset"]') == name
    one.close()


def row(one, name):
    return one.tab.locator("main tr", has_text=name).inner_text()


def opened(one, name):
    """Wait until a data set is opened, or not: the page is loaded again by itself, or by hand."""
    for _ in range(120):
        if "being opened" not in row(one, name):
            break
        if not one.scripts:
            one.go("/curate/data")
        one.tab.wait_for_timeout(500)
    one.look()


def test_every_page_is_accessible_on_the_smallest_phone_in_the_dark(served, browser, new_name):
    """Also where there is nothing to see yet, or something is wrong."""
    pages = {
        "curator": ("", "/data", "/people", "/grants?amount=1", "/requests", "/ledger?verify=1", "/log"),
        "analyst": ("/ask", f"/ask/{DATASET}", f"/ask/{DATASET}?text=nonsense", "/questions", "/tokens"),
        "": ("/", f"/data/{DATASET}", "/login?then=/ask", "/invitation?code=x", "/v1/about", "/data/nothing@1"),
    }
    for role, paths in pages.items():
        one = Visitor(browser, served, 2)
        one.tab.emulate_media(color_scheme="dark")
        if role:
            name = new_name()
            served.person(name, role)
            one.enter(name)
        for path in paths:
            one.go(f"/curate{path}" if role == "curator" else path)
        one.close()


def test_a_respondent_makes_and_sends_her_report(served, browser, new_name):
    name = new_name()
    with served.client(served.person(new_name(), "curator")) as carla:
        assert carla.post("/v1/collections", json={"name": name, "spec": SPEC}).status_code == 201
        one = Visitor(browser, served, 1)
        one.tab.goto(f"{served.address}/collections/{name}")
        for each in one.tab.locator("fieldset").all():
            each.get_by_role("radio").first.check()
        one.tab.locator("form").first.get_by_role("button").click()
        one.press("Send my report")
        assert "counts once" in one.text()
        one.close()
        assert len(carla.get(f"/v1/collections/{name}/reports").text.splitlines()) == 2


def test_hostile_names_never_run(served, browser, new_name):
    """Markup in names, labels, headers, tokens and questions is shown, or refused, and is never more than text."""
    name = new_name()
    served.person(name, epsilon=1)
    one = Visitor(browser, served, 0)
    one.context.set_extra_http_headers({"Accept-Language": SHOUT, "X-Forwarded-For": SHOUT})
    one.enter(name)
    from urllib.parse import quote

    for path in (
        f"/invitation?code={quote(SHOUT)}",
        f"/login?then={quote(SHOUT)}",
        f"/ask/{DATASET}?text={quote(SHOUT)}",
        f"/ask/{DATASET}?table={quote(SHOUT)}&column=age&sign=%3D&member={quote(SHOUT)}&amount={quote(SHOUT)}",
        f"/ask/{quote(SHOUT, safe='')}",
        f"/questions/{quote(SHOUT, safe='')}",
        f"/explore/?q={quote(SHOUT)}",
        f"/{quote(SHOUT)}",
    ):
        one.tab.goto(served.address + path)
        one.tab.wait_for_timeout(50)
        assert one.tab.title() != "ran" and one.tab.locator("main script, main img").count() == 0, path
    one.go("/tokens")
    one.fill(label=SHOUT)
    one.press("Make a token")
    assert SHOUT in one.text() and one.tab.locator("main script, main img").count() == 0
    one.context.close()
    curator = new_name()
    served.person(curator, "curator")
    one = Visitor(browser, served, 0)
    one.enter(curator)
    one.go(f"/curate/data?name={quote(SHOUT)}&amount={quote(SHOUT)}")
    shout = SHOUT.replace('"', "'")
    one.fill(name="people@1", spec=EXAMPLE.replace("People of a town", shout).replace("north", shout))
    one.press("Check it")
    one.fill(spec=EXAMPLE.replace("people.csv", shout))
    one.press("Check it")
    assert "must be a file" in one.tab.get_by_role("alert").inner_text()
    assert one.tab.locator("main script, main img").count() == 0
    one.close()
