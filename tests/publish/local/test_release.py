"""A local collection as a bundle: written, read, verified, shown; and no change goes unnoticed."""

import json
from dataclasses import replace
from math import exp

import numpy as np
import pytest

from margrave import pipeline
from margrave.errors import BundleError, UsageError, VerificationError
from margrave.ledger.ledger import Ledger
from margrave.local.kept import kept_bytes
from margrave.local.simulate import simulate, simulate_lines
from margrave.noise import Generator
from margrave.planning.local.plan import make_local_plan
from margrave.publish.local.release import LocalRelease
from margrave.publish.verification.verify import verify
from margrave.publish.ways.registry import load
from margrave.study.audit.findings import Effort
from margrave.study.audit.registry import audit
from tests.planning.local.shapes import local_spec


def collected(plan, count=4000, seed=0):
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.integers(0, size, count) ** 2 % size for size in plan.spec.domain.shape()], axis=1)
    return codes, simulate(plan, codes, Generator.seeded(seed))


@pytest.fixture(scope="module")
def plan():
    return make_local_plan(local_spec(2, 3, 1, size=4000))


@pytest.fixture(scope="module")
def out(plan):
    return LocalRelease.of(plan, collected(plan)[1])


@pytest.fixture(scope="module")
def bundle(out, tmp_path_factory):
    return out.save(tmp_path_factory.mktemp("local") / "out")


def test_a_bundle_is_read_as_it_was_written(out, bundle):
    again = load(bundle)
    assert isinstance(again, LocalRelease)
    assert again.plan == out.plan
    assert again.collected.counts == list(out.collected.counts)
    for margin in out.plan.spec.margins:
        one, other = out.numbers(margin), again.numbers(margin)
        for name in one:
            np.testing.assert_allclose(one[name], other[name], atol=1e-6)
    assert again.microdata().equals(out.microdata())


def test_a_bundle_is_verified(bundle):
    found = verify(bundle)
    assert found.private
    assert found.cost.as_dict() == {"epsilon": "1.0986122886681098"}
    assert any("sums of 4,000 reports" in word for word in found.words)


def test_simulated_error_bars_are_simulated_again_only_if_asked_for(bundle):
    left = verify(bundle).not_checked
    assert [one.part for one in left] == ["bars"]
    assert "add --bars" in left[0].reason
    again = verify(bundle, bars=True)
    assert (again.not_checked, again.parts) == ((), ("words", "report", "bars"))


@pytest.mark.parametrize(
    ("factor", "bars", "said"), [(1.5, True, "simulated again"), (1e-4, False, "smaller than any")]
)
def test_other_error_bars_are_noticed(out, tmp_path, factor, bars, said):
    stated = {margin: tuple(factor * one for one in out.error_bars(margin)) for margin in out.plan.spec.margins}
    folder = replace(out, bars=stated).save(tmp_path / "out")
    with pytest.raises(VerificationError, match=said):
        verify(folder, bars=bars)


def test_error_bars_that_are_not_simulated_are_always_compared(plan, tmp_path, monkeypatch):
    monkeypatch.setattr("margrave.reconstruct.bars.simulations", lambda cells, method: 0)
    release = LocalRelease.of(plan, collected(plan)[1])
    verified = verify(release.save(tmp_path / "out"))
    assert verified.not_checked == ()
    stated = {margin: tuple(2 * one for one in release.error_bars(margin)) for margin in plan.spec.margins}
    with pytest.raises(VerificationError, match="std_error"):
        verify(replace(release, bars=stated).save(tmp_path / "other"))


def test_a_collection_is_charged_to_no_ledger(plan, tmp_path):
    (tmp_path / "kept.json").write_bytes(kept_bytes(plan, collected(plan, 800)[1]))
    with Ledger.create(tmp_path / "ledger.db") as ledger, pytest.raises(UsageError, match="charged to no ledger"):
        pipeline.release(plan, tmp_path / "kept.json", ledger=ledger, account="ann")


def test_what_is_said_of_other_collections_is_true_without_a_curator(bundle):
    said = json.loads((bundle / "release.json").read_text(encoding="utf-8"))
    assert "no budget of a data set was spent" in said["composition"]
    assert "ledger" not in said


def test_the_report_says_what_an_attacker_who_reads_reports_can_reach(bundle):
    text = (bundle / "report.html").read_text(encoding="utf-8")
    found = text[text.index('id="risk"') :]
    assert "What an attacker can reach at most" in found
    assert "75 %" in found  # three times as likely: a suspicion of one half becomes three quarters


def test_a_bundle_is_audited_by_every_chance_of_its_plan(bundle):
    found = audit(str(bundle), Effort(2000, 20))
    assert not found.violated
    assert {round(exp(one.found), 6) for one in found.findings if one.way == "exact"} == {3.0}
    assert found.what == "a bundle"


def test_tables_are_whole_agree_and_have_intervals(out):
    frame = out.table("a", "b")
    assert frame["count"].sum() == out.reports == len(out.microdata())
    assert (frame["low"] <= frame["count"]).all()
    assert (frame["count"] <= frame["high"]).all()
    assert frame["share"].sum() == pytest.approx(1, abs=1e-5)
    assert out.noisy("a", "b")["count"].sum() == pytest.approx(out.reports)
    assert out.table("c")["std_error"].tolist() == [0]  # one value: everybody has it
    with pytest.raises(UsageError, match="unknown attribute"):
        out.table("nothing")


def test_what_a_collection_does_not_tell_about_is_not_made_up(plan):
    less = make_local_plan(local_spec(2, 3, tables=["a", "b"], epsilon=1))
    release = LocalRelease.of(less, collected(less)[1])
    if not release.fit.covers(("a", "b")):
        with pytest.raises(UsageError, match="says nothing about a, b together"):
            release.table("a", "b")


@pytest.mark.parametrize("name", ["tallies.parquet", "cells.csv", "report.html", "release.json", "microdata.csv"])
def test_a_changed_file_is_noticed(out, tmp_path, name):
    folder = out.save(tmp_path / "out")
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content.replace(b"1", b"2", 1) if b"1" in content else content + b" ")
    with pytest.raises((VerificationError, BundleError)):
        verify(folder)


def test_unbiased_tables_can_be_published_alone(plan, tmp_path):
    spec = replace(plan.spec, base=replace(plan.spec.base, nonnegative="none"))
    release = LocalRelease.of(make_local_plan(spec), collected(plan)[1])
    assert release.publication is None
    with pytest.raises(UsageError, match="no microdata"):
        release.microdata()
    path = release.save(tmp_path / "out.zip")
    assert verify(path).tables >= 3
    np.testing.assert_allclose(load(path).unbiased(("a", "b")), release.unbiased(("a", "b")))


def test_the_guarantee_of_a_shuffler_is_that_of_the_reports_received(tmp_path):
    plan = make_local_plan(local_spec(2, 2, shuffler="the post office", size=10**6))
    release = LocalRelease.of(plan, collected(plan, 6000)[1])
    said = plan.shuffled(6000).guarantee
    assert release.shuffled.guarantee == said
    assert said.epsilon > plan.shuffled(10**6).guarantee.epsilon
    text = (release.save(tmp_path / "out") / "release.json").read_text(encoding="utf-8")
    assert '"by": "the post office"' in text
    assert verify(tmp_path / "out").private


def test_the_pipeline_takes_reports_sums_and_nothing_seeded(plan, tmp_path):
    codes, _ = collected(plan, 800)
    lines = simulate_lines(plan, codes, Generator.seeded("lines"))
    (tmp_path / "reports.txt").write_bytes(b"\n".join([*lines, b"nonsense"]))
    out = pipeline.release(plan, tmp_path / "reports.txt")
    assert (out.reports, out.collected.refused) == (800, {"malformed": 1})
    (tmp_path / "kept.json").write_bytes(kept_bytes(plan, out.collected))
    again = pipeline.release(plan.spec, tmp_path / "kept.json")
    np.testing.assert_array_equal(again.published(("a", "b")), out.published(("a", "b")))
    assert again.collected.refused == out.collected.refused
    with pytest.raises(UsageError, match="draws no noise"):
        pipeline.release(plan, tmp_path / "reports.txt", seed=1)
    with pytest.raises(UsageError, match="no data is named"):
        pipeline.release(plan)


def test_a_collection_and_its_plan_look_like_something_in_a_notebook_and_in_a_terminal(out):
    plan, seen = out.plan._repr_html_(), out._repr_html_()
    assert "<table>" in plan and "<table>" in seen and "What the words mean" in plan and "What the words mean" in seen
    assert f"{out.reports} reports" in seen and "NOT PRIVATE" not in seen
    assert all(sheet.title in repr(out.plan) for sheet in out.plan.sheets())
    assert out.plan.words()[0] in repr(out.plan)
