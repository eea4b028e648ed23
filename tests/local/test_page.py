"""The page for respondents, in a real browser: filled in, its report shown and sent, and read by the collector."""

from base64 import b64encode
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs

import pytest

from margrave.errors import UsageError
from margrave.local.collector import Collector
from margrave.local.page import page_html
from margrave.planning.local.plan import make_local_plan
from margrave.planning.local.spec import LocalSpec
from tests.planning.local.shapes import local_spec

TRICKY = {
    "attributes": {
        "</script><b>": {"values": ["<i>no", '"yes"'], "title": "Is 1 < 2 & 3 > 2? </script>"},
        "toString": ["north", "south", "it's"],
    },
    "title": "<em>Survey</em>",
    "release": {"all": 2},
    "privacy": {"epsilon": 1},
    "local": {"expected_size": 1000},
}


@pytest.fixture
def received():
    """What was posted to a server on this machine."""
    posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content = self.rfile.read(int(self.headers["Content-Length"])).decode()
            posted.append({name: values[0] for name, values in parse_qs(content).items()})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"thank you")

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/reports", posted
    server.shutdown()
    server.server_close()


def opened(context, tmp_path, plan, post=None, fragment=""):
    path = tmp_path / f"{plan.hash}.html"
    path.write_text(page_html(plan, post), encoding="utf-8")
    tab = context.new_page()
    faults = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.goto(path.as_uri() + fragment)
    return tab, faults


def fill(tab):
    for one in tab.locator("fieldset").all():
        one.locator("input").last.check()
    tab.click("#make")
    return tab.inner_text("#report")


def taken(plan, *lines):
    collector = Collector(plan)
    collector.add([line.encode() for line in lines])
    found = collector.collected()
    return found.reports, found.refused


def test_the_page_is_filled_in_and_the_collector_reads_its_report(browser, received, tmp_path):
    plan, (address, posted) = make_local_plan(LocalSpec.load(TRICKY)), received
    context = browser.new_context(viewport={"width": 360, "height": 640})
    tab, faults = opened(context, tmp_path, plan, address, "#token=given-token-1")
    assert tab.inner_text("legend >> nth=0") == "Is 1 < 2 & 3 > 2? </script>"
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360  # a phone shows it without scrolling sideways
    line = fill(tab)
    assert line.endswith(",given-token-1")
    assert taken(plan, line) == (1, {})
    tab.click("text=Send my report")
    tab.wait_for_load_state()
    assert posted == [{"report": line, "token": "given-token-1"}]
    assert not faults
    context.close()


def test_a_report_is_drawn_once_and_remembered_without_answers(browser, tmp_path):
    plan = make_local_plan(LocalSpec.load(TRICKY))
    context = browser.new_context()
    tab, _ = opened(context, tmp_path, plan)
    line = fill(tab)
    assert not tab.is_visible("#make")
    kept = tab.evaluate("JSON.stringify(Object.entries(localStorage))")
    assert line in kept
    assert "yes" not in kept
    tab.reload()
    assert tab.inner_text("#report") == line
    assert not tab.is_visible("#make")
    renamed = make_local_plan(LocalSpec.load({**TRICKY, "title": "New", "privacy": {"epsilon": 2}}))
    assert renamed.hash != plan.hash
    tab.set_content("")
    (tmp_path / f"{plan.hash}.html").write_text(page_html(renamed), encoding="utf-8")
    tab.goto((tmp_path / f"{plan.hash}.html").as_uri())
    assert tab.inner_text("#report") == line  # the same questions: no second report
    assert "before" in tab.inner_text("#trouble")
    context.close()


def test_a_report_is_made_and_sent_by_keyboard_alone(browser, tmp_path):
    plan = make_local_plan(local_spec(2, 3))
    context = browser.new_context(color_scheme="dark")
    tab, faults = opened(context, tmp_path, plan, "https://survey.example/reports")
    for _ in range(2):
        tab.keyboard.press("Tab")
        tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert taken(plan, tab.inner_text("#report")) == (1, {})
    assert tab.evaluate("document.activeElement.id") == "yours"  # whoever listens hears what came of it
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Send my report"
    assert not faults
    context.close()


def test_reports_of_many_devices_are_collected_with_the_network_off(browser, tmp_path):
    plan, lines = make_local_plan(local_spec(2, 3, 4)), []
    for _ in range(5):
        context = browser.new_context(offline=True)
        tab, faults = opened(context, tmp_path, plan)
        with tab.expect_download() as download:
            fill(tab)
            tab.click("#save")
        lines.append(Path(download.value.path()).read_text(encoding="utf-8").strip())
        assert not faults
        context.close()
    assert taken(plan, *lines) == (5, {})
    assert len({line.split(",")[3] for line in lines}) == 5


def test_a_shuffler_gets_the_token_beside_the_report(browser, received, tmp_path):
    plan, (address, posted) = make_local_plan(local_spec(2, 2, shuffler="the post office")), received
    context = browser.new_context()
    tab, _ = opened(context, tmp_path, plan, address)
    line = fill(tab)
    assert line.endswith(",")
    with tab.expect_download() as download:
        tab.click("#save")
    saved = Path(download.value.path()).read_text(encoding="utf-8").strip()
    tab.click("text=Send my report")
    tab.wait_for_load_state()
    assert posted[0]["report"] == line
    assert len(posted[0]["token"]) == 32
    assert saved == line + posted[0]["token"]
    assert taken(plan, line, saved) == (1, {"malformed": 1})  # the collector takes none with a token
    context.close()


def test_the_page_says_what_protects_and_what_does_not():
    text = page_html(make_local_plan(LocalSpec.load(TRICKY)))
    told = " ".join(text.split("<details>")[0].split())
    assert "That you took part is not hidden" in told
    assert "the reports that you make for several surveys add up" in told
    assert "can be 73 % sure of it" in told
    assert "That she took part is not protected" in text
    assert "<em>Survey</em>" not in text
    assert text.count("</script>") == 3  # those of the page itself: no name ends a script
    assert "http" not in text.split("<body>")[1].split("<script>")[0]
    assert "form-action 'none'" in text


@pytest.mark.slow
def test_a_page_posts_to_an_address_of_the_web_only():
    plan = make_local_plan(local_spec(2, 2))
    assert "form-action https://a.example;" in page_html(plan, "https://a.example/reports")
    with pytest.raises(UsageError, match="no address"):
        page_html(plan, "javascript:alert(1)")


def test_the_page_allows_its_own_style_and_scripts_and_no_others():
    text = page_html(make_local_plan(LocalSpec.load(TRICKY)))
    policy = text.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert "unsafe" not in policy
    for element, count in (("style", 1), ("script", 3)):
        inside = [part.split(f"</{element}>")[0] for part in text.split(f"<{element}>")[1:]]
        hashes = [b64encode(sha256(one.encode()).digest()).decode() for one in inside]
        allowed = policy.split(f"{element}-src ")[1].split(";")[0]
        assert allowed.split() == [f"'sha256-{one}'" for one in hashes]
        assert len(hashes) == count
