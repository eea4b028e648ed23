"""Graphs are charged like every release: once, for the same notion, and never with a word about an edge."""

import logging
import sqlite3
from dataclasses import replace

import pandas as pd
import pytest

import margrave as mg
from margrave import pipeline
from margrave.errors import DataError, RefusedError, VerificationError
from margrave.ledger import Notion, verify
from margrave.ledger.records import Pool
from margrave.ledger.statements.statement import statement
from margrave.planning.ways.registry import load_spec, spec_way
from margrave.publish.charging import published_in
from margrave.publish.verification.verify import verify as verify_bundle
from margrave.publish.ways.graph import GraphPack
from tests.ledger.helpers import eps
from tests.publish.graphs.friends import EDGES, SPEC


@pytest.fixture
def ledger(friends):
    spec = load_spec("graph.toml")
    with mg.Ledger.create(f"sqlite:///{friends / 'ledger.db'}") as one:
        one.register("friends@1", spec_way(spec.way).notion(spec), eps(10))
        one.add_account("ann")
        one.grant("ann", "friends@1", eps(10))
        yield one


def spent(ledger):
    return ledger.records(Pool)[0].spent.epsilon


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_asked_again_the_bundle_is_identical_and_free(friends, ledger, monkeypatch):
    first = mg.release("graph.toml", ledger=ledger, account="ann")
    monkeypatch.setattr("margrave.pipeline.Generator.system", lambda: pytest.fail("noise was drawn again"))
    again = mg.release("graph.toml", ledger=ledger, account="ann")
    for out, name in ((first, "first"), (again, "again"), (again, "again.zip")):
        out.save(name)
        assert verify_bundle(name).private
    assert files(friends / "first") == files(friends / "again")
    assert spent(ledger) == 4 and first.ledger["dataset"] == "friends@1"
    assert verify(ledger, published_in(friends)).published == 3


def test_the_public_statement_tells_what_was_measured_and_disclosed(friends, ledger):
    mg.release("graph.toml", ledger=ledger, account="ann")
    text = "\n".join(statement(ledger, "friends").lines())
    assert "- blocks: discrete laplace, scale 3.5" in text
    assert "- degree of 5 nodes: disclosed exactly, as counted in the data; not protected" in text


@pytest.mark.parametrize(
    "other",
    [
        SPEC.replace('"dan", "eve"]', '"dan"]'),
        SPEC.replace("degrees = [", "degrees = { ann = 2 } #"),
        SPEC.replace('"hal"', '"hal", "ida"'),
        SPEC.replace("[graph]", "[graph]\ndirected = true").replace("degrees = [", "out_degrees = ["),
    ],
)
def test_other_facts_would_change_the_price_of_what_was_released_and_are_refused(friends, ledger, other):
    mg.release("graph.toml", ledger=ledger, account="ann")
    with pytest.raises(RefusedError, match="the public facts"):
        mg.release(mg.GraphSpec.load(other), "friends.csv", ledger=ledger, account="ann")
    assert spent(ledger) == 4


def test_other_groups_and_another_budget_add_up(friends, ledger):
    mg.release("graph.toml", ledger=ledger, account="ann")
    other = SPEC.replace("{ red =", "{ green =").replace("epsilon = 4", "epsilon = 1")
    mg.release(mg.GraphSpec.load(other), "friends.csv", ledger=ledger, account="ann")
    assert spent(ledger) == 5


def test_without_public_degrees_an_edge_is_a_record_and_adds_up_with_tables_of_the_same_edges(friends):
    tables = '[attributes]\none = { values = ["ann", "bob"], other = "else" }\n[release]\ntables = [["one"]]\n'
    spec = SPEC.replace("degrees = [", "# [")
    with mg.Ledger.create(f"sqlite:///{friends / 'plain.db'}") as ledger:
        ledger.register("friends@1", Notion(), eps(10))
        ledger.add_account("ann")
        ledger.grant("ann", "friends@1", eps(10))
        mg.release(mg.GraphSpec.load(spec), "friends.csv", ledger=ledger, account="ann")
        assert spent(ledger) == 4
        mg.release(mg.Spec.parse(f"{tables}[privacy]\nepsilon = 1"), "friends.csv", ledger=ledger, account="ann")
        assert spent(ledger) == 5
        with pytest.raises(RefusedError, match="the public facts"):
            mg.release("graph.toml", ledger=ledger, account="ann")


def test_a_failure_after_the_draw_goes_on_from_the_same_noise(friends, ledger, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(GraphPack, "write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            mg.release("graph.toml", ledger=ledger, account="ann")
    monkeypatch.setattr("margrave.pipeline.Generator.system", lambda: pytest.fail("noise was drawn again"))
    assert mg.release("graph.toml", ledger=ledger, account="ann").private
    assert spent(ledger) == 4


def test_noisy_answers_are_kept_exactly_and_belong_to_their_question(friends):
    plan, pack = mg.plan("graph.toml"), GraphPack()
    drawn = mg.release(plan, seed=1).measured
    content = pack.keep(plan, drawn)
    again = pack.kept(plan, content)
    assert again.blocks.tolist() == drawn.blocks.tolist() and again.pairs.tolist() == drawn.pairs.tolist()
    assert {side: one.tolist() for side, one in again.degrees.items()} == {"degree": [2, 2, 1, 1, 3]}
    other = mg.plan(mg.GraphSpec.load(SPEC.replace("Friends", "Enemies")))
    with pytest.raises(VerificationError, match="not those to this question"):
        pack.kept(other, content)
    with pytest.raises(VerificationError, match="not as many"):
        pack.kept(plan, content[:-8])


CANARY = "zanzibar-9d41"


def test_no_edge_is_named_in_a_bundle_a_log_an_error_or_the_ledger(friends, ledger, caplog):
    """A node that is no node, a loop and an edge that is there twice are counted, and never named."""
    bad = pd.DataFrame([*EDGES, (CANARY, "ann"), ("hal", "hal"), ("bob", "ann")], columns=["one", "other"])
    with caplog.at_level(logging.DEBUG), pytest.raises(DataError) as caught:
        mg.release("graph.toml", bad, ledger=ledger, account="ann")
    error, told = caught.value, str(caught.value)
    assert error.__cause__ is None and error.__context__ is None
    for secret in (CANARY, "hal", "bob", "ann"):
        assert secret not in told and secret not in caplog.text
    with sqlite3.connect(friends / "ledger.db") as connection:
        dumped = "\n".join(connection.iterdump())
    assert CANARY not in dumped


def test_all_that_is_published_follows_from_the_noisy_numbers_and_the_public_degrees(friends, monkeypatch):
    """So no edge can be in a bundle: with these numbers fixed, other edges give the same files byte for byte."""
    drawn = mg.release("graph.toml", seed=1).measured
    fixed = replace(pipeline.MEASURES["graph"], measure=lambda *_: drawn)
    monkeypatch.setitem(pipeline.MEASURES, "graph", fixed)
    others = pd.DataFrame([("fay", "hal")], columns=["one", "other"])
    mg.release("graph.toml").save("one")
    mg.release("graph.toml", others).save("other")
    assert files(friends / "one") == files(friends / "other")
