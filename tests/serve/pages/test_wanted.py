"""The form of the workbench asks what it says, and what is copied from it is the same question."""

import pytest

from margrave.errors import UsageError
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.language.wording import said
from margrave.serve.operations.declared import Caller
from margrave.serve.pages.copies import command_of, python_of, sql_of
from margrave.serve.pages.visits import Sight
from margrave.serve.pages.wanted import WHATS, AskedFor, key_choices
from tests.session.conftest import SPEC

DATA = DataSpec.load(SPEC)


def form(**fields):
    listed = {name: value if isinstance(value, list) else [value] for name, value in fields.items()}
    return AskedFor.read(Sight(None, Caller(None), {}, listed), DATA)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "people count"),
        ({"what": "units", "by": ["region", ""]}, "people by region units"),
        ({"what": "average", "value": "age", "by": "region"}, "people by region average age"),
        ({"what": "median", "value": "age"}, "people median age"),
        ({"what": "choose", "value": "region"}, "people choose region"),
        ({"column": ["age", ""], "sign": ["<=", "="], "member": [" 30 ", ""]}, "people where age <= 30 count"),
        ({"table": "visits", "column": "ward", "sign": "!=", "member": "a"}, "visits where ward != 'a' count"),
        ({"text": "visits by ward count", "what": "nonsense"}, "visits by ward count"),
    ],
)
def test_a_form_asks_what_it_says(fields, text):
    wanted = form(**fields)
    assert wanted.node(DATA) == parsed(text, DATA)
    again = {}
    for name, value in wanted.fields():
        again.setdefault(name, []).append(value)
    assert form(**again).node(DATA) == wanted.node(DATA)


@pytest.mark.parametrize(
    "fields",
    [
        {"table": "nowhere"},
        {"what": "nonsense", "value": "age"},
        {"what": "sum"},
        {"what": "sum", "value": "nothing"},
        {"by": "nothing"},
        {"by": ["region", "region"]},
        {"what": "choose", "value": "region", "by": "region"},
        {"column": "age", "sign": "~", "member": "1"},
        {"column": "age", "sign": "=", "member": "many"},
        {"text": "people partition by region"},
    ],
)
def test_what_is_no_question_is_refused(fields):
    with pytest.raises(UsageError):
        form(**fields).node(DATA)
    with pytest.raises(UsageError, match="ε or in ρ"):
        _ = form(unit="dollars").budget


def test_every_choice_of_the_form_is_a_question():
    for table in DATA.tables:
        for key in key_choices(table):
            assert form(table=table.name, by=key.id).node(DATA).keys == (key.key,)
    assert set(WHATS) == {"count", "units", "sum", "average", "variance", "median", "choose"}


def test_sql_is_offered_only_where_it_says_the_same():
    both = form(column=["age", "region"], sign=[">", "="], member=["30", "north"], by="region").node(DATA)
    assert sql_of(both, DATA) == (
        "SELECT region, COUNT(*)\nFROM people\nWHERE age > 30 AND region = 'north'\nGROUP BY region"
    )
    for what in ("sum", "average", "variance", "median"):
        assert sql_of(form(what=what, value="age").node(DATA), DATA).startswith("SELECT ")
    assert sql_of(form(what="choose", value="region").node(DATA), DATA) == ""
    assert sql_of(parsed("people distinct count", DATA), DATA) == ""


def test_what_is_copied_as_python_and_command_asks_the_same():
    node = form(column="region", sign="=", member="it's").node(DATA)
    found = {}
    program = python_of(node, "https://curator.example", "clinic@2024", "rho", "0.1")

    class Session:
        def ask(self, text):
            found["text"] = text
            return self

        def explain(self, rho):
            found["explained"] = rho

        release = explain

    class Margrave:
        connect = staticmethod(lambda url, token, dataset: Session())

    lines = program.splitlines()
    assert lines[0] == "import margrave as mg"
    exec("\n".join(lines[1:]), {"mg": Margrave})
    assert parsed(found["text"], DATA) == node and found["explained"] == "0.1"
    told = command_of(node, "https://curator.example", "clinic@2024", "epsilon", "0.1")
    import shlex

    assert shlex.split(told)[2] == said(node)
