"""Audits of graphs, local collections and joins: they accept what is right, reach its price, and see what is not."""

from dataclasses import replace
from fractions import Fraction
from math import inf, log

import numpy as np
import pytest

from margrave.errors import UsageError
from margrave.join import protocol
from margrave.noise import DiscreteLaplace, TruncatedLaplace
from margrave.planning.join.plan import make_join_plan
from margrave.planning.join.spec import JoinSpec
from margrave.planning.local.odds import Odds
from margrave.planning.ways.registry import planned
from margrave.study.audit.collections import audit_local, largest_ratio
from margrave.study.audit.findings import Effort
from margrave.study.audit.graphs import audit_graph
from margrave.study.audit.joins import audit_join, delta_of
from margrave.study.audit.registry import WAYS, audit
from tests.planning.join.example import changed, helped, spec

pytestmark = pytest.mark.slow

QUICK = Effort(samples=6000, releases=16)
VIEWS = ("to the public", "to the other owner")
GRAPH = """
[graph]
directed = {directed}
nodes = {{ red = ["ann", "bob", "cid"], blue = ["eve", "fay", "gus"] }}
{degrees}
[release]
edges = 0.5
[privacy]
epsilon = {epsilon}
"""
SURVEY = """
[attributes]
smoke = { values = ["no", "yes"] }
drink = { values = ["never", "sometimes", "often"] }
[release]
all = 2
[privacy]
epsilon = 1
[local]
expected_size = 20000
"""


def graph(degrees="", directed="false", epsilon=1):
    return planned(GRAPH.format(degrees=degrees, directed=directed, epsilon=epsilon))


@pytest.mark.parametrize(
    ("degrees", "directed", "reached"),
    [
        ("", "false", 1.0),
        ('degrees = ["ann", "eve"]', "false", 1.0),
        ('degrees = "all"', "false", 0.5),
        ("", "true", 1.0),
        ('out_degrees = "all"', "true", 0.9),
    ],
)
def test_no_move_of_a_graph_costs_more_than_is_stated(degrees, directed, reached):
    found = audit_graph(graph(degrees, directed), QUICK)
    price = found.findings[0]
    assert not found.violated and reached * 0.999 <= price.found <= 1.0 and price.samples > 10


def test_noise_that_is_lost_on_the_way_is_seen_in_whole_graphs(monkeypatch):
    plan = graph(epsilon=4)
    honest = DiscreteLaplace.sample
    monkeypatch.setattr(DiscreteLaplace, "sample", lambda self, size, generator: honest(self, size, generator) // 9)
    assert audit_graph(plan, replace(QUICK, releases=300)).findings[2].found > 1.5


def test_a_local_collection_is_audited_by_every_chance():
    found = audit_local(planned(SURVEY), QUICK)
    *exact, reports = found.findings
    assert not found.violated and all(one.complete and one.found == pytest.approx(1.0, abs=1e-6) for one in exact)
    assert 0.6 < reports.found <= 1.0


def test_coins_that_protect_less_are_seen():
    mechanism = planned(SURVEY).questions[0].mechanism
    ratio, looked, whole = largest_ratio(replace(mechanism, odds=Odds.of(Fraction(3, 2))))
    assert whole and looked > 10 and log(ratio) == pytest.approx(1.5, abs=1e-6)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_join_is_audited_by_exact_probabilities(neighbours):
    plan = make_join_plan(spec(("at_most = 3000", f'at_most = 3000\nneighbours = "{neighbours}"')))
    found = audit_join(plan, QUICK)
    assert not found.violated and len(found.findings) == 4
    assert not audit_join(make_join_plan(JoinSpec.load(helped())), QUICK).violated
    for one in found.findings:
        assert one.found > 0.3 * one.stated, "the audit must be able to see what is spent"


def test_a_reach_that_is_too_short_is_seen():
    z = np.arange(-400.0, 401.0)
    noise, short = TruncatedLaplace(Fraction(2), 40), TruncatedLaplace(Fraction(2), 10)
    sizes = TruncatedLaplace(Fraction(10), 200)
    assert delta_of(noise, sizes, 0.6, z) <= float(noise.delta + sizes.delta)
    assert delta_of(short, sizes, 0.6, z) > float(noise.delta + sizes.delta)
    assert delta_of(DiscreteLaplace(Fraction(2)), sizes, 0.6, z) < inf


def test_a_spec_is_audited_by_its_way(tmp_path):
    assert set(WAYS) == {"release", "graph", "local", "join", "question"}
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY)
    assert audit(str(path), QUICK).what == "a local collection"


def test_a_way_without_an_audit_is_refused(monkeypatch, tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY)
    monkeypatch.delitem(WAYS, "local")
    with pytest.raises(UsageError, match="no audit of a local"):
        audit(str(path), QUICK)


def cheap(*, neighbours="add-remove", helper=False):
    """A join whose sessions need few dummies."""
    changes = [("at_most = 3000", f'at_most = 3000\nneighbours = "{neighbours}"')]
    if helper:
        return make_join_plan(JoinSpec.load(changed(*changes, text=helped())))
    budget = "epsilon = 0.5\ndelta = 1e-9\nsizes = { epsilon = 0.1, delta = 1e-9 }"
    return make_join_plan(spec((budget, "epsilon = 1\ndelta = 0.01\nsizes = { epsilon = 1, delta = 0.01 }"), *changes))


def in_sessions(plan, sessions=300):
    found = audit_join(plan, replace(QUICK, releases=sessions))
    return {one.check: one for one in found.findings if one.way == "sampled"}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_sessions_of_a_join_show_a_part_of_what_is_stated_and_no_more(neighbours):
    found = in_sessions(cheap(neighbours=neighbours))
    assert set(found) == {f"{who}, {to}, in sessions" for who in ("hospital", "airline") for to in VIEWS}
    assert not any(one.violated for one in found.values())
    for who in ("hospital", "airline"):
        one = found[f"{who}, to the other owner, in sessions"]
        assert one.found > 0.1 * one.stated


def test_sessions_with_a_helper_are_sampled_too():
    found = in_sessions(cheap(helper=True), 800)
    assert len(found) == 2 and all(0.2 * one.stated < one.found <= one.stated for one in found.values())


def test_padding_that_hides_nothing_is_seen_in_sessions(monkeypatch):
    monkeypatch.setattr(protocol, "padding", lambda noise, categories, _: (noise.reach,) * categories)
    found = in_sessions(cheap())
    assert all(found[f"{who}, to the other owner, in sessions"].violated for who in ("hospital", "airline"))


def test_dummies_that_are_always_as_many_are_seen_in_sessions(monkeypatch):
    monkeypatch.setattr(TruncatedLaplace, "sample", lambda self, size, generator: np.zeros(size, dtype=np.int64))
    assert in_sessions(cheap())["airline, to the other owner, in sessions"].violated


def test_sessions_that_take_too_long_are_left_out_and_this_is_said():
    slow = make_join_plan(spec(("sizes = { epsilon = 0.1", "sizes = { epsilon = 0.002")))
    found = audit_join(slow, QUICK)
    assert not any(one.way == "sampled" for one in found.findings)
    assert any("No sessions were sampled" in remark for remark in found.remarks)
