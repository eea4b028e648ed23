"""Temporary folders: gone after every exit, never somebody else's, whatever the system offers."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from margrave.files import temporary
from margrave.files.temporary import remove_orphans, temporary_folder
from tests.ledger.helpers import SOAK


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


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems know them")
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_at_any_moment_leaves_no_folder_behind(number):
    command = [sys.executable, "-m", "tests.files.moments", str(int(number)), "opcode" if SOAK else "line"]
    run = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    assert found["ends"]["in order"] > 300 and found["ends"].keys() == {"in order"}
    assert found["left"] == []


@pytest.fixture
def interruptible():
    """Interrupts are heard, also where the tests run in the background of a shell that ignores them there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_signal_during_a_removal_is_heeded_after_it(tmp_path, monkeypatch):
    remove = shutil.rmtree

    def interrupted(path, ignore_errors):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        remove(path, ignore_errors)

    monkeypatch.setattr(temporary.shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt), temporary_folder(tmp_path, "x-") as folder:
        (folder / "file").write_text("gone")
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "whoever was there before is there again"


def test_a_signal_to_a_copy_of_the_process_leaves_the_folder_alone(tmp_path, monkeypatch):
    with temporary_folder(tmp_path, "x-") as folder:
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(temporary.os, "getpid", lambda: -1)
            with pytest.raises(SystemExit):
                signal.raise_signal(signal.SIGTERM)
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_signals_that_the_program_handles_stay_its_own(tmp_path):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with temporary_folder(tmp_path, "x-") as folder:
            signal.raise_signal(signal.SIGTERM)
            assert folder.is_dir() and heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
