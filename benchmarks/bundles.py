"""Writing, reading and verifying bundles of all tables of up to three attributes out of d, each with ten values.

    python benchmarks/bundles.py [--folder FOLDER] [d ...]

There are no records: noise alone is released, under ρ-zCDP, for no step after measuring depends on the data. Each step
is a process of its own, so that its peak memory is its own: `write` plans, draws the noise and writes the bundle;
`read` loads it and rebuilds a hundred tables; `stream` rebuilds all tables, one after the other; `verify` is what
`margrave verify` does. Processor time is that of the whole process, imports included. The largest, d = 100, takes
1.6 GB on disk in FOLDER (by default the system's place for temporary files).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from math import comb
from pathlib import Path

from machine import header, peak, row

STEPS = ("write", "read", "stream", "verify")


def write(place: Path, attributes: int) -> None:
    """A bundle of noise alone."""
    from margrave.budget.units import ZCDP
    from margrave.crossing import Answer, Measured
    from margrave.noise import Generator, sample_many
    from margrave.planning.planner import make_plan
    from margrave.publish.release import Release
    from margrave.spec.codebook import Codebook, CodebookEntry, Range
    from margrave.spec.spec import Spec

    entries = tuple(CodebookEntry(f"a{i}", Range(0, 9)) for i in range(attributes))
    plan = make_plan(Spec(Codebook(entries), ZCDP(Fraction(1, 10)), all_ways=3, nonnegative="none"))
    requests = [(one.noise, one.query.outputs(plan.domain)) for one in plan.measurements]
    answers: dict[int, Answer] = {}
    for number, noise in sample_many(requests, Generator.system()):
        measurement = plan.measurements[number]
        answers[number] = Answer(measurement, noise.reshape(measurement.query.shape(plan.domain)))
    out = Release(plan, Measured(tuple(answers[number] for number in range(len(answers))), {}, private=True))
    out.save(place)


def read(place: Path, attributes: int) -> None:
    """A hundred tables of a bundle, far apart."""
    from margrave.publish.release import Release

    out = Release.load(place)
    margins = out.plan.spec.margins
    for margin in margins[:: max(1, len(margins) // 100)]:
        out.table(*margin)


def stream(place: Path, attributes: int) -> None:
    """All tables of a bundle."""
    from margrave.publish.release import Release

    out = Release.load(place)
    for margin in out.plan.spec.margins:
        out.numbers(margin)


def verify(place: Path, attributes: int) -> None:
    from margrave.publish.verification.verify import verify

    verify(place)


def step(name: str, place: Path, attributes: int) -> dict[str, float]:
    """Runs one step in a process of its own."""
    command = [sys.executable, __file__, "--step", name, str(place), str(attributes)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def one(attributes: int, folder: Path) -> dict[str, object]:
    """All steps of one size, and the files that were written."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        place = Path(inside) / "bundle"
        steps = {name: step(name, place, attributes) for name in STEPS}
        files = [path for path in place.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
    tables = sum(comb(attributes, ways) for ways in (1, 2, 3))
    cells = sum(comb(attributes, ways) * 10**ways for ways in (1, 2, 3))
    return {
        "attributes": attributes,
        "tables": tables,
        "cells": cells,
        "files": len(files),
        "bytes": size,
        "steps": steps,
    }


def main(sizes: list[int], folder: Path) -> None:
    print(header("attributes", "tables", "cells", "files", "step", "processor time", "µs a cell", "peak memory"))
    for attributes in sizes:
        found = one(attributes, folder)
        files = f"{found['files']} ({found['bytes'] / 1e6:,.0f} MB)"
        for name, used in found["steps"].items():
            each = used["cpu"] / found["cells"] * 1e6
            size = (attributes, f"{found['tables']:,}", f"{found['cells']:,}", files)
            print(
                row(*size, name, f"{used['cpu']:.1f} s", f"{each:.3f}", f"{used['memory'] / 2**20:.0f} MiB"), flush=True
            )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--step"]:
        work: Callable[[Path, int], None] = {"write": write, "read": read, "stream": stream, "verify": verify}[
            arguments[1]
        ]
        work(Path(arguments[2]), int(arguments[3]))
        print(json.dumps({"cpu": time.process_time(), "memory": peak()}))
    else:
        where = Path(arguments[1]) if arguments[:1] == ["--folder"] else Path(tempfile.gettempdir())
        main([int(text) for text in arguments if text.isdigit()] or [20, 50, 100], where)
