"""The bundle of a graph is a bundle: it says what it is, is read again, verified, signed, and loads for ever."""

import io
import json
import re
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import margrave as mg
from margrave.errors import BundleError, VerificationError
from margrave.publish.bundle.parts.parts import csv_bytes, parquet_bytes
from margrave.publish.verification.signature import SigningKey
from margrave.publish.verification.verify import verify
from tests.publish.graphs.friends import EDGES, SPEC

GOLDEN = Path(__file__).parents[1] / "golden"
PARTS = ["blocks", "edges", "exact/degree", "nodes", "pairs"]


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rewrite(folder, stem, change):
    """Change a part in its Parquet file and its CSV file alike."""
    table = pq.read_table(io.BytesIO((folder / f"{stem}.parquet").read_bytes()))
    changed = change(table.to_pandas())
    import pyarrow as pa

    again = pa.Table.from_pandas(changed, schema=table.schema, preserve_index=False).replace_schema_metadata(None)
    (folder / f"{stem}.parquet").write_bytes(parquet_bytes(again))
    (folder / f"{stem}.csv").write_bytes(csv_bytes(again))


@pytest.fixture
def folder(friends):
    return mg.release("graph.toml", seed=5).save("out")


def test_the_bundle_has_the_frame_of_every_bundle(friends, folder):
    files = contents(folder)
    expected = {f"{stem}.{kind}" for stem in PARTS for kind in ("csv", "parquet")}
    assert set(files) == expected | {"release.json", "report.html", "csv-metadata.json", "datapackage.json"}
    said = json.loads(files["release.json"])
    assert (said["format"], said["version"], said["way"]) == ("margrave-release", 3, "graph")
    for name, one in said["files"].items():
        assert (one["bytes"], one["sha256"]) == (len(files[name]), sha256(files[name]).hexdigest())
    assert said["guarantee"]["cost"] == {"epsilon": "4"} and said["private"] is False and "created" not in said
    assert [one["l1_sensitivity"] for one in said["events"]] == [7, 7]
    assert said["disclosed"] == [
        {"fact": "degree of 5 nodes", "exact": True, "protected": False, "source": "data"},
    ]
    assert b"friends.csv" not in b"".join(files.values())


@pytest.mark.parametrize("form", ["out", "out.zip"])
@pytest.mark.parametrize("change", [{}, {"edges": Fraction(0)}, {"known": ()}])
def test_what_is_written_is_read_again(friends, form, change):
    out = mg.release(replace(mg.GraphSpec.load("graph.toml"), **change), "friends.csv")
    out.save(form)
    found = mg.Release.load(form)
    assert type(found) is type(out) and found.plan.question == out.plan.question and found.private
    for name in ("blocks", "nodes") if "edges" in change else ("blocks", "nodes", "edges", "pairs"):
        pd.testing.assert_frame_equal(getattr(found, name)(), getattr(out, name)())
    verified = verify(form)
    assert verified.cost == out.plan.cost and not verified.not_checked and verified.private


def test_saved_again_it_is_the_same(friends, folder):
    mg.Release.load("out").save("again")
    assert contents(folder) == contents(friends / "again")


def test_saved_as_a_whole_or_not_at_all(friends, monkeypatch):
    out = mg.release("graph.toml", seed=5)
    monkeypatch.setattr("margrave.publish.framed.bundle.frame_json", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        out.save("out")
    assert sorted(path.name for path in friends.iterdir()) == ["friends.csv", "graph.toml"]


def test_a_graph_that_was_not_found_is_told_and_verified(friends, monkeypatch):
    monkeypatch.setattr("margrave.publish.graphs.release.nearest_graph", lambda *_: None)
    mg.release("graph.toml", seed=1).save("left")
    assert json.loads((friends / "left" / "release.json").read_text(encoding="utf-8"))["published"] == {"found": False}
    assert not (friends / "left" / "edges.csv").exists()
    assert verify("left").tables == 4 and mg.Release.load("left").nearest is None


def test_the_report_shows_the_block_table_and_the_graph_and_runs_nothing(friends, folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "two standard errors to either side" in page
    assert 'id="drawing-t"' in page and page.count("</title></circle>") == 8
    assert "<script" not in page and not re.search(r'(?:src|href)\s*=\s*"(?!#)', page)
    assert "default-src 'none'" in page and "NOT PRIVATE" in page
    assert page.count('<line class="axis"') == len(mg.Release.load("out").edges())


def test_names_cannot_break_out_of_the_report(friends):
    evil = '<script>alert("x")</script>'
    text = SPEC.replace('"hal"', f"'{evil}'").replace('title = "Friends"', f"title = '{evil}'")
    mg.release(mg.GraphSpec.load(text), pd.DataFrame(EDGES[:2], columns=["one", "other"]), seed=1).save("evil")
    assert "<script" not in (friends / "evil" / "report.html").read_text(encoding="utf-8")
    assert verify("evil").tables == 5


def flipped(frame):
    """One edge more, and its ends with it."""
    at = int(np.flatnonzero(frame["edge"].to_numpy() == 0)[0])
    return frame.assign(edge=frame["edge"].where(frame.index != at, 1))


@pytest.mark.parametrize(
    ("stem", "change", "text"),
    [
        ("pairs", flipped, "is .* and follows from|does not have|rows"),
        ("blocks", lambda frame: frame.assign(count=frame["count"] + 1), r"blocks.parquet, row 1: count"),
        ("blocks", lambda frame: frame.assign(noisy=frame["noisy"] + 1), r"blocks.parquet, row 1: count"),
        ("nodes", lambda frame: frame.assign(group="red"), r"nodes.parquet, row 5: group"),
        ("edges", lambda frame: frame.iloc[::-1], r"edges.parquet, row 1"),
    ],
)
def test_a_changed_number_is_found_though_checksums_fit(friends, folder, reseal, stem, change, text):
    rewrite(folder, stem, change)
    reseal(folder)
    with pytest.raises(VerificationError, match=text):
        verify(folder)


def test_a_graph_without_the_public_degrees_is_found(friends, folder, reseal):
    out = mg.Release.load(folder)
    wrong = replace(out, nearest=replace(out.nearest, edges=~out.nearest.edges))
    wrong.save("wrong")
    with pytest.raises(VerificationError, match="does not give 'ann' its public degree"):
        verify("wrong")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda said: said["guarantee"]["cost"].update(epsilon="1"), "guarantee.cost.epsilon is '1'"),
        (lambda said: said["guarantee"]["words"].pop(), "guarantee.words"),
        (lambda said: said["events"][0]["noise"].update(scale="1"), "must not cost more than its budget"),
        (lambda said: said["events"].pop(), "other events than its spec asks for"),
        (lambda said: said["events"][0].update(l1_sensitivity=1), r"events\[0\].l1_sensitivity is 1"),
        (lambda said: said["spec"]["graph"].update(directed=True), "contradicts itself"),
        (lambda said: said["spec"]["graph"]["group_of"].__setitem__(0, True), "cannot be read"),
        (lambda said: said["published"].update(edges=2), r"published.edges is 2"),
        (lambda said: said.update(composition="All is well."), "composition is 'All is well.'"),
        (lambda said: said.update(extra=1), "extra does not follow"),
        (lambda said: said.update(private=True), "created is missing"),
        (lambda said: said.update(way="guess"), "a way of asking that this Margrave does not know"),
        (lambda said: said.update(software="verified"), "not the name of a Margrave"),
    ],
)
def test_a_contradiction_in_the_manifest_is_found(friends, folder, reseal, change, text):
    reseal(folder, change)
    with pytest.raises((VerificationError, BundleError), match=text):
        verify(folder)


def test_a_graph_that_is_too_large_to_be_one_is_refused(friends, folder, reseal):
    def swollen(said):
        names = [f"v{number}" for number in range(4000)]
        said["spec"]["graph"].update(nodes=names, groups=["all"], group_of=[0] * len(names), degrees=[])

    reseal(folder, swollen)
    with pytest.raises(VerificationError, match="contradicts itself: a graph of 4000 nodes has"):
        verify(folder)


def test_a_changed_report_a_missing_and_a_foreign_file_are_found(friends, folder, reseal):
    page = folder / "report.html"
    page.write_text(page.read_text(encoding="utf-8").replace("Friends", "Enemies"), encoding="utf-8")
    with pytest.raises(VerificationError, match="checksum"):
        verify(folder)
    reseal(folder)
    with pytest.raises(VerificationError, match="differs from the one that follows"):
        verify(folder)
    (folder / "notes.txt").write_text("hello", encoding="utf-8")
    with pytest.raises(VerificationError):
        verify(folder)


def test_other_forms_are_said_not_to_be_checked(friends, folder, reseal):
    reseal(folder, lambda said: said["forms"].update(report=7, words=7))
    found = verify(folder)
    assert [one.part for one in found.not_checked] == ["report"]
    reseal(folder, lambda said: said["guarantee"]["words"].append("More."))
    assert [one.part for one in verify(folder).not_checked] == ["words", "report"]


def test_it_can_be_signed(friends):
    key = SigningKey.new()
    mg.release("graph.toml").save("signed", sign=key)
    assert verify("signed", key=key.public).signer == key.public
    with pytest.raises(VerificationError, match="is signed by the key"):
        verify("signed", key=SigningKey.new().public)


def test_a_folder_of_version_0_1_is_refused_with_what_to_do(friends):
    (friends / "old").mkdir()
    for name in ("blocks.csv", "nodes.csv", "manifest.json"):
        (friends / "old" / name).write_text("{}", encoding="utf-8")
    for read in (mg.Release.load, verify):
        with pytest.raises(BundleError, match=r"margrave-graph 1, and no bundle. .* release the graph again"):
            read("old")


@pytest.mark.parametrize("name", ["v3-graph", "v3-graph-directed.zip"])
def test_golden_bundles_load_and_verify(name):
    out = mg.Release.load(GOLDEN / name)
    expected = json.loads((GOLDEN / f"{name.removesuffix('.zip')}.json").read_text(encoding="utf-8"))
    assert out.measured.blocks.tolist() == expected["blocks"] and out.plan.cost.as_dict() == expected["cost"]
    assert out.edges().to_numpy().tolist() == expected["edges"]
    assert {one.part for one in verify(GOLDEN / name).not_checked} <= {"words", "report"}
