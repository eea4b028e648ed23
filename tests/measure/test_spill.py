"""Records on disk: the same choice as in memory, in a folder that nobody else can enter and that no exit leaves."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from margrave.errors import DataError
from margrave.measure.engines.count import count_margins
from margrave.measure.engines.spill import PREFIX, private_folder, remove_orphans
from margrave.measure.failures import Failures
from margrave.measure.records import read
from margrave.measure.sources.sources import open_source
from margrave.measure.units import bound_units
from margrave.spec.codebook import Codebook, CodebookEntry, Range

BOOK = Codebook((CodebookEntry("a", Range(0, 30)), CodebookEntry("unit", Range(0, 1))))
KEY = b"k" * 32


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(folder):
    return [path for path in folder.rglob("*") if PREFIX in str(path)]


def people(rows=3000, units=400, seed=1):
    rng = np.random.default_rng(seed)
    ids = [f"person {number}" for number in (units * rng.random(rows) ** 2).astype(int)]
    return pa.table({"who": ids, "a": rng.integers(0, 31, rows), "unit": rng.integers(0, 2, rows)})


def kept(table, most, memory, chunk=100):
    failures = Failures()
    source = open_source(pa.Table.from_batches(table.to_batches(max_chunksize=chunk)))
    batches = read(source, BOOK, ("a", "unit"), failures, unit_column="who")
    found = [
        pair
        for batch in bound_units(batches, most, failures, KEY, memory)
        for pair in zip(batch.codes["a"].tolist(), batch.codes["unit"].tolist(), strict=True)
    ]
    assert not failures
    return sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 3, 1000])
def test_the_choice_is_the_same_on_disk_and_in_memory(folder, most):
    table = people()
    in_memory = kept(table, most, 1 << 30)
    shuffled = table.take(np.random.default_rng(2).permutation(table.num_rows))
    for memory in (0, 9_000, 60_000):
        assert kept(table, most, memory) == in_memory
        assert kept(shuffled, most, memory, chunk=77) == in_memory
    sizes = np.unique(table["who"].to_numpy(zero_copy_only=False), return_counts=True)[1]
    assert len(in_memory) == np.minimum(sizes, most).sum()
    assert not left(folder)


@pytest.mark.parametrize(
    "ids", [pa.array([1, 1, 2], pa.int64()), pa.array([1.5, 1.5, 2]), pa.array([7, 7, 8], pa.date32())]
)
def test_ids_of_other_types_on_disk(ids):
    table = pa.table({"who": ids, "a": [0, 0, 0], "unit": [0, 0, 0]})
    assert kept(table, 1, 0, chunk=1) == [(0, 0)] * 2


def test_types_that_change_on_the_way_are_an_error(folder):
    one = pa.table({"who": ["u"] * 5, "a": [0] * 5, "unit": [0] * 5})
    two = one.set_column(0, "who", pa.array([1] * 5))
    for at, part in enumerate((one, two)):
        pa.parquet.write_table(part, folder / f"{at}.parquet")
    for memory in (0, 1 << 30):
        failures = Failures()
        batches = read(open_source("*.parquet", folder), BOOK, ("a",), failures, unit_column="who")
        with pytest.raises(DataError, match="different types in different files") as caught:
            list(bound_units(batches, 1, failures, KEY, memory))
        assert caught.value.__context__ is None
    assert not left(folder)


def test_only_the_owner_can_enter_and_files_have_no_name(folder):
    with private_folder() as inside:
        (path,) = left(folder)
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        with inside.new_file() as file, inside.new_file():
            file.write(b"secret")
            assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
            assert not list(path.iterdir()), "a file that has no name cannot outlive its process"
        remove_orphans()
        assert path.exists(), "a folder in use is no orphan"
    assert not left(folder)


def test_an_error_leaves_nothing(folder, monkeypatch):
    monkeypatch.setattr("margrave.measure.units.SPILL_BYTES", 0)
    table = people()
    assert count_margins(open_source(table), BOOK, [()], unit_column="who", max_records=3000)[()] == table.num_rows

    def stop(done, total):
        assert left(folder) or done < 200
        if done > 1000:
            raise KeyboardInterrupt

    batched = pa.Table.from_batches(table.to_batches(max_chunksize=50))
    with pytest.raises(KeyboardInterrupt):
        count_margins(open_source(batched), BOOK, [()], unit_column="who", max_records=1, progress=stop)
    assert not left(folder)
    bad = table.set_column(1, "a", pa.array([99] * table.num_rows))
    with pytest.raises(DataError, match="whole number from 0 to 30"):
        count_margins(open_source(bad), BOOK, [("a",)], unit_column="who", max_records=1)
    assert not left(folder)


def test_a_disk_that_is_full_is_an_error_without_values(folder, monkeypatch):
    def full(*_):
        raise OSError("no space left for person 17")

    monkeypatch.setattr("margrave.measure.units._write", full)
    with pytest.raises(DataError, match="set TMPDIR") as caught:
        kept(people(), 1, 0)
    assert caught.value.__context__ is None and "17" not in str(caught.value)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "absent"))
    with pytest.raises(DataError, match="no temporary folder can be made"):
        kept(people(), 1, 0)


def test_orphans_of_this_user_are_removed_and_nothing_else(folder):
    orphan = folder / f"{PREFIX}dead"
    orphan.mkdir(mode=0o700)
    (orphan / "0").write_bytes(b"secret")
    other = folder / "margrave-other"
    other.mkdir()
    link = folder / f"{PREFIX}link"
    link.symlink_to(other)
    count_margins(open_source(people(10)), BOOK, [()])
    assert not orphan.exists() and other.exists() and link.is_symlink()


PROGRAM = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore these
signal.signal(signal.SIGINT, signal.default_int_handler)
import sys, time
from tests.measure.test_spill import BOOK, people
from margrave.measure import units
from margrave.measure.engines.count import count_margins
from margrave.measure.sources.sources import open_source
import pyarrow as pa

units.SPILL_BYTES = 0
data = pa.Table.from_batches(people().to_batches(max_chunksize=50))

def step(done, total):
    if done > 1000:
        print("spilled", flush=True)
        time.sleep(60)

count_margins(open_source(data), BOOK, [()], unit_column="who", max_records=1, progress=step)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_signals(folder, number):
    root = Path(__file__).parents[2]
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(root)}
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "spilled\n"
    (path,) = left(folder)
    child.send_signal(number)
    _, complaint = child.communicate(timeout=30)
    assert "person" not in complaint
    assert child.returncode == {signal.SIGTERM: 143, signal.SIGHUP: 129}.get(number, -number)
    if number == signal.SIGKILL:
        assert path.is_dir() and not list(path.iterdir()), "what a killed run leaves is empty"
        count_margins(open_source(people(10)), BOOK, [()])
    assert not left(folder)


def test_a_program_that_handles_sigterm_keeps_its_handler(folder):
    before = signal.getsignal(signal.SIGTERM)
    calls = []
    signal.signal(signal.SIGTERM, lambda *_: calls.append(1))
    try:
        with private_folder():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
        assert calls == [1]
    finally:
        signal.signal(signal.SIGTERM, before)
    with private_folder():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
