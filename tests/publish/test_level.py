"""The level of intervals belongs to a release, and its bundle says so."""

import json
from dataclasses import replace

import pytest

from margrave.errors import BundleError, VerificationError
from margrave.publish.release import Release
from margrave.publish.verification.verify import verify

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["laplace", "raw", "encoded"])
def test_another_level_is_kept_in_the_bundle_with_its_bars(releases, tmp_path, kind):
    narrow = replace(releases[kind], level=0.6)
    assert isinstance(narrow, Release)
    loaded = Release.load(narrow.save(tmp_path / "out"))
    verify(tmp_path / "out")
    assert loaded.level == 0.6
    for margin in narrow.plan.spec.margins:
        wide, found, again = (one.table(*margin) for one in (releases[kind], narrow, loaded))
        assert (found.high - found.low <= wide.high - wide.low).all()
        assert not found.high.equals(wide.high)
        assert ((again.high - found.high).abs() < 1e-5).all()
        assert ((loaded.table(*margin, level=0.95).high - wide.high).abs() < 1e-5).all()
    assert loaded.query({"smoke": "yes"}).level == 0.6
    assert "60 % probability" in (tmp_path / "out/report.html").read_text(encoding="utf-8")


def test_bundles_that_name_no_level_have_the_usual_one(folder, reseal):
    reseal(folder, lambda found: found.pop("level"))
    assert Release.load(folder).level == 0.95
    verify(folder)


def test_a_forged_level_is_found(releases, tmp_path, reseal):
    folder = releases["raw"].save(tmp_path / "raw")
    reseal(folder, lambda found: found.update(level=0.9))
    with pytest.raises(VerificationError):
        verify(folder)


@pytest.mark.parametrize("level", [0, 1.0, "0.95", None, True])
def test_a_level_that_is_no_probability_is_refused(folder, reseal, level):
    reseal(folder, lambda found: found.update(level=level))
    assert json.loads((folder / "release.json").read_text(encoding="utf-8"))["level"] == level
    with pytest.raises(BundleError):
        Release.load(folder)
