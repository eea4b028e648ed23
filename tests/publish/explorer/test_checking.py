"""A release is checked once, and again as soon as one of its files is another."""

import os
import zipfile

import pytest

from margrave.publish.explorer import checking
from margrave.publish.explorer.checking import Checks
from margrave.publish.verification.found import Verified


@pytest.fixture
def bundle(releases, tmp_path):
    place = releases["raw"].save(tmp_path / "out")
    settle(place)
    return place


@pytest.fixture
def checked(monkeypatch):
    """How often files were really checked; an hour goes by between a change and a check."""
    found = []
    real, clock = checking.verify, checking.time_ns
    monkeypatch.setattr(checking, "verify", lambda *args, **named: found.append(args) or real(*args, **named))
    monkeypatch.setattr(checking, "time_ns", lambda: clock() + 3_600_000_000_000)
    return found


def settle(place):
    for one in place.rglob("*"):
        os.utime(one, (1_000_000_000, 1_000_000_000))


def test_files_that_rest_are_checked_once(bundle, checked):
    checks = Checks()
    assert checks.known(bundle) is None
    first = checks.check(bundle)
    assert isinstance(first, Verified)
    assert checks.known(bundle) == checks.check(bundle) == first
    assert len(checked) == 1


def test_another_content_of_the_same_length_and_time_is_found(bundle, checked):
    checks = Checks()
    checks.check(bundle)
    path = next(bundle.glob("tables/*.csv"))
    content = path.read_bytes()
    path.write_bytes(content[:-2] + b"9\n")
    settle(bundle)  # whoever changes files can set their times back, but not when that was done
    assert checks.known(bundle) is None
    assert path.name in checks.check(bundle)
    path.write_bytes(content)
    assert isinstance(checks.check(bundle), Verified)
    (bundle / "tables" / "more.csv").write_text("x")
    assert "more.csv" in checks.check(bundle)
    assert len(checked) == 4


def test_files_that_just_changed_are_checked_again(bundle, checked, monkeypatch):
    monkeypatch.undo()
    found = []
    real = checking.verify
    monkeypatch.setattr(checking, "verify", lambda *args, **named: found.append(args) or real(*args, **named))
    checks = Checks()
    (bundle / "release.json").touch()
    assert isinstance(checks.check(bundle), Verified)
    assert isinstance(checks.known(bundle), Verified)  # to whoever waited for it
    assert checks.known(bundle) is None
    checks.check(bundle)
    assert len(found) == 2


def test_an_archive_is_one_file(bundle, tmp_path, checked):
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as archive:
        for one in sorted(bundle.rglob("*")):
            if one.is_file():
                archive.write(one, one.relative_to(bundle).as_posix())
    checks = Checks()
    assert checks.check(tmp_path / "out.zip") == checks.check(tmp_path / "out.zip")
    assert len(checked) == 1
    (tmp_path / "out.zip").unlink()
    assert checks.known(tmp_path / "out.zip") is None
