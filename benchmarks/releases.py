"""A whole release from a Parquet file, step by step, beside what was predicted of it.

    python benchmarks/releases.py [--folder FOLDER] [most attributes]

The records are generated: up to 100 attributes with ten values each, skewed and depending on each other, and a column
that says whose each record is. All tables of up to two or three attributes are released, unbiased, under ρ-zCDP; in
the last release at most three records of each person count, and they wait on disk to be chosen. Each
release is a process of its own, and a step's time is the processor time that it adds. `fit` rebuilds all tables once;
writing does it again. Predicted is what `margrave plan` says: the time to count, add noise and fit, and the peak of
memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import header, peak, row

PERSON = "person"
RELEASES = ((100, 2, 1_000_000, False), (100, 3, 100_000, False), (15, 3, 3_000_000, True))
"""Attributes, how many of them a table has at most, records, and whether the records of one person are bounded."""


def generate(path: Path, rows: int, attributes: int) -> None:
    """Writes the records in row groups of 2**18."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    law = 1 / np.arange(1, 11)
    law /= law.sum()
    schema = pa.schema([*((f"a{place}", pa.int8()) for place in range(attributes)), (PERSON, pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 1 << 18):
            count = min(1 << 18, rows - start)
            kind = rng.choice(10, count, p=law)
            columns = []
            for place in range(attributes):
                own = rng.choice(10, count, p=law)
                columns.append(np.where(rng.random(count) < 0.3, (kind + place) % 10, own).astype(np.int8))
            columns.append(rng.integers(0, rows // 3, count))
            writer.write_table(pa.table(columns, schema=schema))


def one(path: str, attributes: int, ways: int, rows: int, bounded: int) -> dict[str, Any]:
    """Processor time of each step of a release, and its peak memory, beside the predictions."""
    import margrave as mg
    from margrave.measure import run
    from margrave.planning.forecast.prediction import reading_seconds

    marks = {"start": time.process_time()}
    names = {f"a{place}": {"range": [0, 9]} for place in range(attributes)}
    spec = {
        "data": {"unit": {"column": PERSON, "max_records": 3}} if bounded else {},
        "attributes": names,
        "release": {"all": ways, "nonnegative": "none"},
        "privacy": {"rho": "0.1"},
    }
    plan = mg.plan(mg.Spec.from_dict(spec))
    predicted = {"seconds": plan.seconds + reading_seconds(plan, rows), "memory": plan.memory}
    marks["plan"] = time.process_time()
    count = run.count_margins

    def counted(*arguments: Any, **options: Any) -> Any:
        found = count(*arguments, **options)
        marks["count"] = time.process_time()
        return found

    run.count_margins = counted
    out = mg.release(plan, path)
    marks["noise"] = time.process_time()
    for margin in plan.spec.margins:
        out.numbers(margin)
    marks["fit"] = time.process_time()
    out.save(f"{path}.bundle")
    marks["write"] = time.process_time()
    ends = list(marks.values())
    steps = {name: end - begin for name, begin, end in zip([*marks][1:], ends, ends[1:], strict=False)}
    return {"tables": len(plan.spec.margins), "steps": steps, "peak": peak(), **predicted}


def main(most: int, folder: Path) -> None:
    steps = ("plan", "count", "noise", "fit", "write")
    print(header("release", *steps, "peak memory", "time predicted", "ratio", "memory predicted", "ratio"))
    for attributes, ways, rows, bounded in RELEASES:
        with tempfile.TemporaryDirectory(dir=folder) as inside:
            path = str(Path(inside) / "records.parquet")
            what = [path, *map(str, (min(attributes, most), ways, rows, int(bounded)))]
            subprocess.run([sys.executable, __file__, "--generate", *what], check=True)
            command = [sys.executable, __file__, "--one", *what]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        used = sum(found["steps"][name] for name in ("count", "noise", "fit"))
        times = [f"{found['steps'][name]:.1f} s" for name in steps]
        predicted = (f"{found['seconds']:.1f} s", f"{found['seconds'] / used:.2f}")
        memory = (f"{found['memory'] / 2**20:.0f} MiB", f"{found['memory'] / found['peak']:.2f}")
        text = f"{found['tables']:,} tables of up to {ways} out of {what[1]} attributes, {rows:,} records"
        text += ", at most 3 a person" if bounded else ""
        print(row(text, *times, f"{found['peak'] / 2**20:.0f} MiB", *predicted, *memory), flush=True)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--generate"]:
        generate(Path(arguments[1]), int(arguments[4]), int(arguments[2]))
    elif arguments[:1] == ["--one"]:
        print(json.dumps(one(arguments[1], *map(int, arguments[2:]))))
    else:
        where = Path(arguments[1]) if arguments[:1] == ["--folder"] else Path(tempfile.gettempdir())
        main(*([int(text) for text in arguments if text.isdigit()] or [100]), where)
