"""How tables will be published is decided once, in the plan: what it says is what happens."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.errors import RefusedError
from margrave.messages.catalogue import messages_of, speaking
from margrave.planning.describe import round_words
from margrave.planning.limits import FITTED_CELLS, FULL_CELLS
from margrave.planning.publication.publishing import unkept, used_domain
from margrave.planning.ways.release import remarks
from margrave.reconstruct.published import publish
from tests.shapes import domain_of, frame_of, spec_of

MANY = [f"a{at}" for at in range(26)]


def many(**release):
    """A spec of 26 binary attributes, whose full table nobody holds."""
    return mg.Spec.from_dict(
        {
            "attributes": {name: {"values": ["x", "y"]} for name in MANY},
            "release": {"all": 2, **release},
            "privacy": {"rho": "0.1"},
        }
    )


def records(names, count=200):
    random = np.random.default_rng(0)
    return pd.DataFrame({name: np.where(random.random(count) < 0.3, "x", "y") for name in names})


def test_a_public_fact_beside_many_attributes_promises_no_records_that_are_not_fitted():
    plan = mg.plan(many(public=[["a0"]]))
    assert not plan.publishing.records and "keep no exact counts" in plan.publishing.why_not
    said = remarks(plan)
    assert not any("Fitting records" in text for text in said.words)
    assert any("will be published unbiased" in text and "negative counts" in text for text in said.words)
    assert plan.publishing.words() in repr(plan) and plan.publishing.words() in plan._repr_html_()
    assert said.json["publishing"]["why_not"] == plan.publishing.why_not
    assert plan.memory < mg.plan(many()).memory
    out = mg.release(plan, records(MANY), seed=1)
    assert out.publication is None
    assert out.published(("a1", "a2")).dtype == np.float64


def test_many_attributes_are_promised_as_records():
    for strategy, method in {"auto": "graphical", "search": "records"}.items():
        plan = mg.plan(many(strategy=strategy))
        assert plan.publishing.method == method and plan.publishing.why_not is None
        assert any("Fitting records" in text for text in remarks(plan).words)
        assert "fitted records" in plan.publishing.words()


def medium(budget=None, **release):
    """A spec of 6⁷ cells: a full table that can be held, and is not worth it."""
    return mg.Spec.from_dict(
        {
            "attributes": {name: {"range": [0, 5]} for name in "abcdefg"},
            "release": {"all": 2, **release},
            "privacy": budget or {"rho": "0.1"},
        }
    )


def test_a_full_table_that_could_be_held_is_fitted_by_records_as_well():
    assert FITTED_CELLS < medium().domain.cells() < FULL_CELLS
    for strategy, method in {"auto": "graphical", "residual": "records"}.items():
        plan = mg.plan(medium(strategy=strategy))
        assert plan.publishing.method == method and plan.publishing.cells == 0
        assert any("Fitting records" in text for text in remarks(plan).words)


@pytest.mark.parametrize(
    ("release", "method"),
    [
        ({"nonnegative": "least-squares"}, "least-squares"),
        ({"rounding": "none"}, "entropy"),
        ({"rounding": "nearest"}, "entropy"),
        ({"public": [["a"]]}, "least-squares"),
        ({"all": 7}, "sparse"),
        ({"all": 1, "tables": [[*"abcdefg"]]}, "sparse"),
        ({"strategy": "base"}, "sparse"),
    ],
    ids=["least squares", "fractions", "nearest", "a fact", "all of it", "among others", "measured"],
)
def test_it_is_held_where_that_is_asked_for_or_all_of_it_is_wanted_or_measured_or_records_cannot_be(release, method):
    how = mg.plan(medium(**release)).publishing
    assert how.method == method and how.cells == 6**7 and how.why_not is None


def test_what_is_fitted_by_records_is_published_whole_and_consistent_with_intervals():
    random = np.random.default_rng(3)
    kind = random.integers(0, 6, 2000)
    data = pd.DataFrame({name: (kind + random.integers(0, 3, 2000)) % 6 for name in "abcdefg"})
    out = mg.release(mg.plan(medium({"epsilon": 2})), data, seed=1)
    assert not out.plan.looks and out.publication.method == "records"
    pairs = [out.published(("a", name)) for name in "bcdefg"]
    assert all((pair == np.rint(pair)).all() and (pair >= 0).all() for pair in pairs)
    assert all((pair.sum(axis=1) == pairs[0].sum(axis=1)).all() for pair in pairs)
    shown = out.table("a", "b")
    truth = np.bincount(data["a"] * 6 + data["b"], minlength=36)
    assert ((shown["low"] <= truth) & (truth <= shown["high"])).mean() > 0.8


def test_a_method_that_is_not_possible_is_named_with_its_reason_and_refused():
    plan = replace(mg.plan(many()), spec=many(nonnegative="least-squares"))
    assert plan.publishing.method == "none"
    with pytest.raises(RefusedError, match=f"not possible: the full table has more than {FULL_CELLS}"):
        plan.publishing.check()
    asked = mg.plan(many(nonnegative="none")).publishing
    asked.check()
    assert asked.method == asked.rounding == "none" and "the spec asks" in asked.words()


def test_attributes_of_public_facts_are_held_and_counted_as_such():
    """A fact about an attribute that no wanted table uses makes the full table larger."""
    plan = mg.plan(spec_of((2, 3, 5), ["ab"]))
    told = mg.plan(
        mg.Spec.from_dict(
            {
                "attributes": {
                    name: {"values": [*"01234"[:size]]} for name, size in zip("abc", (2, 3, 5), strict=True)
                },
                "release": {"tables": [["a", "b"]], "public": [["c"]]},
                "privacy": {"epsilon": 1},
            }
        )
    )
    assert (plan.publishing.cells, told.publishing.cells) == (6, 30)
    assert used_domain(told).names == ("a", "b", "c")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["auto", "fourier", "base"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"neighbours": "replace"}, {"sensitive": ("a",), "neighbours": "replace"}, {"rounding": "none"}],
    ids=["plain", "replace", "sensitive", "fractions"],
)
@pytest.mark.parametrize("method", ["auto", "least-squares", "linear-program", "simple", "none", "records"])
def test_what_the_plan_says_is_what_happens(strategy, settings, method):
    spec = spec_of((2, 3, 2), ["ab", "bc"], strategy=strategy, nonnegative=method, **settings)
    try:
        plan = mg.plan(spec)
    except RefusedError:
        return
    how = plan.publishing
    table = np.arange(12).reshape(2, 3, 2)
    out = mg.release(plan, frame_of(spec.domain, table), seed=3)
    found = publish(out.plan, out.fit)
    if how.why_not is not None:
        assert found is None
        return
    assert found.method in (how.method, *how.choice.rivals)
    assert found.rounding == how.rounding
    assert found.domain.cells() == how.cells or how.records


def test_the_decision_needs_no_numbers_and_is_taken_once(monkeypatch):
    plan = mg.plan(spec_of((2, 3), ["ab"]))
    out = mg.release(plan, frame_of(plan.spec.domain, np.arange(6).reshape(2, 3)), seed=1)
    before = out.plan.publishing

    def again(plan):
        raise AssertionError("decided again")

    monkeypatch.setattr("margrave.planning.plan.decide", again)
    assert out.plan.publishing is before
    assert publish(out.plan, out.fit).method in (before.method, *before.choice.rivals)


def test_exact_counts_that_no_rounding_keeps_are_found_before():
    domain = domain_of(*[9] * 5)
    assert unkept(domain, (("a", "b"),), ()) is None
    assert "59049 cells" in unkept(domain, (("a", "b"), ("b", "c"), ("d", "e")), ())
    assert "59049 cells" in unkept(domain, (("a", "b"),), (("c", "d", "e"),))


def test_a_table_of_a_million_cells_is_promised_what_it_takes():
    """Its time follows from its cells, however few attributes it has."""
    seconds = {}
    for size, uneven in product((64, 1024), (False, True)):
        tables = [["a", "b"], ["a"]] if uneven else [["a", "b"]]
        attributes = {name: {"range": [0, size - 1]} for name in "ab"}
        release = {"tables": tables, "strategy": "residual"}
        spec = mg.Spec.from_dict({"attributes": attributes, "release": release, "privacy": {"rho": "0.1"}})
        how = mg.plan(spec).publishing
        assert how.method == "sparse"
        assert ("least-squares" in how.choice.rivals) == (size == 64 or not uneven)
        seconds[size, uneven] = how.seconds
    assert 5 < seconds[1024, False] < seconds[1024, True] < 60
    assert seconds[64, True] < 1


def test_every_way_to_say_it_agrees():
    how = mg.plan(spec_of((2, 3), ["ab"])).publishing
    assert how.as_dict() == {
        "method": how.method,
        "rivals": list(how.choice.rivals),
        "rounding": "controlled",
        "why_not": None,
    }
    assert how.method in how.words() and "rounded (controlled)" in how.words()


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ({"all": 2, "strategy": "adaptive"}, ("graphisches Modell", "Runden die Daten an", "ist eine Schranke")),
        ({"all": 2}, ("nicht negativ nach sparse (oder", "dann gerundet (controlled)")),
        ({"all": 2, "rounding": "none"}, ("sprechen) veröffentlicht.",)),
        ({"all": 2, "nonnegative": "none"}, ("unverzerrt veröffentlicht",)),
        ({"all": 2, "nonnegative": "simple-margins", "strategy": "fourier"}, ("mit Brüchen. Die Summe wächst:",)),
    ],
)
def test_how_tables_will_be_published_is_said_in_the_language_that_is_spoken(release, said):
    plan = mg.plan(
        mg.Spec.from_dict(
            {
                "attributes": {name: {"values": ["x", "y"]} for name in MANY[:4]},
                "release": release,
                "privacy": {"epsilon": 1},
            }
        )
    )
    with speaking(messages_of("de")):
        text = " ".join([*round_words(plan), plan.publishing.words()])
    assert all(part in text for part in said), text
    assert " the " not in text.partition(": the ")[0]
