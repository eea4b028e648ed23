"""A spec is read and planned in the way of asking that it declares."""

import pytest

from margrave.errors import SpecError, UsageError
from margrave.ledger import Notion
from margrave.planning.graphs.plan import GraphPlan
from margrave.planning.graphs.spec import GraphSpec
from margrave.planning.plan import Plan
from margrave.planning.ways.registry import load_spec, planned, spec_way
from margrave.spec.spec import Spec

TABLES = '[attributes]\na = ["x", "y"]\n[release]\ntables = [["a"]]\n[privacy]\nepsilon = 1.0\n'
GRAPH = '[graph]\nnodes = ["ann", "bob", "cid"]\n[privacy]\nepsilon = 1.0\n'


@pytest.mark.parametrize(("text", "spec", "plan"), [(TABLES, Spec, Plan), (GRAPH, GraphSpec, GraphPlan)])
def test_a_section_tells_the_way(text, spec, plan, tmp_path):
    (tmp_path / "spec.toml").write_text(text, encoding="utf-8")
    loaded = load_spec(tmp_path / "spec.toml")
    assert type(loaded) is spec and type(load_spec(text)) is spec
    assert loaded.way == plan.way
    found = planned(tmp_path / "spec.toml")
    assert type(found) is plan and found.way == plan.way
    assert planned(found) is found and planned(loaded).question == found.question
    assert spec_way(loaded.way).notion(loaded) == found.notion == Notion()


def test_what_is_no_toml_is_refused_as_before():
    with pytest.raises(SpecError, match="syntax"):
        load_spec("[graph\n")
    with pytest.raises(SpecError, match="no such file"):
        load_spec("nowhere.toml")


def test_there_are_no_other_ways():
    with pytest.raises(UsageError, match=r"no way of asking called 'guess': there are graph, .*release"):
        spec_way("guess")


def test_only_tables_are_planned_for_a_wanted_error():
    way = spec_way("graph")
    with pytest.raises(UsageError, match="only tables"):
        way.sweep(load_spec(GRAPH), ())
