"""Releases that look where to measure, from the data to a bundle that verifies."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave import pipeline
from margrave.errors import RefusedError, VerificationError
from margrave.files.content import size_of
from margrave.ledger import Ledger
from margrave.noise import Generator
from margrave.planning.checks import check_plan
from margrave.publish.bundle.parts.drawn import drawn_bytes, pack, unpack
from margrave.publish.verification.verify import verify
from margrave.reconstruct.records.spread import checked

SIZES = {"a": 3, "b": 4, "c": 3, "d": 2}
NAMES = {name: [f"{name}{value}" for value in range(size)] for name, size in SIZES.items()}


def spec_with(privacy=(("rho", "0.05"),), **release):
    return mg.Spec.from_dict(
        {
            "title": "Chains",
            "attributes": NAMES,
            "release": {"all": 2, "strategy": "adaptive", **release},
            "privacy": dict(privacy),
        }
    )


def people(count=4000, seed=0):
    """A chain a - b - c, and d by itself."""
    random = np.random.default_rng(seed)
    a = random.choice(3, count, p=[0.6, 0.3, 0.1])
    b = np.where(random.random(count) < 0.85, a, random.choice(4, count))
    c = np.where(random.random(count) < 0.85, b % 3, random.choice(3, count))
    codes = {"a": a, "b": b, "c": c, "d": random.choice(2, count)}
    return pd.DataFrame({name: np.array(NAMES[name])[codes[name]] for name in NAMES})


@pytest.fixture(scope="module")
def out():
    return mg.release(spec_with(), people(), seed=1)


def test_it_finds_what_depends_on_what(out):
    assert {("a", "b"), ("b", "c")} <= set(out.plan.selected)
    assert len(out.plan.selected) == len(mg.plan(spec_with()).rounds) == 4


def test_a_table_that_the_model_has_taken_in_is_selected_again_only_where_no_rest_is_left_for_it(out):
    found = out.plan.selected
    assert [found.count(margin) for margin in (("a", "b"), ("b", "c"))] == [1, 1]
    pure = mg.release(spec_with((("epsilon", 2),)), people(), seed=1).plan.selected
    assert max(map(pure.count, pure)) > 1


def test_the_plan_of_a_release_costs_what_was_planned(out):
    assert out.plan.cost == mg.plan(spec_with()).cost
    assert not out.plan.rounds and not out.plan.rest
    assert sum(one.parts for one in out.plan.measurements) == mg.plan(spec_with()).rest.parts


def test_tables_are_whole_agree_and_are_those_of_the_microdata(out):
    records = out.microdata()
    for margin in out.plan.spec.margins:
        table = out.published(margin)
        assert table.dtype == np.int64 and (table >= 0).all() and table.sum() == len(records)
    counted = records.groupby(["a", "c"], observed=False).size().to_numpy()
    np.testing.assert_array_equal(out.published(("a", "c")).ravel(), counted)


def test_an_interval_holds_all_that_the_unbiased_one_holds_and_the_published_count(out):
    """So it holds the truth whenever that one does, however far the model is from it."""
    for margin in out.plan.spec.margins:
        table, noisy = out.table(*margin), out.noisy(*margin)
        assert (table["low"] <= noisy["low"].clip(lower=0) + 1e-6).all()
        assert (table["high"] >= noisy["high"] - 1e-6).all()
        assert table["count"].between(table["low"], table["high"]).all()


def of_many_values(count=20_000, size=12, seed=3):
    """A chain of attributes of twelve values: enough cells to tell how far off published counts are."""
    random = np.random.default_rng(seed)
    columns = [random.choice(size, count, p=random.dirichlet(np.full(size, 0.6)))]
    for _ in range(4):
        drawn = random.dirichlet(np.full(size, 0.4), size)
        columns.append(
            (random.random(count)[:, None] > drawn[columns[-1]].cumsum(axis=1)).sum(axis=1).clip(0, size - 1)
        )
    return pd.DataFrame(dict(zip("abcde", columns, strict=True)))


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say_and_are_narrower_than_unbiased_ones(tmp_path):
    data = of_many_values()
    spec = mg.Spec.from_dict(
        {
            "attributes": {name: {"range": [0, 11]} for name in data},
            "release": {"all": 2, "strategy": "adaptive"},
            "privacy": {"rho": "0.01"},
        }
    )
    exact, held, wide = mg.count(spec, data).counts, [], []
    for seed in range(4):
        out = mg.release(spec, data, seed=seed)
        for margin in (one for one in out.plan.spec.margins if len(one) == 2):
            table, truth = out.table(*margin), exact[margin].ravel()
            away = truth >= out.plan.forecast_of(margin, 0.95).half_width
            held.append((table["low"].le(truth) & table["high"].ge(truth))[away])
            wide.append((table["high"] - table["count"])[away] / out.plan.forecast_of(margin, 0.95).half_width)
    assert 0.91 < np.mean(np.concatenate(held)) < 0.99
    assert np.mean(np.concatenate(wide)) < 0.95
    out.save(tmp_path / "out")
    verify(tmp_path / "out", bars=True)
    again = mg.Release.load(tmp_path / "out")
    assert again.publication.spreads == out.publication.spreads != ()
    for margin in {*out.plan.selected}:  # These follow the answers, and are as far off.
        np.testing.assert_allclose(again.table(*margin)["std_error"], out.noisy(*margin)["std_error"], rtol=1e-3)
    pd.testing.assert_frame_equal(again.table("a", "b"), out.table("a", "b"))


def test_the_published_tables_are_nearer_to_the_truth_than_the_unbiased_ones():
    spec, exact = spec_with((("rho", "0.002"),)), mg.count(spec_with(), people())
    published = unbiased = 0.0
    for seed in range(5):
        out = mg.release(spec, people(), seed=seed)
        for margin in (margin for margin in out.plan.spec.margins if len(margin) == 2):
            published += np.abs(out.published(margin) - exact.counts[margin]).sum()
            unbiased += np.abs(out.unbiased(margin) - exact.counts[margin]).sum()
    assert published < 0.9 * unbiased


@pytest.mark.slow
@pytest.mark.parametrize(
    "privacy",
    [
        (("rho", "0.05"),),
        (("epsilon", 1), ("delta", "1e-6")),
        (("epsilon", 1),),
        (("rho", "0.05"), ("neighbours", "replace")),
    ],
)
def test_a_bundle_verifies_bars_and_all_and_comes_back(privacy, tmp_path):
    made = mg.release(spec_with(privacy), people(), seed=2)
    made.save(tmp_path / "out")
    assert verify(tmp_path / "out", bars=True).tables == 10
    again = mg.Release.load(tmp_path / "out")
    assert again.plan.selected == made.plan.selected
    assert again.plan.cost == made.plan.cost
    pd.testing.assert_frame_equal(again.table("a", "b"), made.table("a", "b"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda selected: selected.update(rate="1/1000000"),
        lambda selected: selected.update(weight=3),
        lambda selected: selected.update(rule="by hand"),
        lambda selected: selected.clear(),
        lambda selected: selected.update(rate="1e400"),
        lambda selected: selected.update(weight=10**400),
    ],
)
def test_a_changed_selection_is_found(out, tmp_path, change, reseal_bundle):
    out.save(tmp_path / "out")

    def changed(manifest):
        change(next(one for one in manifest["events"] if "selected" in one)["selected"])

    reseal_bundle(tmp_path / "out", changed)
    with pytest.raises(VerificationError):
        verify(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        {"spreads": [{"from": 0.0, "part": 10**400}]},
        {"spreads": {"others": []}},
        *({"temperature": one} for one in (10**400, float("nan"), -1.0, 0.0, 1e308)),
        *({"misfits": [{"table": ["a", "b"], "misfit": one}]} for one in (10**400, float("nan"))),
    ],
)
def test_what_cannot_be_said_of_fitted_records_is_refused(out, tmp_path, said, reseal_bundle):
    out.save(tmp_path / "out")
    reseal_bundle(tmp_path / "out", lambda manifest: manifest["published"].update(said))
    with pytest.raises(VerificationError):
        verify(tmp_path / "out")


@pytest.fixture
def reseal_bundle():
    from margrave.publish.bundle.account import sealed

    def reseal(folder, change):
        path = folder / "release.json"
        manifest = json.loads(path.read_text(encoding="utf-8"))
        manifest.pop("digest")
        change(manifest)
        path.write_bytes(sealed(manifest))

    return reseal


def test_what_a_ledger_keeps_comes_back_and_its_length_tells_nothing():
    plan, question = mg.plan(spec_with()), "1" * 64
    sizes = set()
    for count, seed in ((3, 0), (4000, 1), (400, 2)):
        drawn = pipeline.run.measure(plan, people(count, seed), Generator.system(), None)
        content = pack(plan, question, drawn)
        sizes.add(size_of(content))
        again = unpack(plan, question, content)
        for one, other in zip(drawn.answers, again.answers, strict=True):
            assert one.measurement == other.measurement
            np.testing.assert_array_equal(one.outputs, other.outputs)
    assert len(sizes) == 1
    assert 0 < sizes.pop() - drawn_bytes(plan) < 200


def test_a_table_that_is_not_offered_is_refused():
    plan, question = mg.plan(spec_with()), "1" * 64
    content = bytearray(pack(plan, question, pipeline.run.measure(plan, people(50), Generator.system(), None)))
    largest = max(map(plan.domain.cells, plan.candidates.margins))
    ended = sum(1 + query.outputs(plan.domain) for query in plan.dividing)
    at = len(content) - 8 * (1 + largest + ended)
    content[at : at + 8] = (99).to_bytes(8, "little")
    with pytest.raises(VerificationError, match="does not offer"):
        unpack(plan, question, bytes(content))


@pytest.mark.parametrize(("parts", "match"), [(-1, "more of the budget"), (1 << 30, "more of"), (0, "less of")])
def test_other_parts_than_there_are_are_refused(parts, match):
    plan, question = mg.plan(spec_with()), "1" * 64
    content = bytearray(pack(plan, question, pipeline.run.measure(plan, people(50), Generator.system(), None)))
    at = len(content) - 8 * sum(1 + query.outputs(plan.domain) for query in plan.dividing)
    content[at : at + 8] = parts.to_bytes(8, "little", signed=True)
    with pytest.raises(VerificationError, match=match):
        unpack(plan, question, bytes(content))


@pytest.mark.slow
def test_a_charged_release_is_charged_once_and_comes_back(tmp_path):
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        ledger.register("chains@1", mg.plan(spec_with()).notion, mg.plan(spec_with()).spec.budget)
        ledger.add_account("ann")
        ledger.grant("ann", "chains@1", mg.plan(spec_with()).spec.budget)
        first = mg.release(spec_with(), people(), ledger=ledger, account="ann")
        second = mg.release(spec_with(), people(seed=5), ledger=ledger, account="ann")
        assert second.plan.selected == first.plan.selected
        pd.testing.assert_frame_equal(first.table("a", "b"), second.table("a", "b"))


@pytest.mark.parametrize("change", ["parts", "both", "one", "rate"])
def test_a_plan_that_seems_cheaper_than_it_was_is_refused(change):
    """Selections or parts that are left out of a plan, or rates that are lowered, would lower its price."""
    plan = mg.release(spec_with((("rho", "0.05"), ("neighbours", "replace"))), people(), seed=2).plan
    check_plan(plan)
    made = list(plan.measurements)
    if change in ("parts", "both"):
        made = [replace(one, parts=0) for one in made]
    if change == "both":
        made = [replace(one, selection=None) for one in made]
    chosen = next(at for at, one in enumerate(made) if one.selection is not None) if change in ("one", "rate") else 0
    if change == "one":
        made[chosen] = replace(made[chosen], selection=None)
    if change == "rate":
        lower = replace(made[chosen].selection, rate=made[chosen].selection.rate / 2)
        made[chosen] = replace(made[chosen], selection=lower)
    cheaper = replace(plan, measurements=tuple(made))
    assert cheaper.cost.amount < plan.cost.amount
    with pytest.raises(RefusedError, match="plan again"):
        check_plan(cheaper)


@pytest.mark.parametrize(
    "spreads",
    [
        ((0.0, 0.001),),
        ((-1e9, 0.5),),
        ((0.0, -5.0),),
        ((0.0, 0.9), (8.0, 0.3)),
        ((0.0, float("inf")),),
        ((0.0, float("nan")),),
        ((3.0, 0.5),),
        ((2.0, 0.5), (0.0, 0.5)),
    ],
)
def test_error_bars_that_cannot_have_come_out_are_refused(spreads):
    with pytest.raises(ValueError):
        checked(spreads)
    assert checked(((0.0, 0.5), (8.0, 0.9))) and checked(()) == ()


@pytest.mark.parametrize("rho", ["3000", "5000", "7000", "15000", "1e7"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_next_to_no_noise_is_no_trouble(rho, neighbours):
    spec = mg.Spec.from_dict(
        {
            "attributes": {"a": ["x", "y"], "b": ["u", "v"]},
            "release": {"all": 2, "strategy": "adaptive"},
            "privacy": {"rho": rho, "neighbours": neighbours},
        }
    )
    data = pd.DataFrame({"a": ["x", "y", "y"], "b": ["u", "u", "v"]})
    for seed in range(3):
        assert mg.release(spec, data, seed=seed).published(("a", "b")).tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_few_records_are_no_trouble(count):
    made = mg.release(spec_with((("epsilon", "0.01"),)), people(count), seed=3)
    assert made.published(("a", "b")).min() >= 0


@pytest.mark.parametrize("release", [{"strategy": "adaptive"}, {"nonnegative": "records"}])
def test_attributes_of_one_value_are_no_trouble(release):
    names = {**NAMES, "e": ["only"]}
    spec = mg.Spec.from_dict(
        {
            "attributes": names,
            "release": {"all": 2, **release},
            "privacy": {"rho": "0.05"},
        }
    )
    made = mg.release(spec, people().assign(e="only"), seed=4)
    assert made.published(("a", "e")).shape == (3, 1)


@pytest.mark.parametrize("method", ["none", "least-squares"])
def test_other_ways_of_publishing_take_what_was_selected(method):
    made = mg.release(spec_with(nonnegative=method), people(), seed=5)
    exact = mg.count(spec_with(), people())
    assert np.abs(made.published(("a", "b")) - exact.counts["a", "b"]).sum() < 1500


def test_the_answers_name_how_they_were_selected(out):
    events = [event for event in out.plan.events if "selected" in event]
    assert len(events) == 4
    assert {event["selected"]["rule"] for event in events} == {"exponential"}
