"""Realistic mistakes: each row of docs/mistakes.md is made, and gets the message that stands beside it."""

import os
import re
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from typer.testing import CliRunner

from margrave.cli.app import app
from margrave.noise import Generator

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[1] / "docs" / "mistakes.md"
SPEC = {
    "data": 'source = "people.csv"',
    "attributes": 'age = { range = [0, 99] }\nvote = ["no", "yes"]',
    "release": 'tables = [["age", "vote"]]',
    "privacy": "epsilon = 1.0",
}
PEOPLE = "age,vote\n" + "34,no\n51,yes\n" * 40


def spec(head="", **sections):
    parts = [f"[{name}]\n{text}" for name, text in {**SPEC, **sections}.items() if text]
    Path("spec.toml").write_text("\n".join([head, *parts]) + "\n", encoding="utf-8")


def people(text=PEOPLE, name="people.csv", encoding="utf-8"):
    Path(name).write_bytes(text.encode(encoding))


def declared(**sections):
    """A mistake in the spec, which `plan` shows."""
    spec(**sections)
    return ["plan", "spec.toml"]


def held(text, encoding="utf-8", **sections):
    """A mistake in the data, which `count` shows: it has nothing to spend."""
    people(text, encoding=encoding)
    spec(**sections)
    return ["count", "spec.toml", "--not-private"]


def released(*options, **sections):
    """A mistake in the call, found before anything is spent."""
    people()
    spec(**sections)
    return ["release", "spec.toml", *options]


def written(text, name="spec.toml", encoding="utf-8"):
    Path(name).write_bytes(text.encode(encoding))
    return ["plan", name]


def charged(*options, account="ann"):
    released()
    for words in (
        "ledger init",
        "ledger dataset people@1 --spec spec.toml --cap epsilon=1.5",
        "ledger account ann",
        "ledger grant ann people@1 epsilon=1.2",
    ):
        assert CliRunner().invoke(app, words.split()).exit_code == 0
    return ["release", "spec.toml", "--ledger", "ledger.db", "--account", account, *options]


def twice():
    again = charged()
    assert CliRunner().invoke(app, again).exit_code == 0
    return again


def dearer():
    charged()
    spec(privacy="epsilon = 1.3")
    return ["release", "spec.toml", "--ledger", "ledger.db", "--account", "ann"]


def there():
    Path("out").mkdir()
    return released("--out", "out")


def parquet():
    pd.DataFrame({"age": [1], "vote": ["no"]}).to_parquet("people.parquet")
    spec(data='source = "people.parquet"\nencoding = "latin-1"')
    return ["count", "spec.toml", "--not-private"]


MISTAKES = {
    "the name of the spec is misspelt": lambda: (released(), ["plan", "spce.toml"])[1],
    "the data is given in place of the spec": lambda: (people(), ["plan", "people.csv"])[1],
    "a spec in YAML": lambda: written("release:\n  all: 1\n", "spec.yaml"),
    "YAML in a file called .toml": lambda: written("release:\n  all: 1\n"),
    "JSON in a file called .toml": lambda: written('{"release": {"all": 1}}\n'),
    "a spec saved as latin-1": lambda: written("title = 'Straße'\n", encoding="latin-1"),
    "`epsilon = 0,5`": lambda: declared(privacy="epsilon = 0,5"),
    "`epsilon = 0`": lambda: declared(privacy="epsilon = 0"),
    "`epsilon = 5%`": lambda: declared(privacy="epsilon = 5%"),
    "`ε = 1`": lambda: declared(privacy="ε = 1"),
    "two kinds of budget": lambda: declared(privacy="epsilon = 1\nrho = 0.1"),
    "no budget": lambda: declared(privacy='neighbours = "replace"'),
    "`delta` without `epsilon`": lambda: declared(privacy="delta = 1e-6"),
    "a word without quotes": lambda: declared(privacy="epsilon = 1\nneighbours = replace"),
    "a Windows path": lambda: declared(data=r'source = "C:\Users\me\people.csv"'),
    "a name with a blank": lambda: declared(attributes='my age = { range = [0, 99] }\nvote = ["no", "yes"]'),
    "a bracket is missing": lambda: declared(attributes='vote = ["no", "yes"\nage = { range = [0, 99] }'),
    "a comma is missing": lambda: declared(attributes='age = { range = [0, 99] }\nvote = ["no" "yes"]'),
    "a section twice": lambda: declared(privacy="epsilon = 1\n[privacy]\ndelta = 1e-6"),
    "a folder as a spec": lambda: (Path("specs").mkdir(), ["plan", "specs"])[1],
    "typographic quotes": lambda: declared(privacy="epsilon = 1\nneighbours = “replace”"),
    '`"18-64"` as a bin': lambda: declared(
        attributes='age = { bins = ["0-17", "18-64", "65+"] }\nvote = ["no", "yes"]'
    ),
    "edges that do not increase": lambda: declared(attributes='age = { bins = [0, 65, 18] }\nvote = ["no"]'),
    "a single edge": lambda: declared(attributes='age = { bins = [18] }\nvote = ["no"]'),
    "a bin without end": lambda: declared(attributes='age = { bins = [0, 18, inf] }\nvote = ["no"]'),
    "a range the wrong way round": lambda: declared(attributes='age = { range = [99, 0] }\nvote = ["no"]'),
    "a range as text": lambda: declared(attributes='age = { range = "0-99" }\nvote = ["no"]'),
    "a value twice": lambda: declared(attributes='age = { range = [0, 99] }\nvote = ["no", "yes", "no"]'),
    "an empty value": lambda: declared(attributes='age = { range = [0, 99] }\nvote = ["no", ""]'),
    "a misspelt key": lambda: declared(attributes='age = { rnage = [0, 99] }\nvote = ["no"]'),
    "a misspelt section": lambda: declared(privacy="", privcy="epsilon = 1.0"),
    "an attribute called `count`": lambda: declared(attributes="count = { range = [0, 9] }", release="all = 1"),
    "a table of an attribute that is not declared": lambda: declared(release='tables = [["age", "votes"]]'),
    "a table without its inner brackets": lambda: declared(release='tables = ["age", "vote"]'),
    "an attribute twice in a table": lambda: declared(release='tables = [["age", "age"]]'),
    "the same table in another order": lambda: declared(release='tables = [["age", "vote"], ["vote", "age"]]'),
    "tables as one text": lambda: declared(release='tables = "age, vote"'),
    "`all` beyond the attributes": lambda: declared(release="all = 5"),
    "no table": lambda: declared(release="tables = []"),
    "`max_records = 0`": lambda: declared(data='unit = { column = "person", max_records = 0 }'),
    "a unit without `max_records`": lambda: declared(data='unit = { column = "person" }'),
    "`unit` and `count`": lambda: declared(data='count = "n"\nunit = { column = "person", max_records = 2 }'),
    "an encoding that does not exist": lambda: declared(data='encoding = "windwos-1252"'),
    "an encoding for a Parquet file": parquet,
    "the name of the data is misspelt": lambda: released("--out", "out", data='source = "poeple.csv"'),
    "no data is named": lambda: released("--out", "out", data="confidential = true"),
    "data in a form that is not known": lambda: (
        Path("people.db").write_text("x"),
        held(PEOPLE, data='source = "people.db"'),
    )[1],
    "an empty file": lambda: held(""),
    "UTF-16, and the spec does not say so": lambda: held(PEOPLE, "utf-16"),
    "a header in latin-1": lambda: held(PEOPLE.replace("vote", "straße"), "latin-1"),
    "a workbook called .csv": lambda: (
        openpyxl.Workbook().save("people.xlsx"),
        spec(),
        Path("people.xlsx").rename("people.csv"),
        ["count", "spec.toml", "--not-private"],
    )[3],
    "no header": lambda: held(PEOPLE.partition("\n")[2]),
    "a column twice": lambda: held("age,vote,vote\n" + "34,no,no\n" * 40),
    "a header in capitals": lambda: held(PEOPLE.replace("age,vote", "AGE,VOTE")),
    "a column that is not there": lambda: held(PEOPLE.replace("vote", "votes")),
    "ages with a decimal comma": lambda: held("age;vote\n" + "34,5;no\n" * 40),
    "dates with the day first": lambda: held(
        "age,vote\n" + "31.12.1990,no\n" * 40,
        attributes='age = { bins = [1900-01-01, 2000-01-01] }\nvote = ["no", "yes"]',
    ),
    "values in other capitals": lambda: held(PEOPLE.replace("yes", "Yes").replace("no", "No")),
    "blanks around values": lambda: held(PEOPLE.replace(",", ", ").replace(" vote", "vote")),
    "codes where words are declared": lambda: held(PEOPLE.replace("yes", "1").replace("no", "0")),
    "a few values that are not declared": lambda: held(PEOPLE + "34,maybe\n"),
    "missing values": lambda: held(PEOPLE + "34,\n"),
    "a line with a field too many": lambda: held(PEOPLE + "34,no,7\n"),
    "`release` without `--out`": released,
    "`--out` that is there already": there,
    "`--out x.tar.gz`": lambda: released("--out", "x.tar.gz"),
    "`--out` in a folder that is not there": lambda: released("--out", "results/out"),
    "`--out` where nothing can be written": lambda: released("--out", "/proc/out"),
    "a draft that nobody has checked": lambda: (
        people(),
        spec(head="draft = true"),
        ["release", "spec.toml", "--out", "out"],
    )[2],
    "`--sign` without `--out`": lambda: released("--print", "--sign", "my.key"),
    "`--account` without a ledger": lambda: released("--out", "out", "--account", "ann"),
    "a ledger that is not there": lambda: released("--out", "out", "--ledger", "ledger.db", "--account", "ann"),
    "`init` over a spec": lambda: (released(), ["init", "people.csv", "--out", "spec.toml"])[1],
    "`init` of a file that is misspelt": lambda: (released(), ["init", "poeple.csv"])[1],
    "`--target 5`": lambda: (spec(), ["plan", "spec.toml", "--target", "5"])[1],
    "`--sweep 0.1;1`": lambda: (spec(), ["plan", "spec.toml", "--sweep", "0.1;1"])[1],
    "`show` of data": lambda: (people(), ["show", "people.csv"])[1],
    "`show` of a folder that is no release": lambda: (Path("out").mkdir(), ["show", "out"])[1],
    "`report --out report.pdf`": lambda: (Path("out").mkdir(), ["report", "out", "--out", "report.pdf"])[1],
    "an account that does not exist": lambda: charged("--out", "out", account="bob"),
    "a release that costs more than is granted": dearer,
    "the same release a second time": twice,
}


def rows():
    found = re.findall(r"^\| (.+?) \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    return {mistake: message for mistake, message in found if mistake not in ("what was done", "---")}


def said(arguments):
    result = CliRunner().invoke(app, arguments)
    return " ".join(f"{result.stderr} {result.exception or ''}".split()), result.exit_code


def test_the_page_has_every_mistake_and_no_other():
    assert list(rows()) == [*MISTAKES, "data that you may not read"]
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_the_message_that_the_page_shows(mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = MISTAKES[mistake]()
    monkeypatch.setattr(Generator, "system", lambda: pytest.fail("noise is drawn: something is spent"))
    text, code = said(arguments)
    parts = [" ".join(part.split()) for part in rows()[mistake].replace("\\|", "|").strip("`").split("…")]
    pattern = ".*".join(re.escape(part) for part in parts)
    assert re.search(pattern, text), text
    assert (code == 0) == (mistake == "the same release a second time")
    assert not Path("out/release.json").exists()


def test_data_that_may_not_be_read_is_said_before_anything_is_spent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = released("--out", "out")
    assert said([*arguments[:2], "--print"])[1] == 0  # whatever is needed is loaded, as whoever runs this
    Path("people.csv").chmod(0)
    monkeypatch.setattr(Generator, "system", lambda: pytest.fail("noise is drawn: something is spent"))
    root = os.geteuid() == 0
    if root:
        for folder in (tmp_path, *(above for above in tmp_path.parents if "pytest" in above.name)):
            folder.chmod(0o777)
        os.seteuid(65534)
    try:
        text, code = said(arguments)
    finally:
        if root:
            os.seteuid(0)
    assert code != 0
    assert rows()["data that you may not read"].strip("`").split("…")[1] in text
    assert not Path("out").exists()
