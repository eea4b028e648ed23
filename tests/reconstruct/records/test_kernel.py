"""Compiled loops are kept for the next program, and work where they cannot be."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from margrave.reconstruct.records.kernel import _uniform
print(round(float(_uniform(np.array([7], dtype=np.uint64))), 9), sum(_uniform.stats.cache_hits.values()))
"""


def run(**environment):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.slow
def test_what_was_compiled_is_not_compiled_again(tmp_path):
    first, second = (run(NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert (first[1], second[1]) == ("0", "1")
    assert first[0] == second[0]


@pytest.mark.slow
def test_where_nothing_may_be_written_the_loops_are_compiled_each_time():
    """No place is left to numba but one for notebooks, which this is not."""
    number, hits = run(NUMBA_CACHE_LOCATOR_CLASSES="IPythonCacheLocator")
    assert hits == "0" and 0 <= float(number) < 1
