"""Runs that are ended from outside, while they wait on disk or write: real signals to real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import margrave as mg
from margrave.files.writing import PREFIX as UNFINISHED
from margrave.measure.engines.spill import PREFIX as SPILLED

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems know them")

ROOT = Path(__file__).parents[1]
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL]
SPEC = {
    "data": {"unit": {"column": "who", "max_records": 2}},
    "attributes": {f"a{place}": {"range": [0, 9]} for place in range(12)},
    "release": {"all": 3, "nonnegative": "none"},
    "privacy": {"rho": "0.1"},
}
PROGRAM = """
import signal
# Whoever runs the tests may ignore these, and the programs that are started then do, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
import sys
import margrave as mg
from margrave.measure import units
from margrave.measure.sources import batches
from margrave.publish.bundle.parts import layout
from tests.test_killed import SPEC

# Little is held in memory, and files are small, so that there is much to be killed in.
units.SPILL_BYTES, batches.ROWS = 0, 100
layout.MOST_TABLES, layout.PART_ROWS = 0, 1 << 9
mg.release(mg.Spec.from_dict(SPEC), sys.argv[1]).save(sys.argv[2])
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 10, 20_000) for name in SPEC["attributes"]}
    path = tmp_path_factory.mktemp("data") / "people.parquet"
    pa.parquet.write_table(pa.table({"who": rng.integers(0, 9000, 20_000), **columns}), path)
    return path


def killed(number: int, data: Path, out: Path, sign: str) -> int:
    """The exit code of a release that gets a signal as soon as files of a pattern are seen in its folder."""
    here = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "TMPDIR": str(out.parent), "PYTHONPATH": here}
    command = [sys.executable, "-c", PROGRAM, str(data), str(out)]
    child = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    # A folder of the bundle's name only tries whether the name can be used, before anything is opened.
    while not [path for path in out.parent.glob(sign) if path.name != out.name or path.is_file()]:
        assert child.poll() is None and time.monotonic() < deadline, child.communicate()[1]
        time.sleep(0.001)
    child.send_signal(number)
    child.communicate(timeout=60)
    return child.returncode


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_release_that_is_killed_while_records_wait_on_disk(data, tmp_path, number):
    assert killed(number, data, tmp_path / "out", f"{SPILLED}*") != 0
    if number == signal.SIGKILL:
        (left,) = tmp_path.iterdir()
        # A file has a name for a moment, before anything is written to it.
        assert left.name.startswith(SPILLED) and not any(path.stat().st_size for path in left.iterdir())
    else:
        assert names(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number"),
    [*(("out", number) for number in SIGNALS), ("out.zip", signal.SIGTERM), ("out.zip", signal.SIGKILL)],
)
def test_a_release_that_is_killed_while_its_bundle_is_written(data, tmp_path, name, number):
    sign = f"{UNFINISHED}*/{name}" + ("" if name.endswith(".zip") else "/tables/0003.parquet")
    assert killed(number, data, tmp_path / name, sign) != 0
    left = names(tmp_path)
    if number == signal.SIGKILL:
        assert len(left) == 1 and left[0].startswith(UNFINISHED), "half a bundle has no bundle's name"
        mg.release(mg.examples.path("fungus"), seed=1).save(tmp_path / "next")
        assert names(tmp_path) == ["next"], "what was left is gone with the next bundle there"
    else:
        assert left == []
