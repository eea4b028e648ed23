"""Whatever is asked says the same things of itself, and is known again by the digest of its question."""

import json

import pytest

import margrave as mg
from margrave.budget.units import budget_from_dict
from margrave.ledger import DataSetName, Notion
from margrave.planning.asked import request_of
from tests.planning.graphs.graphs import graph_spec

SPEC = """
[attributes]
smoke = ["no", "yes"]
age = ["young", "middle", "old"]
[release]
tables = [["smoke", "age"]]
strategy = "margins"
{}
[data]
source = "people.csv"
{}
[privacy]
{}
"""
WRITTEN = {
    ("", "", "epsilon = 1"): "3d0613d7c5eb9e1c31f49c88182815bd1871991170b4c2a6d232a9a06f3fb483",
    ("", 'count = "n"', "rho = 0.1"): "3eca4d6ab5dba24c3213e807451cf1a335fce1c759ad96bf9452b8502d6f91d1",
    ('public = [["age"]]', "", "epsilon = 0.5"): "dafec6fc31d3628cd22f3ba21f042edb6221a09ee9d8df6eeb9423077f879437",
    (
        'sensitive = ["smoke"]',
        "",
        "epsilon = 1\ndelta = 1e-6",
    ): "ed208014736a4be94a091ecae2bd5dae67a9ccfd5b13c32ab11fcf95dd902ba7",
    (
        "",
        'unit = {column = "id", max_records = 3}',
        'epsilon = 1\nneighbours = "replace"',
    ): "86c0da361dc3ffeb508411de7190dec8d6b790565d854e477fef1a71b8bce033",
}
"""Questions as the ledgers of version 0.1 know them."""


def every_way():
    yield mg.plan(mg.Spec.parse(SPEC.format('public = [["age"]]', "", "epsilon = 1")))
    yield mg.plan(graph_spec("aabb", known={"degree": range(3)}))
    yield mg.plan(graph_spec("aab", directed=True))


@pytest.mark.parametrize(("parts", "digest"), WRITTEN.items())
def test_old_ledgers_know_their_questions_again(parts, digest):
    assert mg.plan(mg.Spec.parse(SPEC.format(*parts))).question == digest


@pytest.mark.parametrize("asked", [*every_way()], ids=lambda one: one.way)
def test_whatever_is_asked_says_all_that_a_ledger_is_told(asked):
    request = request_of(asked, DataSetName("survey", "1"), "ann", "mine")
    assert (request.cost, request.notion, request.question) == (asked.cost, asked.notion, asked.question)
    assert (request.mechanisms, request.exact, request.disclosed) == (asked.events, asked.exact, asked.disclosed)
    assert (request.account, request.id, request.title) == ("ann", "mine", asked.title)
    said = json.loads(json.dumps(asked.to_json()))
    assert budget_from_dict(said["cost"]) == asked.cost
    assert said["words"] == list(asked.words()) and said["way"] == asked.way
    assert asked.forecast and asked.sheets() and all(sheet.rows for sheet in asked.sheets())


def test_another_graph_is_another_question():
    plain, grouped, known = (graph_spec("aaa"), graph_spec("aab"), graph_spec("aaa", known={"degree": (0,)}))
    questions = {mg.plan(one).question for one in (plain, grouped, known, graph_spec("aaa", directed=True))}
    assert len(questions) == 4
    assert mg.plan(graph_spec("aaa")).question == mg.plan(plain).question


def test_an_edge_is_protected_as_a_record_is_and_public_degrees_are_facts_about_one_graph():
    assert mg.plan(graph_spec("aab")).notion == Notion()
    four, five = (mg.plan(graph_spec("a" * n, known={"degree": (0, 1)})).notion for n in (4, 5))
    assert four.facts and four.induced == "worst-case"
    assert four.difference(five).startswith("the public facts")
    regrouped = mg.plan(graph_spec("abab", known={"degree": (0, 1)})).notion
    assert four.difference(regrouped) is None
