"""Text and tree say the same: what is written is read back, and what cannot be read is said where it stands."""

import json
from dataclasses import fields
from fractions import Fraction
from random import Random as Generator

import pytest

from margrave.errors import MargraveError, RefusedError, UsageError
from margrave.files.untrusted import MOST_TEXT
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.form import (
    MOST_DEPTH,
    LanguageNode,
    check_form_size,
    nodes_of,
    read_as,
    read_form,
)
from margrave.planning.questions.language.public import PublicColumn, PublicName, PublicTable
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.language.tokens import WORDS
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.programs.sought import sought_of
from tests.planning.questions.samples import COLUMNS, Random, data_spec

SPEC = data_spec()


LETTERS = "aZ_09 ,.;:*()'\"\\-+=<>é→日ß{}"
HOSTILE = [
    *sorted(WORDS),
    "part",
    "parts",
    "partition",
    "public",
    "on",
    "between",
    "north",
    "people",
    "2024-01-01",
    "1-2",
]


def samples(count, seed, named=lambda random: "n{}"):
    random = Generator(seed)
    found = []
    while len(found) < count:
        try:
            found.append(Random(random, SPEC, named(random)).aggregate())
        except MargraveError:
            continue
    return found


def test_random_questions_are_read_back_from_their_text_and_from_their_json():
    seen = set()
    for node in samples(300, "text"):
        assert parsed(said(node), SPEC) == node
        assert read_form(json.loads(json.dumps(node.to_json()))) == node
        seen |= {type(one) for one in nodes_of(node)}
    assert len(seen) >= 30


def hostile(random):
    """Names that are words of the language, tables, values or signs, or of any letters; each is new."""
    taken = set()

    def name(number):
        while True:
            some = "".join(random.choices(LETTERS, k=random.randint(1, 6)))
            found = random.choice([random.choice(HOSTILE), random.choice(HOSTILE).upper(), some])
            if found.strip() and found not in taken | {column for table in COLUMNS.values() for column in table}:
                taken.add(found)
                return found

    return name


def test_random_questions_with_any_names_are_read_back_from_their_text():
    names = set()
    for node in samples(300, "names", hostile):
        assert parsed(said(node), SPEC) == node
        assert read_form(json.loads(json.dumps(node.to_json()))) == node
        names |= {one.name for one in nodes_of(node) if hasattr(one, "name")}
    assert len(names & {*HOSTILE}) > 30 and sum(not name.isidentifier() for name in names) > 100


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\x1b[2J", "\ud800", "x" * (MOST_TEXT + 1), 3, None])
def test_a_name_is_visible_and_not_too_long(name):
    for make in (e.Column, r.Rows, lambda it: r.Named(it, e.Missing()), lambda it: r.Key(it, e.Missing()), PublicName):
        with pytest.raises(UsageError, match="must be a name"):
            make(name)


def test_a_public_table_has_no_name_of_the_data_set():
    table = PublicTable((PublicColumn("k", (e.Text("a"),)), PublicColumn("v", (e.Text("b"),))))
    assert parsed("people join mine on region count", SPEC, {"mine": table}).rows.table == table
    with pytest.raises(UsageError, match="is a table of the data set"):
        parsed("people join visits on region count", SPEC, {"visits": table})


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("people where region = north count", "people where region = 'north' count"),
        ("people where age in 2-4 count", "people where (age >= 2 and age <= 4) count"),
        ("people where age between 2 and 4 count", "people where (age >= 2 and age <= 4) count"),
        ("people where age in (1, 2) or not region <> south count", None),
        ("people by region only (north, 'it''s') count", None),
        ("PEOPLE count", None),
        (
            'people with "day" = age where "day" > 1 by "region" count',
            'people with "day" = age where "day" > 1 by region count',
        ),
        ("people median age", "people quantiles(0.5) of age"),
        ("people where (age + 1) * 2 // 3 > 1 count", None),
        ("people where joined >= day('2024-01-01') and year(joined) = 2024 count", None),
        ("people where income not in (1, 0.5) count rows 1", None),
        ("visits per unit n = count(), spent = sum(cost) where spent > 1 average spent low 0 high 3", None),
        ("people left join (visits per unit n = count(ward = a)) where n is not missing count", None),
        ("visits where cost = -1 union visits count groups 1 per group 2", None),
        ("people by region quantiles(0.1, 0.9) of age rows 1 interval 0.25", None),
        ("people tables(region * age, (), region) rows 1", None),
        ("people with old = case when age > 3 then 'yes' else 'no' end by old sum income low -1 high 1", None),
    ],
)
def test_text_is_read_as_people_write_it(text, same):
    if text.startswith("PEOPLE"):
        with pytest.raises(UsageError, match="a table is expected"):
            parsed(text, SPEC)
        return
    found = parsed(text, SPEC)
    assert parsed(said(found), SPEC) == found
    if same is not None:
        assert found == parsed(same, SPEC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "people",
        "people where count",
        "people where age > count",
        "nobody count",
        "people count by region",
        "people by region cumulative age",
        "people take 10 count",
        "people where age ~ 3 count",
        "people average",
        "people sum income rows 3",
        "people where (age > 1 count",
        "people quantiles() of age",
        "people where joined in 2024-01-01 count",
        "people where region in north count",
        "people with day = age count",
        'people with " " = age count',
        "people with count = age count",
        "people where age // 0 > 1 count",
        "people quantiles(2) of age",
        "people; drop table people",
        "people where " + "(" * 200 + "age > 1" + ")" * 200 + " count",
        "people where " + "not " * 5_000 + "age > 1 count",
    ],
)
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises((UsageError, RefusedError)):
        parsed(text, SPEC)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"kind": "nothing"},
        {"kind": "count"},
        {"kind": "count", "rows": 3},
        {"kind": "count", "rows": {"kind": "table", "table": "people"}, "extra": 1},
        {"kind": "count", "rows": {"kind": "table", "table": "people"}, "most_rows": 0},
        {"kind": "count", "rows": {"kind": "table", "table": "people"}, "most_rows": True},
        {"kind": "number", "value": "nan"},
        {"kind": "number", "value": 0.5},
        {"kind": "day", "value": "2024-13-01"},
        {"kind": "divide", "value": {"kind": "number", "value": "1"}, "by": 0},
        {"kind": "divide", "value": {"kind": "number", "value": "1"}, "by": -2},
        {"kind": "in", "value": {"kind": "column", "name": "x"}, "members": [{"kind": "column", "name": "y"}]},
        {"kind": "join", "left": {"kind": "table", "table": "a"}, "right": {"kind": "table", "table": "b"}, "how": "x"},
        {"kind": "case", "branches": []},
        {"kind": {"a": 1}},
    ],
)
def test_json_that_is_no_question_is_refused(value):
    with pytest.raises(UsageError):
        read_form(value)
    with pytest.raises(UsageError):
        read_as(value, a.Aggregate)


def test_questions_of_too_many_levels_or_parts_are_refused():
    rows = r.Rows("people")
    for _ in range(MOST_DEPTH):
        rows = r.Distinct(rows)
    with pytest.raises(RefusedError):
        check_form_size(a.Count(rows))
    deep = {"kind": "table", "table": "people"}
    for _ in range(1_000):
        deep = {"kind": "distinct", "rows": deep}
    with pytest.raises(RefusedError):
        read_form(deep)


def test_every_node_is_checked_at_birth():
    """No field of any node takes a value of another type: the language is closed."""
    for node in {type(one): one for question in samples(200, "birth") for one in nodes_of(question)}.values():
        for field in fields(node):
            for wrong in (object(), 1.5, {"a": 1}):
                given = {one.name: getattr(node, one.name) for one in fields(node)} | {field.name: wrong}
                with pytest.raises((UsageError, TypeError)):
                    type(node)(**given)


def test_a_node_is_a_value():
    assert isinstance(e.Numeral("1/3"), LanguageNode) and e.Numeral("1/3") == e.Numeral(Fraction(1, 3))
    assert hash(a.Count(r.Rows("people"))) == hash(a.Count(r.Rows("people")))


def test_two_nodes_of_one_kind_are_refused_when_they_are_declared():
    with pytest.raises(TypeError, match="Count and Again are both of the kind 'count'"):

        class Again(a.Aggregate, kind="count"):
            pass


@pytest.mark.parametrize(
    ("text", "said_instead"),
    [
        ("count people", "begins with a table and ends with what is asked"),
        ("SELECT COUNT(*) FROM people", "margrave ask --sql"),
        ("people count by region", "what is asked stands last"),
        ("people avg income", "did you mean 'average'"),
        ("people averge income", "did you mean 'average'"),
        ("people std income", "did you mean 'variance'"),
        ("people max income", "quantiles"),
        ("people histogram age", "by age count"),
        ("people average incom", "there is no column 'incom': did you mean 'income'"),
        ("people median incom rows 1", "did you mean 'income'"),
        ("people where ag > 3 count", "there is no column 'ag': did you mean 'age'"),
        ("people where person = 5 count", "there is no column 'person'; there are age"),
        ("people where person", "there is no column 'person'"),
        ("people where age > three count", "'three' is no number and no column"),
        ("people where joined > yesterday count", "'yesterday' is no day, such as 2024-12-31,"),
        ("people where age = null count", "write 'is missing'"),
        ("people where age is null count", "'missing' is expected"),
        ("people where age > 1,000 count", "without commas, 1000"),
        ("people where age > 1 && age < 3 count", "joined with 'and'"),
        ("people with x = income / 3 average x", "income // 2"),
        ("people where age in 1..3 count", "18-64"),
        ("people count;", "at letter 13.*without a semicolon"),
        ("people join visits on person count", "leave 'on …' out"),
        ("people limit 10 count", "no single row can be told"),
        ("visits by month(seen) count", "my_month = month"),
        ("people by region count rows 0", "'rows' of 'count'"),
    ],
)
def test_a_mistake_is_told_with_what_to_write_instead(text, said_instead):
    with pytest.raises(UsageError, match=said_instead):
        parsed(text, SPEC)


def test_hints_refuse_nothing_that_can_be_asked():
    """A name that the question gives anew is of another kind; a bare text may stand on either side."""
    for text in (
        "people select age = region where age = north count",
        "people where north = region count",
        "people where age in (1,200) count",
        "people with null = 1 where null = 1 count",
        "people by age = region only (north) count",
    ):
        assert parsed(said(parsed(text, SPEC)), SPEC) == parsed(text, SPEC)
        sought_of(parsed(text, SPEC), SPEC)


def test_every_beginning_of_a_question_is_refused_or_read():
    whole = "people where region = north and ag > 1,000 by m = month(joined) quantiles(0.5) of income"
    for text in (
        whole,
        "people where not nothing in (1,200) join (visits) on x count",
        "visits per unit n = max(cost)",
    ):
        for length in range(len(text) + 1):
            try:
                parsed(text[:length], SPEC)
            except MargraveError:
                continue
