"""All three-way margins of a large Parquet file, beside DuckDB, in one run on generated data.

    python benchmarks/counting.py [--quick] [rows]

The data has 15 categorical columns of 2 to 42 values, as skewed as those of the Adult census file and depending on
each other through 50 kinds of people. Each side is a process of its own, and what is shown is the processor time of
the whole process, user and system, imports included, and its peak memory. DuckDB's formulations are compared at a
tenth of the rows, and all that come within a quarter of the best, so that chance does not decide, are run on all rows.
Every process prints the sum of all squared counts, which must be the same. The whole takes more than ten minutes,
nearly all of it DuckDB's; --quick takes a million rows and the formulation that was best before.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from math import prod
from pathlib import Path

COLUMNS = {
    "age": (15, 0.13),
    "workclass": (9, 0.70),
    "weight": (10, 0.22),
    "education": (16, 0.32),
    "degree": (16, 0.32),
    "marital": (7, 0.46),
    "occupation": (15, 0.13),
    "relationship": (6, 0.40),
    "race": (5, 0.85),
    "sex": (2, 0.67),
    "gain": (5, 0.92),
    "loss": (5, 0.95),
    "hours": (10, 0.47),
    "country": (42, 0.90),
    "income": (2, 0.76),
}
"""For each column the number of its values and the share of the most common one."""

FORMULATIONS = {
    "a GROUP BY for each margin": ("each", 0),
    "GROUPING SETS of 8": ("sets", 8),
    "GROUPING SETS of 16": ("sets", 16),
    "GROUPING SETS of 32": ("sets", 32),
    "one GROUP BY, then sums": ("all", 0),
}
MARGINS = list(combinations(COLUMNS, 3))


def generate(path: Path, rows: int) -> None:
    """Writes the data in row groups of a million."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    laws, typical, order = {}, {}, {}
    for name, (size, share) in COLUMNS.items():
        rest = 1 / np.arange(1, size)
        laws[name] = np.append(share, (1 - share) * rest / rest.sum())
        typical[name] = rng.choice(size, 50, p=laws[name])
        order[name] = rng.permutation(size)
    schema = pa.schema([(name, pa.dictionary(pa.int32(), pa.string())) for name in COLUMNS])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 1 << 20):
            count = min(1 << 20, rows - start)
            kind = rng.integers(0, 50, count)
            arrays = []
            for name, (size, _) in COLUMNS.items():
                own = rng.choice(size, count, p=laws[name])
                codes = order[name][np.where(rng.random(count) < 0.4, typical[name][kind], own)]
                labels = pa.array([f"value {number}" for number in range(size)])
                arrays.append(pa.DictionaryArray.from_arrays(codes.astype(np.int32), labels))
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def margrave(path: str) -> int:
    """The sum of squared counts, by Margrave."""
    from margrave.design.codebook import Categories, Codebook, Entry
    from margrave.measure.count import count_margins
    from margrave.measure.sources import open_source

    entries = [Entry(name, Categories(tuple(f"value {n}" for n in range(size)))) for name, (size, _) in COLUMNS.items()]
    counts = count_margins(open_source(path), Codebook(tuple(entries)), MARGINS)
    return sum(int((table * table).sum()) for table in counts.values())


def duckdb(path: str, how: str, batch: int) -> int:
    """The sum of squared counts, by DuckDB; each margin is fetched as an Arrow table."""
    import duckdb
    import numpy as np

    connection = duckdb.connect()
    source, amount = f"'{path}'", "count(*)"
    queries = [f"select {', '.join(margin)}, {{}} as n from {{}} group by all" for margin in MARGINS]
    if how == "all":
        names = ", ".join(COLUMNS)
        connection.execute(f"create temp table whole as select {names}, count(*) as c from '{path}' group by all")
        source, amount = "whole", "sum(c)::bigint"
    elif how == "sets":
        queries = []
        for start in range(0, len(MARGINS), batch):
            part = MARGINS[start : start + batch]
            names = [name for name in COLUMNS if any(name in margin for margin in part)]
            sets = ", ".join(f"({', '.join(margin)})" for margin in part)
            queries.append(f"select {', '.join(names)}, {{}} as n from {{}} group by grouping sets ({sets})")
    total = 0
    for query in queries:
        stream = connection.sql(query.format(amount, source)).__arrow_c_stream__()
        counts = np.concatenate([np.asarray(part["n"]) for part in _batches(stream)]).astype(np.int64)
        total += int((counts * counts).sum())
    return total


def _batches(stream: object) -> list[object]:
    import pyarrow as pa

    return list(pa.RecordBatchReader._import_from_c_capsule(stream))


def measured(side: str, path: Path, how: str = "", batch: int = 0) -> dict[str, float]:
    """Runs one side in a process of its own."""
    command = [sys.executable, __file__, "--side", side, str(path), how, str(batch)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def side(name: str, path: str, how: str, batch: str) -> None:
    """What the process of one side does and prints."""
    start = time.perf_counter()
    check = margrave(path) if name == "margrave" else duckdb(path, how, int(batch))
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime
    print(json.dumps({"cpu": cpu, "seconds": seconds, "memory": used.ru_maxrss / 1024, "check": check}))


def show(text: str, found: dict[str, float], more: str = "") -> None:
    line = f"{text:<58}{found['cpu']:9.2f} s cpu{found['seconds']:9.2f} s{found['memory']:8.0f} MiB"
    print(f"{line}  {more}", flush=True)


def main(rows: int, formulations: dict[str, tuple[str, int]]) -> None:
    sizes = (rows // 10, rows * 3 // 10, rows)
    cells = sum(prod(COLUMNS[name][0] for name in margin) for margin in MARGINS)
    print(f"{len(MARGINS)} margins of 3 of 15 columns, {cells:,} cells", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        paths = {size: Path(folder) / f"{size}.parquet" for size in sizes}
        for size, path in paths.items():
            # In a process of its own, for a child's peak memory starts from its parent's.
            subprocess.run([sys.executable, __file__, "--generate", str(path), str(size)], check=True)
        ours = {size: measured("margrave", path) for size, path in paths.items()}
        for size, found in ours.items():
            show(f"margrave, {size:,} rows", found, f"{found['cpu'] / size * 1e9:.0f} ns a row")
        few = paths[sizes[0]]
        theirs = {}
        for text, (how, batch) in formulations.items():
            theirs[text] = measured("duckdb", few, how, batch)
            assert theirs[text]["check"] == ours[sizes[0]]["check"], text
            ratio = theirs[text]["cpu"] / ours[sizes[0]]["cpu"]
            show(f"DuckDB, {sizes[0]:,} rows, {text}", theirs[text], f"x {ratio:.1f}")
        limit = 1.25 * min(found["cpu"] for found in theirs.values())
        for text in [text for text, found in theirs.items() if found["cpu"] <= limit]:
            found = measured("duckdb", paths[rows], *formulations[text])
            assert found["check"] == ours[rows]["check"]
            show(f"DuckDB, {rows:,} rows, {text}", found, f"x {found['cpu'] / ours[rows]['cpu']:.1f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        side(*sys.argv[2:])
    elif sys.argv[1:2] == ["--generate"]:
        generate(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        quick = "--quick" in sys.argv[1:]
        sizes = [int(text) for text in sys.argv[1:] if text.isdigit()]
        best = dict(list(FORMULATIONS.items())[:1]) if quick else FORMULATIONS
        main(sizes[0] if sizes else 1_000_000 if quick else 10_000_000, best)
