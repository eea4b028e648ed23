"""Bundles from strangers: archives with tricks, folders with links, files that lie. Each is refused in words."""

import io
import os
import stat
import zipfile

import pytest

import margrave as mg
from margrave.errors import BundleError, MargraveError
from margrave.publish.bundle.untrusted import reading
from margrave.publish.bundle.untrusted.reading import opened, safe_name


@pytest.fixture
def entries(folder):
    """The files of a sound bundle."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def pack(path, entries, *extra, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in [*entries.items(), *extra]:
            archive.writestr(name, content)
    return path


def link(name):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    entry.create_system = 3
    return entry


def test_a_packed_folder_is_a_bundle(entries, tmp_path):
    assert mg.Release.load(pack(tmp_path / "a.zip", entries, (zipfile.ZipInfo("tables/"), b""))).plan
    assert mg.Release.load(pack(tmp_path / "b.zip", entries, method=zipfile.ZIP_STORED)).plan


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd", "../outside.csv", "tables/../../outside.csv", "C:\\x.csv", "a\\b.csv", "tables/..", "x\0.csv",
        "deep/er/file.csv", "", ".hidden", "CON.csv", "a b.csv", "~/x.csv", "\u202e.csv", "../", "/", "x" * 300,
    ],
)  # fmt: skip
def test_names_that_reach_out_are_refused(entries, tmp_path, name):
    assert not safe_name(name)
    entry = zipfile.ZipInfo("placeholder")
    entry.filename = entry.orig_filename = name
    with pytest.raises(BundleError):
        mg.Release.load(pack(tmp_path / "out.zip", entries, (entry, b"x")))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "out.zip"]


def test_links_are_refused(entries, tmp_path, folder):
    with pytest.raises(BundleError, match="no ordinary file"):
        mg.Release.load(pack(tmp_path / "out.zip", entries, (link("link.csv"), b"/etc/passwd")))
    (folder / "link.csv").symlink_to("/etc/passwd")
    with pytest.raises(BundleError, match="no ordinary file"):
        mg.Release.load(folder)


def test_pipes_are_refused(folder):
    os.mkfifo(folder / "pipe.csv")
    with pytest.raises(BundleError, match="no ordinary file"):
        mg.Release.load(folder)


def test_duplicates_are_refused(entries, tmp_path):
    with pytest.warns(UserWarning, match="Duplicate"):
        path = pack(tmp_path / "out.zip", entries, ("cube.csv", b"another"))
    with pytest.raises(BundleError, match=r"cube\.csv is in the archive twice"):
        mg.Release.load(path)


def test_encrypted_and_strangely_packed_files_are_refused(entries, tmp_path):
    path = pack(tmp_path / "out.zip", entries, method=zipfile.ZIP_BZIP2)
    with pytest.raises(BundleError, match="packed in a way"):
        mg.Release.load(path)
    content = bytearray(pack(tmp_path / "other.zip", entries).read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "other.zip").write_bytes(content)
    with pytest.raises(BundleError, match="encrypted"):
        mg.Release.load(tmp_path / "other.zip")


def test_bombs_are_refused_before_they_unpack(entries, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 20)
    with pytest.raises(BundleError, match="4 GiB"):
        mg.Release.load(pack(tmp_path / "out.zip", entries, ("zeros.csv", bytes(2 << 20))))
    monkeypatch.setattr(reading, "MOST_FILES", 3)
    with pytest.raises(BundleError, match="more than 3 files"):
        mg.Release.load(pack(tmp_path / "many.zip", entries))


def test_a_file_longer_than_announced_is_not_read_to_its_end(folder):
    name = "measurements.parquet"
    (folder / name).write_bytes((folder / name).read_bytes() + bytes(1 << 20))
    with pytest.raises(BundleError, match="longer than the release says"):
        mg.Release.load(folder)


def test_a_manifest_cannot_point_outside(folder, reseal, tmp_path):
    (tmp_path / "secret.csv").write_text("secret")
    from margrave.publish.verification.verify import verify

    reseal(folder, lambda found: found["files"].update({"../secret.csv": {"bytes": 6, "sha256": "0" * 64}}))
    with pytest.raises(MargraveError, match="which such a release does not have"):
        verify(folder)


def test_what_is_no_bundle(tmp_path):
    with pytest.raises(BundleError, match="no such folder"):
        mg.Release.load(tmp_path / "nothing")
    with pytest.raises(BundleError, match="this is not a release"):
        mg.Release.load(tmp_path)
    (tmp_path / "text.zip").write_text("not an archive")
    with pytest.raises(BundleError, match="neither the folder nor"):
        mg.Release.load(tmp_path / "text.zip")
    (tmp_path / "release.json").write_text("{}")
    with pytest.raises(BundleError, match="not that of a Margrave release"):
        mg.Release.load(tmp_path)


def test_a_missing_file_is_named(folder):
    (folder / "measurements.parquet").unlink()
    with pytest.raises(BundleError, match=r"measurements\.parquet is missing"):
        mg.Release.load(folder)


def test_a_cut_archive_is_refused(entries, tmp_path):
    whole = pack(tmp_path / "whole.zip", entries).read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.zip").write_bytes(whole[:length])
        with pytest.raises(BundleError):
            mg.Release.load(tmp_path / "cut.zip")


def test_reading_leaves_the_archive_closed(entries, tmp_path):
    path = pack(tmp_path / "out.zip", entries)
    with opened(path) as files:
        assert io.BytesIO(files.read("release.json", 1 << 20)).read(1) == b"{"
    path.unlink()
