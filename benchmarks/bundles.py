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

STEPS = ("write", "read", "stream", "verify")


def write(place: Path, attributes: int) -> None:
    """A bundle of noise alone."""
    from margrave.budget.units import ZCDP
    from margrave.crossing import Answer, Measured
    from margrave.design.codebook import Codebook, Entry, Range
    from margrave.design.planner import make_plan
    from margrave.design.spec import Spec
    from margrave.noise import Generator, sample_many
    from margrave.publish.release import Release

    entries = tuple(Entry(f"a{i}", Range(0, 9)) for i in range(attributes))
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
    from margrave.publish.verify import verify

    verify(place)


def peak() -> int:
    """The most memory that this process has held, in bytes; not that of the process that started it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise SystemExit("this system does not tell the peak memory of a process")


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
        report = (place / "report.html").stat().st_size
    tables = sum(comb(attributes, ways) for ways in (1, 2, 3))
    cells = sum(comb(attributes, ways) * 10**ways for ways in (1, 2, 3))
    return {
        "attributes": attributes,
        "tables": tables,
        "cells": cells,
        "files": len(files),
        "bytes": size,
        "report": report,
        "steps": steps,
    }


def main(sizes: list[int], folder: Path) -> None:
    for attributes in sizes:
        row = one(attributes, folder)
        print(
            f"d = {attributes}: {row['tables']:,} tables, {row['cells']:,} cells, {row['files']} files, "
            f"{row['bytes'] / 1e6:,.1f} MB, report {row['report'] / 1e3:.0f} kB",
            flush=True,
        )
        for name, found in row["steps"].items():
            each = found["cpu"] / row["cells"] * 1e6
            print(
                f"  {name:8}{found['cpu']:9.2f} s cpu{each:9.3f} µs a cell{found['memory'] / 2**20:9.0f} MiB",
                flush=True,
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
        main([int(text) for text in arguments if text.isdigit()] or [20, 30, 50, 100], where)
