"""All three-way margins of a large Parquet file, beside DuckDB, in one run on generated data.

    python benchmarks/counting.py [--quick] [rows]

The data has 15 categorical columns of 2 to 42 values, as skewed as those of the Adult census file and depending on
each other through 50 kinds of people, and a column that says whose each record is. Each side is a process of its own,
and what is shown is the processor time of the whole process, user and system, imports included, and its peak memory.
DuckDB's formulations are compared at a tenth of the rows, and all that come within a quarter of the best, so that
chance does not decide, are run on all rows. Beside them stands DuckDB with the tables that Margrave counts to sum all
others from. Margrave counts all rows before and after DuckDB; ratios are to the slower. Every process gives the sum of
all squared counts, which must be the same. --quick takes a million rows and the formulation that was best before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from math import prod
from pathlib import Path
from statistics import linear_regression
from typing import Any

from machine import header, peak, row

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
PERSON, RECORDS = "person", 3
"""The column of owners, each of whom has so many records on average; at most so many are counted."""

FORMULATIONS = {
    "a GROUP BY for each margin": ("each", "0"),
    "GROUPING SETS of 8 margins": ("sets", "8"),
    "GROUPING SETS of 16 margins": ("sets", "16"),
    "GROUPING SETS of 32 margins": ("sets", "32"),
    "one GROUP BY over all columns, then sums": ("all", "0"),
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
    columns = [(name, pa.dictionary(pa.int32(), pa.string())) for name in COLUMNS]
    schema = pa.schema([*columns, (PERSON, pa.int64())])
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
            arrays.append(pa.array(rng.integers(0, rows // RECORDS, count)))
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def margrave(path: str, **units: Any) -> int:
    """The sum of squared counts, by Margrave."""
    from margrave.measure.engines.count import count_margins
    from margrave.measure.sources.sources import open_source
    from margrave.spec.codebook import Categories, Codebook, CodebookEntry

    entries = [
        CodebookEntry(name, Categories(tuple(f"value {n}" for n in range(size)))) for name, (size, _) in COLUMNS.items()
    ]
    counts = count_margins(open_source(path), Codebook(tuple(entries)), MARGINS, **units)
    return sum(int((table * table).sum()) for table in counts.values())


def covering() -> list[tuple[str, ...]]:
    """The tables that Margrave counts, from which it sums all others."""
    from margrave.algebra.cover import cover
    from margrave.algebra.domain import Attribute, Domain

    sizes = {name: tuple(map(str, range(size))) for name, (size, _) in COLUMNS.items()}
    return list(cover(Domain(tuple(Attribute(name, values) for name, values in sizes.items())), MARGINS))


def duckdb(path: str, how: str, detail: str) -> int:
    """The sum of squared counts, by DuckDB; each margin is fetched as an Arrow table."""
    import duckdb

    connection = duckdb.connect()
    if how == "sets":
        batch = int(detail)
        return sum(_sets(connection, path, MARGINS[start : start + batch]) for start in range(0, len(MARGINS), batch))
    sources = dict.fromkeys(MARGINS, f"'{path}'")
    if how != "each":
        tables = json.loads(detail) if how == "cover" else [list(COLUMNS)]
        for number, table in enumerate(tables):
            grouped = f"select {', '.join(table)}, count(*) as c from '{path}' group by all"
            connection.execute(f"create temp table t{number} as {grouped}")
        sizes = {f"t{number}": prod(COLUMNS[name][0] for name in table) for number, table in enumerate(tables)}
        for margin in MARGINS:
            above = [f"t{number}" for number, table in enumerate(tables) if set(margin) <= set(table)]
            sources[margin] = min(above, key=sizes.__getitem__)
    amount = "count(*)" if how == "each" else "sum(c)::bigint"
    return sum(
        _squares(connection, f"select {', '.join(margin)}, {amount} as n from {source} group by all")
        for margin, source in sources.items()
    )


def _sets(connection: Any, path: str, margins: list[tuple[str, ...]]) -> int:
    names = [name for name in COLUMNS if any(name in margin for margin in margins)]
    sets = ", ".join(f"({', '.join(margin)})" for margin in margins)
    return _squares(
        connection, f"select {', '.join(names)}, count(*) as n from '{path}' group by grouping sets ({sets})"
    )


def _squares(connection: Any, query: str) -> int:
    import numpy as np
    import pyarrow as pa

    batches = pa.RecordBatchReader._import_from_c_capsule(connection.sql(query).__arrow_c_stream__())
    counts = np.concatenate([np.asarray(batch["n"]) for batch in batches]).astype(np.int64)
    return int((counts * counts).sum())


def measured(side: str, path: Path, how: str = "", detail: str = "") -> dict[str, float]:
    """Runs one side in a process of its own."""
    command = [sys.executable, __file__, "--side", side, str(path), how, detail]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def side(name: str, path: str, how: str, detail: str) -> None:
    """What the process of one side does and prints."""
    if name == "duckdb":
        check = duckdb(path, how, detail)
    else:
        check = margrave(path, **({"unit_column": PERSON, "max_records": RECORDS} if how == "units" else {}))
    print(json.dumps({"cpu": time.process_time(), "memory": peak() / 2**20, "check": check}))


def show(text: str, rows: int, found: dict[str, float], ratio: str = "") -> None:
    print(row(text, f"{rows:,}", f"{found['cpu']:.2f} s", f"{found['memory']:.0f} MiB", ratio), flush=True)


def ours(paths: dict[int, Path]) -> dict[int, dict[str, float]]:
    """Margrave, of every size."""
    found = {}
    for size, path in paths.items():
        found[size] = measured("margrave", path)
        show("Margrave", size, found[size])
    return found


def theirs(path: Path, rows: int, formulations: dict[str, tuple[str, str]], own: dict[str, float]) -> dict[str, float]:
    """Processor time of DuckDB by formulation, and how often that of Margrave it is."""
    times = {}
    for text, (how, detail) in formulations.items():
        found = measured("duckdb", path, how, detail)
        assert found["check"] == own["check"], text
        times[text] = found["cpu"]
        show(f"DuckDB, {text}", rows, found, f"× {found['cpu'] / own['cpu']:.1f}")
    return times


def main(rows: int, formulations: dict[str, tuple[str, str]]) -> None:
    sizes = (rows // 10, rows * 3 // 10, rows)
    tables = covering()
    helped = {f"Margrave's {len(tables)} tables, then sums": ("cover", json.dumps(tables))}
    with tempfile.TemporaryDirectory() as folder:
        paths = {size: Path(folder) / f"{size}.parquet" for size in sizes}
        for size, path in paths.items():
            subprocess.run([sys.executable, __file__, "--generate", str(path), str(size)], check=True)
        print(header("", "rows", "processor time", "peak memory", "against Margrave"))
        first = ours(paths)
        few = theirs(paths[sizes[0]], sizes[0], formulations, first[sizes[0]])
        close = {text: formulations[text] for text in few if few[text] <= 1.25 * min(few.values())}
        again = measured("margrave", paths[rows])
        show("Margrave, again", rows, again)
        slower = max(first[rows], again, key=lambda found: found["cpu"])
        many = theirs(paths[rows], rows, close, slower)
        theirs(paths[rows], rows, helped, slower)
        for size in (sizes[0], rows):
            show(f"Margrave, at most {RECORDS} records a person", size, measured("margrave", paths[size], "units"))
    cells = sum(prod(COLUMNS[name][0] for name in margin) for margin in MARGINS)
    slope, start = linear_regression(list(first), [found["cpu"] for found in first.values()])
    away = max(abs(start + slope * size - found["cpu"]) for size, found in first.items())
    print(f"\n{len(MARGINS)} margins, {cells:,} cells, {rows:,} rows: the best of DuckDB's formulations takes ", end="")
    print(f"{min(many.values()) / slower['cpu']:.1f} times the processor time of Margrave.")
    print(f"Margrave's own is {start:.2f} s and {slope * 1e6:.2f} µs for each row; ", end="")
    print(f"the sizes lie within {away:.2f} s of that line.")


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
