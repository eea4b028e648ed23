"""The bundles of a folder: known by their content, and those that cannot be read are named."""

import pytest

from margrave.errors import UsageError
from margrave.publish.explorer.library import library_of


def test_a_folder_has_its_bundles_and_says_which_it_could_not_read(releases, tmp_path):
    releases["raw"].save(tmp_path / "raw")
    releases["raw"].save(tmp_path / "packed.zip")
    releases["total"].save(tmp_path / "total")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "release.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("not a bundle")
    found = library_of(tmp_path)
    assert {one.path.name for one in found.entries.values()} <= {"raw", "packed.zip", "total"}
    assert len(found.entries) == 2  # The same release twice is one.
    assert [text.split(":")[0] for text in found.skipped] == ["broken"]


def test_a_release_is_opened_once(releases, tmp_path):
    found = library_of(releases["raw"].save(tmp_path / "raw"))
    (key,) = found.entries
    assert found.release(key) is found.release(key)


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such"):
        library_of(tmp_path / "nothing")
    with pytest.raises(UsageError, match="holds no release"):
        library_of(tmp_path)
