"""The report: complete, offline, the same for the same release, and sound in a real browser."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import margrave as mg
from margrave.budget.events import Protection
from margrave.budget.units import PureDP
from margrave.planning.promise.exposure import exposure
from margrave.planning.promise.guarantee import Guarantee
from margrave.publish.report import svg
from margrave.publish.report.page import MOST_TABLES, budget_curve, report_html
from margrave.publish.report.risk import risk_section
from margrave.publish.report.tables import rounded
from margrave.spec.spec import Spec

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
IMAGES = HERE.parents[1] / "docs/images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
DARK = "--blink-settings=preferredColorScheme=0"
VOID = {"meta", "line", "rect", "circle", "br"}


def installed():
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def install():
    """From Debian; two workers of one test run must not do this at the same time."""
    with (Path(tempfile.gettempdir()) / "margrave-browser.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed():
            quiet = {"capture_output": True, "timeout": 500, "check": False}
            subprocess.run(["apt-get", "update"], **quiet)
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(["apt-get", "install", "-y", "chromium"], env=environment, **quiet)


@pytest.fixture(scope="session")
def browser():
    if not installed() and os.geteuid() == 0 and shutil.which("apt-get"):
        install()
    found = installed()
    if found is None:
        said = f"no browser: none of {', '.join(BROWSERS)} is installed"
        pytest.fail(said) if os.environ.get("CI") == "true" else pytest.skip(said)

    def run(*arguments):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            command = [found, *FLAGS, f"--user-data-dir={profile}", *arguments]
            done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
        return done.stdout.decode()

    return run


@pytest.fixture(scope="session")
def measured(browser, tmp_path_factory):
    """What a browser finds in a report shown at some width."""

    def measure(report, width, *flags):
        folder = tmp_path_factory.mktemp("page")
        page = (HERE / "browser_measure.html").read_text(encoding="utf-8")
        (folder / "measure.html").write_text(
            page.replace("REPORT", report.as_uri()).replace("WIDTH", str(width)), encoding="utf-8"
        )
        wide = max(width, 500)
        text = browser(
            "--allow-file-access-from-files", f"--window-size={wide},1000", "--dump-dom", *flags,
            (folder / "measure.html").as_uri(),
        )  # fmt: skip
        return json.loads(re.search(r'<pre id="result">(.*?)</pre>', text)[1].replace("&lt;", "<").replace("&gt;", ">"))

    return measure


LONG = "an attribute with a rather long name that nobody shortened and_without_any_spaces_in_its_second_half"


@pytest.fixture(scope="session")
def hostile():
    """Long and hostile names, many values, a heat map, more tables than are plotted."""
    evil = '<script>alert("x")</script>'
    spec = Spec.from_dict(
        {
            "title": f"{evil} & {LONG}",
            "attributes": {
                LONG: {"values": [evil, "'\"><img src=//evil.example>", "x" * 90], "labels": {"x" * 90: "</svg><b>"}},
                "many": {"range": [1, 20]},
                "some": {"range": [1, 12]},
                **{f"more {index}": ["no", "yes"] for index in range(5)},
            },
            "release": {"all": 2, "strategy": "residual"},
            "privacy": {"rho": "0.1"},
        }
    )
    row = {LONG: evil, "many": 3, "some": 4, **{f"more {index}": "no" for index in range(5)}}
    return mg.release(spec, pd.DataFrame([row] * 50), seed=3)


@pytest.fixture(scope="session")
def reports(releases, hostile, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    journey = mg.release(mg.plan(mg.examples.path("journey")), seed=1)
    found = {}
    for name, out in {**releases, "hostile": hostile, "journey": journey}.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(report_html(out), encoding="utf-8")
    return found


class Reader(HTMLParser):
    """Tags must be closed in order; collects tags and attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_report_is_well_formed_and_reaches_for_nothing(reports):
    for path in reports.values():
        text = path.read_text(encoding="utf-8")
        reader = Reader()
        reader.feed(text)
        reader.close()
        assert reader.open == []
        assert not {"script", "img", "link", "iframe", "object", "embed", "base", "form"} & set(reader.tags)
        names = {name for _, name, _ in reader.attributes}
        assert not {name for name in names if name in ("src", "href", "action", "srcset") or name.startswith("on")}
        style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
        assert not re.search(r"url\(|@import|@font-face", style)
        assert "default-src 'none'" in text
        identities = [value for _, name, value in reader.attributes if name == "id"]
        assert len(identities) == len(set(identities))


def test_ordinary_reports_hold_no_address_at_all(reports):
    for name in ("laplace", "gauss", "journey"):
        assert not re.search(r"https?:|//|www\.", reports[name].read_text(encoding="utf-8"))


def test_the_same_release_gives_the_same_report(releases):
    assert report_html(releases["gauss"]) == report_html(releases["gauss"])
    assert "2031-02-03" in report_html(releases["gauss"], "2031-02-03T04:05:06+00:00")


def test_a_report_says_what_it_must(reports, releases):
    for name, out in releases.items():
        text = reports[name].read_text(encoding="utf-8")
        assert text.count('class="alarm"') == 1
        assert "What this means for a person in the data" in text
        assert "How to cite and reuse" in text
        assert "this release" in text
        assert text.count("<article") == len(out.plan.spec.margins)


def test_hostile_names_stay_words(reports):
    text = reports["hostile"].read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text


def test_many_tables_are_listed_rather_than_plotted(reports, hostile):
    text = reports["hostile"].read_text(encoding="utf-8")
    assert text.count("<article") == MOST_TABLES < len(hostile.plan.spec.margins)
    assert f"{len(hostile.plan.spec.margins) - MOST_TABLES} more tables" in text


def test_published_counts_are_compared_with_unbiased_ones(releases):
    text = report_html(releases["laplace"])
    assert 'id="agreement-t"' in text
    assert "Where published and unbiased counts differ most" in text
    assert 'id="agreement-t"' not in report_html(releases["raw"])


def test_the_curve_passes_through_the_release(out):
    points = dict(budget_curve(out.plan))
    budget = getattr(out.plan.guarantee, "rho", None) or out.plan.guarantee.epsilon
    assert points[float(budget)] == pytest.approx(out.plan.rmse)
    assert sorted(points) == list(points)
    assert sorted(points.values(), reverse=True) == list(points.values())


def test_numbers_in_plots_are_short():
    assert rounded(-0.2, 3.0) == "0"
    assert rounded(12.34, 3.0) == "12"
    assert rounded(12.34, 0.5) == "12.3"
    assert svg.shortened("abcdef", 4) == "abc…"
    assert svg.fitted(["a long one indeed", "short"], 20) == "a long one… · short"
    assert len(svg.fitted(["x" * 50] * 3, 42)) <= 42


@pytest.mark.parametrize(
    ("name", "width"), [("laplace", 375), ("journey", 375), ("journey", 1200), ("hostile", 320), ("hostile", 375)]
)
def test_in_a_browser(measured, reports, name, width):
    found = measured(reports[name], width)
    assert found["width"] == width
    assert found["closed"] <= width
    assert found["open"] <= width
    assert found["beyond"] == 0
    assert found["requests"] == found["scripts"] == 0
    assert found["pictures"] >= 3
    assert found["unnamed"] == found["alone"] == 0
    assert found["banner"] == 1


@pytest.mark.parametrize("flags", [(), (DARK,)])
def test_colours_in_a_browser(measured, reports, flags):
    found = measured(reports["journey"], 800, *flags)
    assert found["dark"] == bool(flags)
    assert found["contrast"] >= 4.5, found["where"]
    assert found["heat"] >= 4.5


def test_printing_in_a_browser(browser, reports, tmp_path):
    browser(f"--print-to-pdf={tmp_path / 'report.pdf'}", "--no-pdf-header-footer", reports["laplace"].as_uri())
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_screenshot_in_a_browser(browser, reports, tmp_path):
    browser(f"--screenshot={tmp_path / 'report.png'}", "--window-size=800,1200", reports["laplace"].as_uri())
    assert (tmp_path / "report.png").stat().st_size > 20_000


def test_the_screenshots_in_the_docs_are_small():
    images = sorted(IMAGES.glob("report-*.png"))
    assert len(images) >= 3
    assert all(image.read_bytes().startswith(b"\x89PNG") and image.stat().st_size < 300_000 for image in images)


def risk(cost, **protection):
    return risk_section(Guarantee(cost, Protection(**protection)))


def test_what_attackers_can_reach_follows_from_the_budget_alone():
    one, two = (risk(PureDP(Fraction(epsilon))) for epsilon in (1, 2))
    for limit in exposure(Guarantee(PureDP(Fraction(1)), Protection())).limits:
        assert limit.words in one and limit.words not in two
    assert "by at most 46.3 percentage points" in one and "by at most 76.2 percentage points" in two


def test_where_membership_is_not_protected_the_report_states_no_limit():
    found = risk(PureDP(Fraction(1)), neighbours="replace")
    assert "Membership" not in found and "percentage points" not in found
    assert "Whether somebody is in the data is not protected" in found


def test_every_report_says_what_attackers_can_reach(reports):
    assert all('<section id="risk"' in path.read_text(encoding="utf-8") for path in reports.values())
