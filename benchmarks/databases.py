"""Counting inside PostgreSQL and DuckDB beside reading the records from there, in one run on generated data.

    python benchmarks/databases.py [rows]

The table has 12 columns: text, whole and exact numbers that are binned, days, and truth values. Wanted are one table of
three attributes, three tables, all 66 pairs, and one table of eight. What is shown is processor time, user and system,
of this process and of the database's server together; what `engine = "auto"` takes is marked. Both count the same.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np

from machine import header, row
from margrave.algebra.cover import cover
from margrave.measure.engines.count import count_margins
from margrave.measure.engines.registry import Counting, RowUnits, engine_for
from margrave.measure.impossible import Patterns
from margrave.measure.sources.sources import open_source
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Range

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.ledger.server import Server

BINS = Bins(tuple(map(Decimal, (0, 1000, 5000, 20_000, 100_000))))
ENTRIES = [
    *(CodebookEntry(f"word{n}", Categories(tuple(f"value {v}" for v in range(4 + n)))) for n in range(4)),
    *(CodebookEntry(f"range{n}", Range(0, 9)) for n in range(3)),
    *(CodebookEntry(f"income{n}", BINS) for n in range(2)),
    CodebookEntry("exact", BINS),
    CodebookEntry("born", Bins((date(1900, 1, 1), date(1950, 1, 1), date(2000, 1, 1), date(2030, 1, 1)))),
    CodebookEntry("yes", Categories(("true", "false"), boolean=True)),
]
BOOK = Codebook(tuple(ENTRIES))
NAMES = BOOK.domain.names
WANTED = {
    "one table of three": [NAMES[:3]],
    "three tables of two": [NAMES[0:2], NAMES[4:6], NAMES[7:9]],
    "one table of eight": [NAMES[:3] + NAMES[7:]],
    "all pairs": list(combinations(NAMES, 2)),
}
TYPES = ["text", "text", "text", "text", "smallint", "smallint", "int", "bigint", "int", "numeric", "date", "boolean"]


def generate(path: Path, rows: int) -> None:
    """The records as text, and as a DuckDB file."""
    columns = [f"'value ' || (random() * {3 + n})::int AS word{n}" for n in range(4)]
    columns += [f"(random() * 9)::int AS range{n}" for n in range(3)]
    columns += [f"(random() * 100000)::int AS income{n}" for n in range(2)]
    columns += ["(random() * 100000)::decimal(9, 2) AS exact", "DATE '1920-01-01' + (random() * 36000)::int AS born"]
    columns += ["random() < 0.5 AS yes"]
    with duckdb.connect(str(path)) as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(f"CREATE TABLE people AS SELECT {', '.join(columns)} FROM range({rows})")
        connection.execute(f"COPY people TO '{path.with_suffix('.csv')}' (HEADER false)")


def processor(pids: list[int]) -> float:
    """Seconds of this process, and of others with the children that they have waited for."""
    ticks = 0
    for pid in pids:
        ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15]))
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def postgres(path: Path) -> Iterator[tuple[str, list[int]]]:
    """The records in a server of our own: its URL, and its processes."""
    server = Server()
    try:
        url = server.new_schema("people")
        with server.connect() as connection:
            connection.execute("SET search_path TO people")
            types = ", ".join(f"{name} {kind}" for name, kind in zip(NAMES, TYPES, strict=True))
            connection.execute(f"CREATE TABLE people ({types})")
            with connection.cursor() as cursor, cursor.copy("COPY people FROM stdin (FORMAT csv)") as into:
                into.write(path.with_suffix(".csv").read_bytes())
            connection.execute("ANALYZE people")
            pid = connection.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'").fetchone()[
                0
            ]
        parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        yield f"{url}{'&' if '?' in url else '?'}table=people", [parent]
    finally:
        server.stop()


def chosen(source: object, wanted: list[tuple[str, ...]]) -> str:
    names = BOOK.domain.margin({name for margin in wanted for name in margin})
    tables = cover(BOOK.domain, wanted)
    counting = Counting(BOOK, tables, (), names, RowUnits(None, None, None), Patterns(BOOK.domain, ()))
    return engine_for(source, counting).name


def compare(name: str, url: str, pids: list[int], rows: int) -> None:
    for title, wanted in WANTED.items():
        taken = chosen(open_source(url), wanted)
        seconds, found = {}, {}
        for engine in ("local", "sql"):
            before = processor(pids)
            found[engine] = count_margins(open_source(url), BOOK, wanted, engine=engine)
            time.sleep(0.3)  # a backend's time is its server's once it has ended
            seconds[engine] = processor(pids) - before
        assert all(np.array_equal(found["sql"][margin], found["local"][margin]) for margin in wanted)
        auto = seconds[taken] / min(seconds.values())
        print(
            row(
                f"{name}, {title}",
                *(f"{1e6 * seconds[one] / rows:.2f}" for one in ("local", "sql")),
                taken,
                f"{auto:.2f}",
            ),
            flush=True,
        )


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(header("wanted", "records read, µs a row", "counted inside", "auto takes", "of the better"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.duckdb"
        generate(path, rows)
        compare("DuckDB", f"{path}?table=people", [], rows)
        with postgres(path) as (url, pids):
            compare("PostgreSQL", url, pids, rows)


if __name__ == "__main__":
    main()
