"""Temporary folders: gone after every exit, never somebody else's, whatever the system offers."""

import errno

import pytest

from margrave.files import temporary
from margrave.files.temporary import remove_orphans, temporary_folder


@pytest.fixture(params=["locks", "no locks here", "no locks at all"])
def locks(request, monkeypatch):
    """What the file system, or the whole system, can do."""

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    if request.param == "no locks at all":
        monkeypatch.setattr(temporary, "fcntl", None)
    elif request.param == "no locks here":
        monkeypatch.setattr(temporary.fcntl, "flock", refuse)
    return request.param


def test_a_folder_is_there_for_its_time_and_nobody_takes_it_for_an_orphan(locks, tmp_path):
    with temporary_folder(tmp_path, "x-") as first:
        (first / "file").write_text("kept")
        remove_orphans(tmp_path, "x-")
        with temporary_folder(tmp_path, "x-") as second:
            assert first != second and sorted(tmp_path.iterdir()) == sorted([first, second])
        assert (first / "file").read_text() == "kept"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), temporary_folder(tmp_path, "x-"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_orphans_are_known_by_their_locks(locks, tmp_path):
    for name in ("x-dead", "y-dead"):
        (tmp_path / name).mkdir()
    with temporary_folder(tmp_path, "x-"):
        pass
    left = {path.name for path in tmp_path.iterdir()}
    assert left == ({"y-dead"} if locks == "locks" else {"x-dead", "y-dead"})


def test_a_folder_that_is_taken_for_an_orphan_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, calls = temporary.fcntl.flock, []

    def late(descriptor, how):
        calls.append(how)
        if len(calls) == 1:
            (folder,) = tmp_path.iterdir()
            folder.rmdir()
        lock(descriptor, how)

    monkeypatch.setattr(temporary.fcntl, "flock", late)
    with temporary_folder(tmp_path, "x-") as folder:
        assert folder.is_dir() and len(calls) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), temporary_folder(tmp_path / "absent", "x-"):
        pass
