"""Declaring public facts: values from a file, from the spec or from the data, and every contradiction between them."""

import json

import pytest

import margrave as mg
from margrave.errors import RefusedError, SpecError, UsageError
from margrave.facts.declared import given_total, given_values, is_given
from margrave.spec.workload import PublicFact
from tests.shapes import spec_of

TEXT = """
[attributes]
a = ["p", "q"]
b = ["x", "y"]
c = [1, 2, 3]
[release]
tables = [["a", "b", "c"]]
public = [{public}]
{more}
[privacy]
epsilon = 1
"""


def spec(public, base=None, more=""):
    return mg.Spec.parse(TEXT.format(public=public, more=more), base)


def problem(public, base=None, more=""):
    with pytest.raises(SpecError) as found:
        spec(public, base, more)
    assert len(found.value.problems) == 1
    return str(found.value.problems[0])


def test_values_from_a_csv_file_in_any_order(tmp_path):
    (tmp_path / "known.csv").write_text("c,n,a\n3,7,q\n1,10,p\n", encoding="utf-8")
    found = spec('{ of = ["c", "a"], file = "known.csv", column = "n" }', tmp_path)
    assert found.public == (PublicFact(("a", "c"), None, (10, 0, 0, 0, 0, 7)),)
    assert is_given(found) and given_values(found)["a", "c"].tolist() == [[10, 0, 0], [0, 0, 7]]


def test_values_from_a_parquet_file(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"c": [1, 2, 3], "count": [4, 5, 6]}), tmp_path / "known.parquet")
    assert spec('{ of = ["c"], file = "known.parquet" }', tmp_path).public[0].counts == (4, 5, 6)
    (tmp_path / "bad.parquet").write_text("no", encoding="utf-8")
    assert "not a readable Parquet file" in problem('{ of = ["c"], file = "bad.parquet" }', tmp_path)


def test_values_in_the_spec_survive_every_round_trip():
    found = spec('{ of = [], count = 9 }, { of = ["a"], counts = [4, 5] }, { cell = { b = "x" }, count = 3 }')
    assert [fact.counts for fact in found.public] == [(9,), (4, 5), (3,)]
    assert mg.Spec.parse(found.to_toml()) == found
    assert mg.Spec.from_dict(json.loads(json.dumps(found.public_dict()))) == found


def test_a_total_may_be_given_beside_whole_tables_that_are_read():
    found = spec('["a"], { of = [], count = 9 }, { cell = { b = "x" } }')
    assert [fact.counts for fact in found.public] == [None, (9,), None]
    assert not is_given(found)
    assert given_total(found) == 9
    assert mg.Spec.parse(found.to_toml()) == found


@pytest.mark.parametrize(
    ("public", "text"),
    [
        ('{ of = ["a"], count = 3 }', "public[0].count: is for a cell or for the total"),
        ('{ of = ["a"], counts = [3] }', "public[0].counts: has 1 numbers, and the table of a has 2 cells"),
        ('{ of = ["a"], counts = [3, -1] }', "public[0].counts[1]: a count cannot be negative"),
        ('{ of = ["a"], counts = [3, 1], file = "x" }', "public[0].file: contradicts counts"),
        ('{ of = ["a"], column = "n" }', "public[0].column: names the column of counts in a file"),
        ('{ of = ["a"], cell = { b = "x" } }', "has both of and cell"),
        ("{ count = 3 }", "needs either cell"),
        ('{ cell = { b = "x" }, counts = [3] }', "public[0].counts: is for whole tables"),
        ('{ of = ["a"], file = "none.csv" }', "none.csv no such file"),
        ('["a"], { of = ["a"], counts = [1, 2] }', "is listed twice"),
        ('["a"], { of = ["b"], counts = [1, 2] }', "is given, and {a} is read from the data"),
        ('{ of = ["b"], counts = [1, 2] }, ["a"]', "is read from the data, and {b} is given"),
        ('{ of = [], count = 3 }, { cell = { a = "p" } }', "is read from the data, and the total is given"),
        ('[], { of = ["a"], counts = [1, 2] }', "is given, and the total is read from the data"),
        (
            '{ of = [], count = 3 }, { of = ["b"], counts = [1, 2] }, ["a"]',
            "beside whole tables that are read, the total",
        ),
        (f'{{ of = [], count = {1 << 40} }}, ["a"]', "public[0]: the total has a count of 2⁴⁰ or more"),
        (
            '{ of = ["a", "b"], counts = [1, 2, 3, 4] }, { of = ["b", "c"], counts = [5, 0, 0, 4, 0, 1] }',
            "{b, c} gives 5 to {b=x}, and {a, b} gives 4",
        ),
        (
            '{ of = ["a"], counts = [1, 2] }, { of = ["b"], counts = [1, 1] }',
            "{b} gives 2 to the total, and {a} gives 3",
        ),
        ('{ of = [], count = 3 }, { cell = { a = "p" }, count = 4 }', "{a=p} is 4, and the total is 3"),
        ('{ of = ["a"], counts = [1, 2] }, { cell = { a = "p" }, count = 2 }', "{a=p} is 2, and {a} gives 1 to {a=p}"),
        ('{ cell = { a = "p" }, count = 1 }, { cell = { a = "p", b = "x" }, count = 2 }', "more than the 1 of {a=p}"),
        (f"{{ of = [], count = {1 << 40} }}", "more than any data set here may have"),
    ],
)
def test_what_is_wrong_is_said_precisely(public, text):
    assert text in problem(public)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a,n\np,1\n", "must have exactly 'a', 'count'"),
        ("a,count\nr,1\n", "known.csv, line 2: 'a' has no value 'r'"),
        ("a,count\np,1\np,2\n", "known.csv, line 3: this cell is listed twice"),
        ("a,count\np,-1\n", "known.csv, line 2: a count must be a whole number"),
        ("a,count\np,1.5\n", "known.csv, line 2: a count must be a whole number"),
        ("a,count\np\n", "known.csv, line 2: has 1 values and not 2"),
        ("", "has the columns"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_precisely(tmp_path, content, text):
    (tmp_path / "known.csv").write_text(content, encoding="utf-8")
    assert text in problem('{ of = ["a"], file = "known.csv" }', tmp_path)


@pytest.mark.parametrize("source", ["known.csv", "../{folder}/known.csv", "link.csv", "*.csv", "{base}/known.csv"])
def test_the_confidential_data_is_no_file_of_public_counts(tmp_path, source):
    """It is not even read: an error would show its values."""
    (tmp_path / "known.csv").write_text("a,count\nsecret,1\n", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(tmp_path / "known.csv")
    text = TEXT.format(public='{ of = ["a"], file = "known.csv" }', more="")
    data = f'[data]\nsource = "{source.format(folder=tmp_path.name, base=tmp_path)}"\n'
    with pytest.raises(SpecError, match="is the confidential data itself") as found:
        mg.Spec.parse(data + text, tmp_path)
    assert "secret" not in str(found.value)
    with pytest.raises(SpecError, match="has no value 'secret'"):
        mg.Spec.parse(f"{data}confidential = false\n{text}", tmp_path)


def test_a_parquet_file_inside_a_folder_of_data_is_data(tmp_path):
    (tmp_path / "data").mkdir()
    text = TEXT.format(public='{ of = ["a"], file = "data/part.parquet" }', more="")
    with pytest.raises(SpecError, match="is the confidential data itself"):
        mg.Spec.parse(f'[data]\nsource = "data"\n{text}', tmp_path)


def test_counts_of_thousands_of_digits_are_problems_of_the_spec(tmp_path):
    (tmp_path / "known.csv").write_text(f"a,count\np,{'9' * 5000}\n", encoding="utf-8")
    assert "known.csv, line 2: a count must be" in problem('{ of = ["a"], file = "known.csv" }', tmp_path)
    document = spec("{ of = [], count = 1 }").public_dict()
    document["release"]["public"] = [{"of": [], "count": 10**5000}]
    with pytest.raises(SpecError, match="must lie between -1e300 and 1e300"):
        mg.Spec.from_dict(document)


def test_structural_zeros_contradict_counts_there():
    more = 'impossible = [{ a = "p", b = "x" }]'
    text = "{a=p, b=x} is 1, and no record can be there"
    assert text in problem('{ of = ["a", "b"], counts = [1, 2, 3, 4] }', more=more)
    assert text in problem('{ cell = { a = "p", b = "x" }, count = 1 }', more=more)


def test_facts_that_only_contradict_together_are_refused_before_any_data():
    public = (
        '{{ of = ["a", "b"], counts = [{n}, 0, 0, {n}] }}, {{ of = ["b", "c"], counts = [{n}, 0, 0, 0, 0, {n}] }}, '
        '{{ of = ["a", "c"], counts = [0, 0, {n}, {n}, 0, 0] }}'
    )
    with pytest.raises(RefusedError, match="no table of counts has them all"):
        mg.plan(spec(public.format(n=9)))
    with pytest.raises(RefusedError, match="unless they contradict each other"):  # two records take no step at all
        mg.plan(spec(public.format(n=1)))


def test_specs_made_in_python_are_checked_too():
    for fact in (PublicFact(("a",), None, (1,)), PublicFact(("a",), ("0",), (1, 2))):
        with pytest.raises(UsageError, match="counts, not"):
            spec_of((2, 2), ["ab"], public=(fact,), induced="worst-case")
    for counts in ((-1,), (True,), (1.5,)):
        with pytest.raises(UsageError, match="whole numbers"):
            PublicFact((), None, counts)
