"""The report: complete, offline, the same for the same release, and honest about its numbers."""

import json
import re
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest

import margrave as mg
from margrave.budget.events import Protection
from margrave.budget.units import PureDP
from margrave.errors import VerificationError
from margrave.planning.promise.exposure import exposure
from margrave.planning.promise.guarantee import Guarantee
from margrave.publish.report import page
from margrave.publish.report.budget import budget_curve
from margrave.publish.report.page import report_html
from margrave.publish.report.quality import Quality
from margrave.publish.report.risk import risk_section
from margrave.publish.report.tables import Shown
from margrave.publish.report.values import span
from margrave.publish.verification.verify import verify
from margrave.spec.spec import Spec
from tests.publish.conftest import BASE

pytestmark = pytest.mark.slow

IMAGES = Path(__file__).parents[2] / "docs/images"
VOID = {"meta", "line", "rect", "circle", "br", "wbr"}


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


def read(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_a_report_is_well_formed_and_reaches_for_nothing(reports):
    for path in reports.values():
        text = path.read_text(encoding="utf-8")
        reader = read(text)
        assert not {"img", "link", "iframe", "object", "embed", "base", "form"} & set(reader.tags)
        names = {name for _, name, _ in reader.attributes}
        assert not {name for name in names if name in ("src", "action", "srcset") or name.startswith("on")}
        style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
        assert not re.search(r"url\(|@import|@font-face", style)
        assert "default-src 'none'" in text
        identities = [value for _, name, value in reader.attributes if name == "id"]
        assert len(identities) == len(set(identities))
        targets = [value for _, name, value in reader.attributes if name == "href"]
        assert targets
        assert {target.removeprefix("#") for target in targets} <= set(identities)


def test_the_only_script_is_data_that_nothing_runs(reports):
    for path in reports.values():
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"<script[^>]*>", text) == ['<script type="application/ld+json">']
        block = json.loads(re.search(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)[1])
        assert block["@type"] == "Dataset"
        assert block["name"] and "differential privacy" in block["measurementTechnique"]


def test_ordinary_reports_hold_no_address_but_that_of_a_vocabulary(reports):
    for name in ("laplace", "gauss", "journey"):
        text = reports[name].read_text(encoding="utf-8").replace('"https://schema.org"', "")
        assert not re.search(r"https?:|//|www\.", text)


def test_the_same_release_gives_the_same_report(releases):
    assert report_html(releases["gauss"]) == report_html(releases["gauss"])
    assert "2031-02-03" in report_html(releases["gauss"], "2031-02-03T04:05:06+00:00")


def test_a_report_says_what_it_must(reports, releases):
    for name, out in releases.items():
        text = reports[name].read_text(encoding="utf-8")
        assert text.count('class="alarm"') == 1
        assert "What this means for a person in the data" in text
        assert "How to cite and reuse" in text
        assert "How to read an interval" in text
        assert text.count("<article") == len(out.plan.spec.margins)


def test_hostile_names_stay_words(reports):
    text = reports["hostile"].read_text(encoding="utf-8")
    assert text.count("<script") == 1
    assert "<img" not in text
    assert "&lt;script&gt;" in text


def test_no_label_is_cut(reports):
    text = reports["hostile"].read_text(encoding="utf-8").replace("<wbr>", "")
    assert "…" not in text
    assert (
        "an attribute with a rather long name that nobody shortened and_without_any_spaces_in_its_second_half" in text
    )


def test_many_tables_are_folded_and_listed(reports, hostile):
    text = reports["hostile"].read_text(encoding="utf-8")
    tables = len(hostile.plan.spec.margins)
    assert text.count("<article") == tables
    assert text.count('<details class="folded">') == tables - 3
    assert f"All {tables} tables" in text
    assert all(f'href="#table-{at}"' in text for at in range(1, tables + 1))


def test_tables_asked_for_by_name_come_first(data):
    listed = {**BASE["release"], "tables": [["age", "unbiased"]], "all": 1}
    out = mg.release(Spec.from_dict({**BASE, "release": listed}), data, seed=1)
    titles = [re.sub(r"<[^>]*>", "", one) for one in re.findall(r"<h3[^>]*>(.*?)</h3>", report_html(out))]
    assert titles == ["age × unbiased", "Smoking", "age", "unbiased"]


def test_more_tables_than_a_page_holds_have_further_pages_in_the_bundle(data, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "PAGE_TABLES", 2)
    listed = {**BASE["release"], "all": 2, "nonnegative": "none"}
    out = mg.release(Spec.from_dict({**BASE, "release": listed}), data)
    folder = out.save(tmp_path / "bundle")
    names = ["report.html", "report/002.html", "report/003.html"]
    assert page.page_names(out.plan) == names
    assert set(names) <= json.loads((folder / "release.json").read_text(encoding="utf-8"))["files"].keys()
    first, second, third = (read((folder / name).read_text(encoding="utf-8")) for name in names)
    targets = {value for _, name, value in first.attributes if name == "href"}
    for number, reader in ((2, second), (3, third)):
        wanted = {target.split("#")[1] for target in targets if target.startswith(f"report/00{number}.html#")}
        assert len(wanted) == 2
        assert wanted <= {value for _, name, value in reader.attributes if name == "id"}
    assert verify(folder).private
    (folder / names[2]).write_text("<p>forged", encoding="utf-8")
    with pytest.raises(VerificationError, match=r"report/003\.html"):
        verify(folder)


def test_a_cross_table_has_the_totals_of_the_release_and_its_shares(releases):
    out = releases["laplace"]
    text = report_html(out)
    shown = Shown(out, ("age",))
    for at in range(3):
        low, high = (float(shown.columns[end][at]) for end in ("low", "high"))
        assert span(low, high, high - low) in text
    assert "As shares within Smoking" in text and "As shares within age" in text


def test_shares_are_left_out_where_their_intervals_are_not_known(releases):
    assert "As shares within" not in report_html(releases["raw"])


def test_three_attributes_are_small_multiples(releases):
    text = report_html(releases["sensitive"])
    assert text.count('<div class="panels">') == 1
    panels = re.search(r'<div class="panels">(.*?)</article>', text, re.DOTALL)[1]
    assert panels.count('<table class="cross">') == 2


def test_the_first_sentence_comes_from_the_numbers(releases):
    for out in releases.values():
        lead = re.search(r'<p class="lead">(.*?)</p>', report_html(out))[1]
        tables = [Shown(out, margin) for margin in out.plan.spec.margins]
        found = Quality.of((one.numbers, one.columns["std_error"]) for one in tables)
        assert lead == found.sentence(0.95)


def test_exact_counts_are_not_said_to_be_changed(data):
    public = {**BASE["release"], "public": [["smoke"]], "tables": [["smoke"], ["smoke", "age"]]}
    text = report_html(mg.release(Spec.from_dict({**BASE, "release": public}), data, seed=1))
    assert "Every count but the exact ones was changed" in text
    assert "Every count was changed" not in text


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


def test_the_screenshots_in_the_docs_are_small():
    images = sorted(IMAGES.glob("report-*.png"))
    assert len(images) >= 3
    assert all(image.read_bytes().startswith(b"\x89PNG") and image.stat().st_size < 300_000 for image in images)


def risk(cost, **protection):
    return risk_section(exposure(Guarantee(cost, Protection(**protection))))


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
