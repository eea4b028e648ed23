"""Plan, noise and fit of all tables of up to three attributes out of d, each with ten values, under ρ-zCDP.

Each size runs in a process of its own, so that its peak memory is its own. Of sizes that take a moment, the median of
five processes is shown.
Run with: python benchmarks/margins.py [d ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from fractions import Fraction

from machine import header, peak, row
from margrave.budget.units import ZCDP
from margrave.crossing import Answer, Measured
from margrave.noise import Generator, sample_many
from margrave.planning.planner import make_plan
from margrave.publish.release import Release
from margrave.spec.codebook import Codebook, CodebookEntry, Range
from margrave.spec.spec import Spec

MOMENT = 20
"""Attributes that take a moment."""


def one(attributes: int) -> dict[str, float]:
    """CPU seconds of each step, cells rebuilt, and peak memory."""
    entries = tuple(CodebookEntry(f"a{i}", Range(0, 9)) for i in range(attributes))
    spec = Spec(Codebook(entries), ZCDP(Fraction(1, 10)), all_ways=3)
    start = time.process_time()
    plan = make_plan(spec)
    planned = time.process_time()
    requests = [(one.noise, one.query.outputs(plan.domain)) for one in plan.measurements]
    answers: dict[int, Answer] = {}
    for number, noise in sample_many(requests, Generator.system()):
        measurement = plan.measurements[number]
        answers[number] = Answer(measurement, noise.reshape(measurement.query.shape(plan.domain)))
    noisy = time.process_time()
    out = Release(plan, Measured(tuple(answers[number] for number in range(len(answers))), {}, private=True))
    cells = sum(out.unbiased(margin).size for margin in spec.margins)
    done = time.process_time()
    return {
        "attributes": attributes,
        "margins": len(spec.margins),
        "cells": cells,
        "plan": planned - start,
        "noise": noisy - planned,
        "fit": done - noisy,
        "microseconds_per_cell": (done - start) / cells * 1e6,
        "peak": peak() / 2**30,
    }


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        print(json.dumps(one(int(sys.argv[2]))))
        return
    sizes = [int(text) for text in sys.argv[1:]] or [10, 20, 50, 100]
    print(header("attributes", "tables", "cells", "plan", "noise", "fit", "µs a cell", "peak memory"))
    for attributes in sizes:
        command = [sys.executable, __file__, "--one", str(attributes)]
        runs = [
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(5 if attributes <= MOMENT else 1)
        ]
        found = sorted(runs, key=lambda run: run["microseconds_per_cell"])[len(runs) // 2]
        sizes_of = [f"{found[name]:,}" for name in ("attributes", "margins", "cells")]
        times = [f"{found[name]:.2f} s" for name in ("plan", "noise", "fit")]
        each = f"{found['microseconds_per_cell']:.3f}"
        print(row(*sizes_of, *times, each, f"{found['peak']:.2f} GiB"), flush=True)


if __name__ == "__main__":
    main()
