"""What a plan predicts of memory, against a release of it in a process of its own. Time is left to benchmarks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from margrave.budget.units import ZCDP
from margrave.planning.forecast.prediction import reading_seconds, record_seconds
from margrave.planning.planner import make_plan
from margrave.spec.choices import Nonnegative
from margrave.spec.codebook import Codebook, CodebookEntry, Range
from margrave.spec.sections import DataSection, Unit
from margrave.spec.spec import Spec

pytestmark = pytest.mark.slow

SCRIPT = """
import json, os, resource, sys
import numpy as np, pyarrow as pa
import margrave as mg
from tests.planning.forecast.test_predictions import spec
number, size, ways, method, records = sys.argv[1:]
plan = mg.plan(spec(int(number), int(size), int(ways), method))
rng = np.random.default_rng(1)
data = pa.table({name: rng.integers(0, int(size), int(records)) for name in plan.spec.domain.names})
out = mg.release(plan, data)
out.prepare()
for margin in plan.spec.margins:
    out.unbiased(margin)
# The high-water mark of this program alone: ru_maxrss also remembers the process that started it.
status = open("/proc/self/status").read() if os.path.exists("/proc/self/status") else ""
marks = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
peak = (marks or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])[0] * 1024
print(json.dumps({"predicted": plan.memory, "measured": peak}))
"""


def spec(number: int, size: int, ways: int, method: Nonnegative = "auto") -> Spec:
    entries = tuple(CodebookEntry(f"a{index}", Range(0, size - 1)) for index in range(number))
    return Spec(Codebook(entries), ZCDP(Fraction(1, 10)), all_ways=ways, nonnegative=method)


@pytest.mark.parametrize(
    "shape",
    [
        ("20", "10", "3", "none", "2000"),
        ("30", "10", "3", "none", "2000"),
        ("60", "10", "2", "none", "2000"),
        ("12", "2", "2", "least-squares", "2000"),
        ("8", "5", "2", "records", "300"),
    ],
    ids=["20 attributes", "30 attributes", "60 attributes", "a full table of 4096 cells", "records"],
)
def test_memory_is_predicted_within_a_factor_of_two(shape: tuple[str, ...]) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, *shape]
    found = json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    memory, peak = found["predicted"], found["measured"]
    assert peak / 2 < memory < 2 * peak


def test_counting_is_predicted_from_the_tables_that_are_counted() -> None:
    pairs, triples = make_plan(spec(60, 10, 2, "none")), make_plan(spec(20, 10, 3, "none"))
    for plan in (pairs, triples):
        held = [set(table) for table in plan.covering]
        assert all(any(set(margin) <= table for table in held) for margin in plan.spec.margins)
    assert reading_seconds(pairs, 2000) == pytest.approx(2 * reading_seconds(pairs, 1000))
    bounded = make_plan(replace(spec(60, 10, 2, "none"), data=DataSection(unit=Unit("who", 3))))
    assert bounded.memory > pairs.memory + (100 << 20)
    assert reading_seconds(bounded, 10**6) > reading_seconds(pairs, 10**6) + 0.1


def test_all_triples_of_forty_attributes_fit_in_a_small_machine() -> None:
    forty = make_plan(spec(40, 10, 3))
    assert forty.publishing.cells == 0
    assert forty.memory < 1 << 30


def test_the_full_table_counts_only_where_there_is_one() -> None:
    held, none = make_plan(spec(10, 4, 2, "least-squares")), make_plan(spec(10, 4, 2, "none"))
    assert (held.publishing.cells, none.publishing.cells) == (4**10, 0)
    assert held.memory > none.memory + 8 * 4**10
    assert held.seconds > none.seconds


def test_records_are_predicted_where_the_full_table_is_too_large() -> None:
    small, large, wide = make_plan(spec(5, 10, 2)), make_plan(spec(6, 10, 2)), make_plan(spec(40, 10, 3))
    assert [plan.publishing.records for plan in (small, large, wide)] == [False, True, False]
    assert make_plan(spec(3, 2, 2, "records")).publishing.records
    assert large.memory > make_plan(spec(6, 10, 2, "none")).memory + (100 << 20)


def test_the_time_of_fitting_records_does_not_grow_faster_than_the_records() -> None:
    plan = make_plan(spec(20, 10, 2))
    times = [record_seconds(plan, 10**power, simulated=False) for power in range(3, 7)]
    # In the middle more records take fewer sweeps, and so the same time.
    assert all(0.95 * before < after < 12 * before for before, after in pairwise(times))
    assert times[-1] > 4 * times[-2] and times[1] > 1.5 * times[0]
