"""From real files of other programs to a report, with nothing edited but the choice to release; and from codebooks."""

import json
from pathlib import Path

import openpyxl
import pandas as pd
import pyreadstat
import pytest

import margrave as mg
from margrave.spec.texts import names_ids
from tests.cli.typed import inside, run

pytestmark = pytest.mark.slow

ROWS = 600
SEX, VOTE = ("m", "w"), ("CDU", "Grüne", "SPD")
PEOPLE = {
    "sex": [SEX[n % 2] for n in range(ROWS)],
    "vote": [VOTE[(n * 7 + n // 5) % 3] for n in range(ROWS)],
    "größe": [1.5 + (n * 37 % 500) / 1000 for n in range(ROWS)],
}
FRAME = pd.DataFrame(PEOPLE)
CODES = pd.DataFrame(
    {
        "sex": [float(1 + n % 2) for n in range(ROWS)],
        "vote": [float((n * 7 + n // 5) % 3) for n in range(ROWS)],
        "height": PEOPLE["größe"],
    }
)
LABELS = {"sex": {1.0: "male", 2.0: "female"}, "vote": {0.0: "none", 1.0: "left", 2.0: "right"}}
TITLES = {"sex": "Sex of the respondent", "vote": "Vote intention", "height": "Height in metres"}


def european(path):
    text = FRAME.to_csv(index=False, sep=";", decimal=",")
    path.write_bytes(text.encode("windows-1252"))


def workbook(path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(FRAME.columns))
    for row in FRAME.itertuples(index=False):
        sheet.append(list(row))
    book.create_sheet("notes")
    book.save(path)


def open_document(path):
    FRAME.to_excel(path, engine="odf", index=False)


def spss(path):
    pyreadstat.write_sav(CODES, str(path), column_labels=TITLES, variable_value_labels=LABELS)


def stata(path):
    whole = CODES.astype({"sex": int, "vote": int})
    labels = {name: {int(value): word for value, word in one.items()} for name, one in LABELS.items()}
    pyreadstat.write_dta(whole, str(path), column_labels=TITLES, variable_value_labels=labels)


def sas(path):
    pyreadstat.write_xport(CODES, str(path), column_labels=TITLES, file_format_version=8)


FILES = {
    "umfrage.csv": european,
    "umfrage.xlsx": workbook,
    "umfrage.ods": open_document,
    "survey.sav": spss,
    "survey.dta": stata,
    "survey.xpt": sas,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_program_goes_from_init_to_a_report(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    FILES[name](Path("data") / name)
    drafted = inside("init", f"data/{name}", "--out", "spec.toml")
    assert "READS THE DATA" in drafted.stderr and "95 % within" in drafted.stderr and not drafted.stdout
    text = Path("spec.toml").read_text(encoding="utf-8")
    assert f'source = "data/{name}"' in text
    Path("spec.toml").write_text(text.replace("draft = true\n", ""), encoding="utf-8")
    spec = mg.Spec.load("spec.toml")
    measured = "größe" if name.startswith("umfrage") else "height"
    assert set(spec.domain.names) == {"sex", "vote", measured}
    assert len(spec.domain[measured].values) <= 11  # round bins, not hundreds of texts
    assert mg.pipeline.count(spec).table(("sex",)).counts.sum() == ROWS
    inside("release", "spec.toml", "--out", "out")
    page = Path("out/report.html").read_text(encoding="utf-8")
    for word in SEX if name.startswith("umfrage") else ("male", "female") if not name.endswith("xpt") else ("sex",):
        assert word in page


def test_a_draft_says_how_a_file_is_written(tmp_path):
    european(tmp_path / "u.csv")
    text = inside("init", str(tmp_path / "u.csv")).stdout
    assert 'decimal = ","\ndelimiter = ";"\nencoding = "iso8859-1"' in text
    forced = inside("init", str(tmp_path / "u.csv"), "--encoding", "windows-1252", "--delimiter", ";").stdout
    assert 'encoding = "cp1252"' in forced and 'decimal = ","' in forced
    assert run("init", str(tmp_path / "u.csv"), "--delimiter", "ab").returncode == 2


def test_values_from_labels_are_told_from_values_of_cells(tmp_path):
    CODES.assign(vote=CODES["vote"].replace(2.0, 7.0)).pipe(
        lambda frame: pyreadstat.write_sav(
            frame, str(tmp_path / "s.sav"), column_labels=TITLES, variable_value_labels=LABELS
        )
    )
    lines = {line.partition(" ")[0]: line for line in inside("init", str(tmp_path / "s.sav")).stdout.splitlines()}
    assert lines["sex"].endswith("# from the labels of the file") and '"male"' in lines["sex"]
    assert 'title = "Sex of the respondent"' in lines["sex"]
    assert lines["vote"].endswith('# from the labels of the file, but "7": read from data')
    assert lines["height"].endswith("# read from data")


def test_labels_of_values_that_a_file_calls_missing_are_no_values(tmp_path):
    frame = pd.DataFrame({"vote": [0.0, 1.0, 9.0] * 20})
    labels = {"vote": {0.0: "no", 1.0: "yes", 9.0: "refused"}}
    pyreadstat.write_sav(frame, str(tmp_path / "s.sav"), variable_value_labels=labels, missing_ranges={"vote": [9]})
    text = inside("init", str(tmp_path / "s.sav")).stdout
    assert 'vote = { values = ["0", "1"], labels = { 0 = "no", 1 = "yes" }, missing = "missing" }' in text


def test_an_id_that_repeats_becomes_the_unit_and_its_bound_is_to_decide(tmp_path):
    frame = pd.DataFrame({"person_id": [n // 2 for n in range(400)], "vote": ["a", "b"] * 200})
    frame.to_csv(tmp_path / "p.csv", index=False)
    text = inside("init", str(tmp_path / "p.csv")).stdout
    assert 'unit = { column = "person_id", max_records = 2 }' in text and "DECIDE max_records" in text
    assert mg.Spec.parse(text).records_per_unit == 2
    assert [names_ids(name) for name in ("Kennung", "lfd_nr", "patient_no", "income", "grid", "period")] == [
        True
    ] * 3 + [False] * 3
    frame.assign(person_id=range(400)).to_csv(tmp_path / "q.csv", index=False)
    assert mg.Spec.parse(inside("init", str(tmp_path / "q.csv")).stdout).records_per_unit == 1


def test_ids_in_other_languages_and_columns_called_after_people_become_the_unit(tmp_path):
    for name in ("Identificación", "Kunde", "Kunden-Nr", "paciente"):
        frame = pd.DataFrame({name: [n // 3 for n in range(600)], "vote": ["a", "b"] * 300})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        text = inside("init", str(tmp_path / f"{name}.csv")).stdout
        assert mg.Spec.parse(text).records_per_unit == 3, name
        assert f"{name}: left out" in text.replace('"', ""), name
    people = pd.DataFrame({"household": [1 + n % 5 for n in range(600)]})  # how many live in it
    people.to_csv(tmp_path / "h.csv", index=False)
    assert "household = { range = [1, 5] }" in inside("init", str(tmp_path / "h.csv")).stdout


def test_running_numbers_are_ids_and_numbers_of_something_are_not(tmp_path):
    frame = pd.DataFrame(
        {"Passenger No": range(600), "house number": [n % 90 for n in range(600)], "sex": [0, 1] * 300}
    )
    frame.to_csv(tmp_path / "n.csv", index=False)
    text = inside("init", str(tmp_path / "n.csv")).stdout
    assert '"Passenger No": left out: it looks like an identifier' in text
    assert '"house number" = { bins' in text and mg.Spec.parse(text).records_per_unit == 1


def test_days_of_one_month_get_a_bin_each_and_what_is_the_same_of_everybody_is_in_no_pair(tmp_path):
    days = [f"1912-04-{8 + n % 3:02d}" for n in range(200)]
    frame = pd.DataFrame({"boarded": days, "country": ["GB"] * 200, "sex": [0, 1] * 100, "age": range(200)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    text = inside("init", str(tmp_path / "d.csv")).stdout
    assert "boarded = { bins = [1912-04-08, 1912-04-09, 1912-04-10, 1912-04-11] }" in text
    pairs = next(line for line in text.splitlines() if line.startswith("tables = "))
    assert '"boarded"' in pairs and '"country"' not in pairs


def test_texts_that_repeat_are_offered_as_the_unit_and_not_taken_for_it(tmp_path):
    frame = pd.DataFrame({"street": [f"street {n // 4}" for n in range(600)], "vote": ["a", "b"] * 300})
    frame.to_csv(tmp_path / "s.csv", index=False)
    text = inside("init", str(tmp_path / "s.csv")).stdout
    offered = 'unit = { column = "street", max_records = 4 }'
    assert f"# {offered}" in text and "DECIDE whether they tell people apart" in text
    assert mg.Spec.parse(text).records_per_unit == 1
    assert mg.Spec.parse(text.replace(f"# {offered}", offered)).records_per_unit == 4


def test_few_records_get_few_tables_and_many_get_all_pairs(tmp_path):
    many = pd.DataFrame({name: [n * step % 5 for n in range(20000)] for name, step in (("a", 1), ("b", 3), ("c", 7))})
    many.to_csv(tmp_path / "many.csv", index=False)
    many[:60].to_csv(tmp_path / "few.csv", index=False)
    assert mg.Spec.parse(inside("init", str(tmp_path / "many.csv")).stdout).all_ways == 2
    few = mg.Spec.parse(inside("init", str(tmp_path / "few.csv")).stdout)
    assert len(few.margins) < 3 and max(map(len, few.margins)) == 1


FRICTIONLESS = {
    "fields": [
        {"name": "sex", "type": "string", "title": "Sex", "constraints": {"enum": ["m", "w"], "required": True}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 99}},
        {"name": "born", "type": "date", "constraints": {"minimum": "1930-01-01", "maximum": "2004-12-31"}},
        {
            "name": "vote",
            "type": "integer",
            "categories": [{"value": 1, "label": "left"}, {"value": 2, "label": "right"}],
        },
        {"name": "remark", "type": "string"},
    ]
}
CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "tableSchema": {
        "columns": [
            {"name": "sex", "titles": "Sex", "required": True, "datatype": {"base": "string", "format": "^(m|w)$"}},
            {"name": "age", "datatype": {"base": "integer", "minimum": 18, "maximum": 99}},
            {"name": "born", "datatype": {"base": "date", "minimum": "1930-01-01", "maximum": "2004-12-31"}},
            {"name": "vote", "datatype": {"base": "string", "format": "1|2"}},
            {"name": "remark", "datatype": "string"},
        ]
    },
}
CSV = """variable;value;label;type;min;max;title
sex;m;male;;;;Sex
sex;w;female;;;;
age;;;integer;18;99;
born;;;date;1930-01-01;2004-12-31;
vote;1;left;;;;
vote;2;right;;;;
remark;;;string;;;
"""
CODEBOOKS = {
    "schema.json": json.dumps(FRICTIONLESS),
    "datapackage.json": json.dumps({"resources": [{"path": "x.csv", "schema": FRICTIONLESS}]}),
    "metadata.json": json.dumps(CSVW),
    "tables.json": json.dumps({"@context": CSVW["@context"], "tables": [{"tableSchema": CSVW["tableSchema"]}]}),
    "codebook.csv.txt": CSV,
}


@pytest.mark.parametrize("name", CODEBOOKS)
def test_a_codebook_is_read_instead_of_the_data(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(CODEBOOKS[name], encoding="utf-8")
    drafted = inside("init", "no such data.csv", "--codebook", name, "--out", "spec.toml")
    assert "READS THE DATA" not in drafted.stderr
    spec = mg.Spec.load("spec.toml")
    assert not spec.draft and spec.domain.names == ("sex", "age", "born", "vote")
    assert [value for value in spec.domain["sex"].values if value != "missing"] == ["m", "w"]
    assert spec.domain["vote"].values[:2] == ("1", "2")
    text = Path("spec.toml").read_text(encoding="utf-8")
    assert "# remark: left out: declare its values by hand" in text and "read from data" not in text


@pytest.mark.parametrize("text", ["{", "[1]", '{"fields": []}', "a,b\n1,2\n", "name\n", '{"tableSchema": 3}'])
def test_what_is_no_codebook_is_refused(text, tmp_path):
    (tmp_path / "c.json").write_text(text)
    assert run("init", "--codebook", str(tmp_path / "c.json")).returncode == 1


def test_init_needs_something_to_draft_from_and_a_new_place(tmp_path):
    assert "name the data" in run("init").stderr
    (tmp_path / "there.toml").write_text("")
    assert "exists already" in run("init", "x.csv", "--out", str(tmp_path / "there.toml")).stderr
