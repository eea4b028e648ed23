"""Releases with public facts, end to end: exact where declared and nowhere else, priced, charged and verified."""

import json
from dataclasses import replace
from fractions import Fraction
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.budget.units import ZCDP, PureDP, amount
from margrave.cli.app import app
from margrave.errors import RefusedError
from margrave.ledger import Ledger
from margrave.ledger.statements.statement import statement
from margrave.planning.written import notion_of
from margrave.publish.report.public_facts import fact_values
from margrave.publish.verification.verify import verify
from margrave.spec.workload import PublicFact
from tests.facts.test_planning import with_facts
from tests.shapes import frame_of, spec_of

pytestmark = pytest.mark.slow

SPEC = with_facts(spec_of((2, 3, 2), ["abc"]), ["ab", "c"])
TABLE = np.random.default_rng(1).poisson(6, (2, 3, 2))
DATA = frame_of(SPEC.domain, TABLE)


def counted(frame, *names):
    return frame.groupby(list(names)).size()


def test_ten_attributes_with_two_overlapping_facts_in_seconds(tmp_path):
    sizes, names = (2, 2, 3, 2, 2, 2, 2, 2, 2, 2), "abcdefghij"
    tables = [names[i : i + 2] for i in range(9)] + ["adg", "bcf"]
    spec = with_facts(spec_of(sizes, tables), ["ab", "bc"])
    random = np.random.default_rng(7)
    truth = random.poisson(random.gamma(0.3, 10.0, sizes))
    frame = frame_of(spec.domain, truth)
    start = perf_counter()
    out = mg.release(spec, frame, seed=1)
    microdata = out.microdata()
    assert perf_counter() - start < 60
    for pair in ("ab", "bc"):
        wanted = counted(frame, *pair)
        assert counted(microdata, *pair).equals(wanted)
        table = out.table(*pair)
        assert table["count"].tolist() == wanted.tolist() and not table["std_error"].any()
    for table in tables:
        published = out.publication.margin(tuple(table)).ravel()
        assert counted(microdata, *table).sum() == published.sum() == truth.sum()


def test_a_bundle_carries_the_facts_and_a_verifier_prices_them(tmp_path):
    out = mg.release(SPEC, DATA, seed=1)
    found = verify(out.save(tmp_path / "out"))
    assert found.cost == out.plan.cost
    again = mg.Release.load(tmp_path / "out")
    assert again.plan.facts == out.plan.facts and again.plan.cost == out.plan.cost
    assert np.array_equal(again.published(("a", "b")), TABLE.sum(2))
    said = (tmp_path / "out" / "release.json").read_text(encoding="utf-8")
    assert '"disclosed"' in said and '"source": "data"' in said and "relative to public facts: {a, b}, {c}" in said
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "What is public already" in report and "What the public facts alone say about {a, b, c}" in report
    assert out.bounds.sharp and (out.bounds.low <= TABLE).all() and (out.bounds.high >= TABLE).all()


def test_only_the_declared_facts_leave_exactly():
    """Over many releases every other table moves, and its mean error is what the noise forecasts."""
    exact = {("a", "b"): TABLE.sum(2), ("c",): TABLE.sum((0, 1)), ("a",): TABLE.sum((1, 2))}
    others = {("a", "c"): TABLE.sum(1), ("b", "c"): TABLE.sum(0), ("a", "b", "c"): TABLE}
    plan = mg.plan(replace(SPEC, nonnegative="none"))
    moved = dict.fromkeys(others, 0)
    for seed in range(12):
        out = mg.release(plan, DATA, seed=seed)
        for margin, counts in exact.items():
            assert np.abs(out.unbiased(margin) - counts).max() < 1e-9
        for margin, counts in others.items():
            moved[margin] += bool((np.abs(out.unbiased(margin) - counts) > 1e-6).any())
        assert set(out.measured.exact) == {("a", "b"), ("c",)} and not out.measured.cells
    assert min(moved.values()) >= 11


def test_given_values_are_published_whatever_the_data_says():
    """No output and no refusal depends on whether the data agrees with what is given."""
    given = tuple(int(n) + 5 for n in TABLE.sum((0, 1)))
    spec = replace(SPEC, public=(PublicFact(("c",), None, given),))
    out = mg.release(spec, DATA, seed=1)
    assert out.publication.margin(("c",)).tolist() == list(given)
    assert len(out.microdata()) == sum(given)
    assert mg.plan(spec).cost == mg.plan(replace(SPEC, public=(PublicFact(("c",)),))).cost
    assert [one.given for one in out.plan.disclosures] == [True]


def test_what_given_facts_reveal_is_in_the_plan():
    public = (PublicFact(("a",), None, (10, 0)), PublicFact(("b",), None, (7, 2, 1)))
    warnings = " ".join(mg.plan(replace(SPEC, public=public)).warnings)
    assert "the public table {a} has a cell of 0" in warnings and "{b} has 2 cells of 1 or 2" in warnings
    assert "the public facts alone give away 6 of 6 cells of {a, b}" in warnings


@pytest.fixture
def ledger(tmp_path):
    found = Ledger.create(str(tmp_path / "ledger.db"))
    found.register("survey@1", notion_of(SPEC), PureDP(Fraction(10)))
    found.add_account("ann")
    found.grant("ann", "survey@1", PureDP(Fraction(5)))
    return found


def spent(ledger):
    return statement(ledger, "survey").to_json()["spent"]


def test_a_ledger_charges_the_induced_price_and_lists_what_is_disclosed(ledger):
    out = mg.release(SPEC, DATA, ledger=ledger, account="ann")
    said = statement(ledger, "survey")
    assert said.to_json()["spent"] == out.plan.cost.as_dict()
    assert len(said.to_json()["facts_held_exact"]) == 2
    text = "\n".join(said.lines())
    assert "- a, b: disclosed exactly, as counted in the data; not protected" in text
    assert "neighbours are induced, worst-case" in text
    again = mg.release(SPEC, DATA, ledger=ledger, account="ann")
    assert np.array_equal(again.published(("a", "c")), out.published(("a", "c")))
    assert said.to_json()["spent"] == spent(ledger)


def test_other_facts_than_the_registered_ones_are_refused_and_nothing_is_spent(ledger):
    for public in ((PublicFact(("a",)),), (*SPEC.public, PublicFact(("a", "c"))), ()):
        spec = replace(SPEC, public=public, induced="worst-case" if public else None)
        with pytest.raises(RefusedError, match="registered with another notion"):
            mg.release(spec, DATA, ledger=ledger, account="ann")
    with pytest.raises(RefusedError, match="registered with another notion"):
        mg.release(replace(SPEC, induced="markov"), DATA, ledger=ledger, account="ann")
    assert spent(ledger) is None


def test_a_total_that_single_cells_make_public_is_named_wherever_facts_are(tmp_path):
    spec = with_facts(spec_of((2, 3, 2), ["abc"], neighbours="replace"), [], [{"a": "0"}])
    ledger = Ledger.create(str(tmp_path / "ledger.db"))
    ledger.register("survey@1", notion_of(spec), PureDP(Fraction(10)))
    ledger.add_account("ann")
    ledger.grant("ann", "survey@1", PureDP(Fraction(5)))
    out = mg.release(spec, DATA, ledger=ledger, account="ann")
    assert out.measured.exact[()] == TABLE.sum() and fact_values(out)[()] == TABLE.sum()
    assert "- the total: disclosed exactly, as counted in the data" in "\n".join(statement(ledger, "survey").lines())
    verify(out.save(tmp_path / "out"))
    found = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    assert [one["margin"] for one in found["disclosed"]] == [[], ["a"]]
    assert "the total, {a=0}" in found["guarantee"]["words"][1]


def test_facts_without_a_known_price_spend_nothing(tmp_path):
    spec = with_facts(spec_of((9, 9, 9), ["abc"]), ["ab", "bc", "ac"])
    ledger = Ledger.create(str(tmp_path / "ledger.db"))
    ledger.register("survey@1", notion_of(spec), PureDP(Fraction(10)))
    ledger.add_account("ann")
    ledger.grant("ann", "survey@1", PureDP(Fraction(5)))
    with pytest.raises(RefusedError, match="no sound sensitivity"):
        mg.release(spec, tmp_path / "never-opened.csv", ledger=ledger, account="ann")
    assert spent(ledger) is None


def test_facts_attributes_that_no_table_wants_are_in_the_microdata():
    spec = with_facts(spec_of((2, 3, 2), ["ab"]), ["bc"])
    out = mg.release(spec, DATA, seed=1)
    assert list(out.microdata().columns) == ["a", "b", "c"]
    assert counted(out.microdata(), "b", "c").equals(counted(pd.DataFrame(DATA), "b", "c"))


def test_the_guarantee_may_be_in_rho():
    plan = mg.plan(replace(SPEC, budget=ZCDP(Fraction(1, 4))))
    assert Fraction(1, 4) * (1 - Fraction(1, 10**6)) <= amount(plan.cost) <= Fraction(1, 4)
    assert isinstance(mg.plan(SPEC).cost, PureDP)


def test_the_command_line_plans_releases_and_refuses(tmp_path):
    text = SPEC.to_toml()
    (tmp_path / "spec.toml").write_text(text, encoding="utf-8")
    DATA.to_csv(tmp_path / "data.csv", index=False)
    runner = CliRunner()
    planned = runner.invoke(app, ["plan", str(tmp_path / "spec.toml")])
    assert planned.exit_code == 0 and "if nothing were public" in planned.output
    found = json.loads(runner.invoke(app, ["plan", str(tmp_path / "spec.toml"), "--json"]).stdout)
    assert found["disclosed"][0] == {"margin": ["a", "b"], "exact": True, "protected": False, "source": "data"}
    assert found["price_factor"] == 4 and found["rmse_without_facts"] < found["rmse"]
    out = tmp_path / "out"
    command = ["release", str(tmp_path / "spec.toml"), "--data", str(tmp_path / "data.csv"), "--out", str(out)]
    assert runner.invoke(app, command).exit_code == 0
    assert runner.invoke(app, ["verify", str(out)]).exit_code == 0
    hard = with_facts(spec_of((9, 9, 9), ["abc"]), ["ab", "bc", "ac"]).to_toml()
    (tmp_path / "hard.toml").write_text(hard, encoding="utf-8")
    refused = runner.invoke(app, ["plan", str(tmp_path / "hard.toml")])
    assert refused.exit_code == 3 or refused.exception.exit_code == 3
