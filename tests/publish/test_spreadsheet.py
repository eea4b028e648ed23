"""A release as an Excel file, read again by openpyxl: labels, intervals, and a sheet about the guarantee."""

import pytest
from openpyxl import load_workbook

import margrave as mg
from margrave.errors import UsageError
from margrave.spec.spec import Spec
from tests.publish.conftest import BASE

pytestmark = pytest.mark.slow


def test_a_sheet_a_table_with_labels_and_intervals(releases, tmp_path):
    out = releases["laplace"]
    book = load_workbook(out.to_excel(tmp_path / "tables.xlsx"))
    assert book.sheetnames == ["About", "1 Smoking × age", "2 age × unbiased"]
    rows = list(book["1 Smoking × age"].iter_rows(values_only=True))
    assert rows[0][:5] == ("Smoking", "age", "published count", "from", "to")
    frame = out.table("smoke", "age")
    for row, (_, cell) in zip(rows[1:], frame.iterrows(), strict=True):
        assert row[0] == {"no": "does not smoke", "yes": "smokes"}[cell["smoke"]]
        assert row[2] == cell["count"]
        assert row[3:5] == pytest.approx((cell["low"], cell["high"]), abs=1e-5)


def test_the_first_sheet_says_how_good_it_is_and_what_is_guaranteed(releases, tmp_path):
    out = releases["laplace"]
    sheet = load_workbook(out.to_excel(tmp_path / "tables.xlsx"))["About"]
    text = "\n".join(str(row[0]) for row in sheet.iter_rows(values_only=True))
    assert "A small survey" in text and "NOT PRIVATE" in text and "ε = 1" in text
    assert all(words in text for words in out.plan.promise.words())


def test_a_text_that_begins_like_a_formula_stays_a_text(data, tmp_path):
    spec = Spec.from_dict({**BASE, "title": "=1+1"})
    sheet = load_workbook(mg.release(spec, data, seed=1).to_excel(tmp_path / "a.xlsx"))["About"]
    assert (sheet["A1"].value, sheet["A1"].data_type) == ("=1+1", "s")


def test_a_file_that_exists_is_kept_and_others_are_refused(releases, tmp_path):
    (tmp_path / "a.xlsx").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError):
        releases["raw"].to_excel(tmp_path / "a.xlsx")
    assert (tmp_path / "a.xlsx").read_text(encoding="utf-8") == "mine"
    with pytest.raises(UsageError, match=r"must end in \.xlsx"):
        releases["raw"].to_excel(tmp_path / "a.csv")
