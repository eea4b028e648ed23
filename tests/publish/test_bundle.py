"""Bundles are written as a whole or not at all, say everything, and give the release back exactly."""

import errno
import json
import logging
import zipfile
from datetime import datetime
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.errors import BundleError, UsageError
from margrave.files import writing
from margrave.publish.bundle.parts.names import column, stem
from margrave.publish.verification.verify import verify

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden"


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def same(one, other):
    assert other.plan == one.plan
    assert other.private == one.private
    for left, right in zip(one.measured.answers, other.measured.answers, strict=True):
        assert left.measurement == right.measurement
        assert left.outputs.shape == right.outputs.shape
        np.testing.assert_array_equal(left.outputs, right.outputs)
    assert one.measured.exact.keys() == other.measured.exact.keys()
    for margin, counts in one.measured.exact.items():
        np.testing.assert_array_equal(np.asarray(counts).ravel(), other.measured.exact[margin].ravel())
    for margin in one.plan.spec.margins:
        pd.testing.assert_frame_equal(one.table(*margin), other.table(*margin))


@pytest.mark.parametrize("ending", ["", ".zip"])
def test_a_saved_release_is_loaded_exactly(out, tmp_path, ending):
    place = out.save(tmp_path / f"out{ending}")
    assert place.is_dir() == (ending == "")
    same(out, mg.Release.load(place))
    assert verify(place).tables == len(out.plan.spec.margins)
    assert listing(tmp_path) == [f"out{ending}"]


def test_seeded_bundles_are_byte_identical(releases, data, tmp_path):
    again = mg.release(releases["laplace"].plan, data, seed=7)
    one, other = releases["laplace"].save(tmp_path / "one"), again.save(tmp_path / "other")
    assert contents(one) == contents(other)
    packed = [out.save(tmp_path / f"{name}.zip") for name, out in (("a", releases["laplace"]), ("b", again))]
    assert packed[0].read_bytes() == packed[1].read_bytes()
    with zipfile.ZipFile(packed[0]) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == contents(one)
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    same(releases["laplace"], mg.Release.load(one))
    assert contents(mg.Release.load(one).save(tmp_path / "again")) == contents(one)


def test_what_a_bundle_says(releases, tmp_path):
    folder = releases["laplace"].save(tmp_path / "out")
    found = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert (found["format"], found["version"]) == ("margrave-release", 1)
    assert found["private"] is False
    assert found["warning"].startswith("NOT PRIVATE")
    assert "created" not in found
    assert "data" not in found["spec"]
    assert found["guarantee"]["unit"] == {"records": 1, "words": "one record"}
    assert sorted(found["guarantee"]["groups"]) == ["10", "2", "5"]
    assert found["plan"]["protection"]["neighbours"] == found["guarantee"]["neighbours"] == "add-remove"
    assert set(found["files"]) | {"release.json"} == set(contents(folder))
    assert list(found["files"]) == sorted(found["files"])
    assert not [name for name in contents(folder) if name.endswith((".pkl", ".pickle"))]


def test_a_private_release_carries_a_date_and_no_warning(releases, data, tmp_path):
    out = mg.release(releases["laplace"].plan, data)
    found = json.loads((out.save(tmp_path / "out") / "release.json").read_text(encoding="utf-8"))
    assert found["private"] is True
    assert "warning" not in found
    assert datetime.fromisoformat(found["created"]).tzinfo is not None
    assert "NOT PRIVATE" not in (tmp_path / "out/report.html").read_text(encoding="utf-8")
    verify(tmp_path / "out")


def test_tables_say_the_same_as_csv_and_parquet(out, tmp_path):
    folder = out.save(tmp_path / "out")
    cube = pd.read_csv(folder / "cube.csv", dtype=str, keep_default_na=False)
    rows = 0
    for one in json.loads((folder / "release.json").read_text(encoding="utf-8"))["tables"]:
        table = pd.read_parquet(folder / one["parquet"])
        words = dict.fromkeys(one["table"], str)
        pd.testing.assert_frame_equal(pd.read_csv(folder / one["csv"], dtype=words), table, check_dtype=False)
        expected = out.table(*one["table"])
        for name in ("count", "std_error", "low", "high"):
            np.testing.assert_allclose(table[name], expected[name], atol=1e-6)
        np.testing.assert_allclose(
            table[column("unbiased", one["table"])], out.noisy(*one["table"])["count"], atol=1e-6
        )
        others = [name for name in out.domain.names if name not in one["table"]]
        inside = cube[(cube[others] == "*").all(axis=1) & (cube[one["table"]] != "*").all(axis=1)]
        np.testing.assert_allclose(inside["count"].astype(float), table["count"])
        rows += len(table)
    assert rows == len(cube)


def test_measurements_are_tidy(releases, tmp_path):
    folder = releases["encoded"].save(tmp_path / "out")
    frame = pd.read_csv(folder / "measurements.csv")
    assert list(frame.columns) == [
        "measurement", "output", "smoke", "age:0", "age:1", "unbiased", "value", "variance",
    ]  # fmt: skip
    assert set(frame["smoke"]) == {"*", "no minus yes"}
    assert frame["value"].dtype == np.int64


def test_exact_tables_are_stored_as_such(releases, tmp_path):
    folder = releases["sensitive"].save(tmp_path / "out")
    names = [name for name in contents(folder) if name.startswith("exact/")]
    assert names
    assert pd.read_csv(folder / sorted(names)[0])["count"].sum() == 57


def test_names_of_files_are_plain():
    assert stem("tables", 0, ()) == "tables/001-total"
    assert stem("tables", 11, ("Größe/..\\x", "Ä b")) == "tables/012-groe-x-a-b"
    assert stem("tables", 0, ("年齢",)) == "tables/001"
    assert len(stem("tables", 0, ("a" * 500,))) < 80
    assert column("unbiased", ("unbiased", "unbiased_")) == "unbiased__"


@pytest.mark.parametrize("name", ["taken", "taken.zip"])
def test_nothing_is_written_over(releases, tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(UsageError, match="exists already"):
        releases["laplace"].save(tmp_path / name)
    (tmp_path / name).rmdir()
    (tmp_path / name).symlink_to("nowhere")
    with pytest.raises(UsageError, match="exists already"):
        releases["laplace"].save(tmp_path / name)


def test_the_folder_around_must_exist(releases, tmp_path):
    with pytest.raises(UsageError, match="make it first"):
        releases["laplace"].save(tmp_path / "no/such/folder")


@pytest.mark.parametrize("ending", ["", ".zip"])
@pytest.mark.parametrize(("room", "error"), [(0, UsageError), (1, BundleError)], ids=["at once", "later"])
def test_a_full_disk_leaves_nothing(releases, tmp_path, monkeypatch, ending, room, error):
    files = count()

    def full(handle):
        if next(files) >= room:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(error, match="No space left on device"):
        releases["laplace"].save(tmp_path / f"out{ending}")
    assert listing(tmp_path) == []


@pytest.mark.parametrize("ending", ["", ".zip"])
def test_an_interrupt_at_any_moment_leaves_nothing(releases, tmp_path, ending):
    target, moments = tmp_path / f"out{ending}", []

    def save(stop):
        done = 0

        def step(now, total):
            nonlocal done
            done = now
            moments.append(total)
            if now == stop:
                raise KeyboardInterrupt

        releases["laplace"].save(target, progress=step)
        return done

    for stop in range(1, 16):
        with pytest.raises(KeyboardInterrupt):
            save(stop)
        assert listing(tmp_path) == []
    assert save(None) == moments[0] == 15


def test_a_rename_that_fails_leaves_nothing(releases, tmp_path, monkeypatch):
    def refuse(self, target):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(BundleError, match="Permission denied"):
        releases["laplace"].save(tmp_path / "out")
    assert listing(tmp_path) == []


def test_a_target_that_appears_meanwhile_is_kept(releases, tmp_path):
    with pytest.raises(UsageError, match="meanwhile"):
        releases["laplace"].save(tmp_path / "out", progress=lambda done, total: (tmp_path / "out").mkdir(exist_ok=True))
    assert listing(tmp_path) == ["out"]


def test_logs_hold_no_numbers_of_the_data(releases, tmp_path, caplog):
    with caplog.at_level(logging.DEBUG):
        releases["laplace"].save(tmp_path / "out")
    assert caplog.messages == ["a bundle of 15 files is written"]


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("v[12]-*") if path.suffix != ".json"))
def test_golden_bundles_load_forever(name):
    expected = json.loads((GOLDEN / f"{name.removesuffix('.zip')}.json").read_text(encoding="utf-8"))
    out = mg.Release.load(GOLDEN / name)
    found = verify(GOLDEN / name, bars=True)
    assert found.cost.as_dict() == expected["cost"]
    assert "report" in [one.part for one in found.not_checked]
    assert all("made by margrave 0.1.0 in form 0" in one.reason for one in found.not_checked)
    assert [answer.outputs.ravel().tolist() for answer in out.measured.answers] == expected["outputs"]
    for one in expected["tables"]:
        np.testing.assert_allclose(out.noisy(*one["table"])["count"], one["unbiased"], atol=1e-6)


def test_golden_bundles_of_every_version_are_kept():
    assert {path.name[:2] for path in GOLDEN.glob("v*")} == {"v1", "v2", "v3"}
    for version in ("v1", "v2", "v3"):
        assert len(list(GOLDEN.glob(f"{version}-*.json"))) >= 2


def test_newer_versions_are_refused(folder, reseal):
    reseal(folder, lambda found: found.update(version=4))
    for read in (mg.Release.load, verify):
        with pytest.raises(BundleError, match=r"format version 4 .* use a newer Margrave"):
            read(folder)


def test_notebooks_show_releases(out):
    text = out._repr_html_()
    assert "NOT PRIVATE" in text
    assert "A small survey" in text
    assert "NOT PRIVATE" in repr(out)
    assert "smoke" in out.plan._repr_html_()
    assert all("<summary>What the words mean</summary><dl><dt>" in one for one in (text, out.plan._repr_html_()))
    assert "<td>" in out.table("smoke")._repr_html_()
