"""All three-way margins of the counting benchmark on Apache Spark, with two real executor processes on one machine.

    make bench-spark                    # or .venv-spark/bin/python benchmarks/spark.py [rows ...] [--sets]

What is shown is processor time, user and system, of the driver, its JVM, the executors and their Python workers, from a
session that is up (`local-cluster[2,1,1024]`) to the result; once more in the same session, when Java has compiled what
it runs often; and beside it Margrave's own processor time on this machine, that of a process with its imports. Each
result has the same sum of squared counts. `--sets` adds Spark's own GROUPING SETS over the tables that Margrave counts.
With units, both sides choose records by the same key. Last, an executor is killed while it counts.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counting import COLUMNS, MARGINS, PERSON, RECORDS, covering, generate
from machine import header, row

TICKS = os.sysconf("SC_CLK_TCK")
KEY = bytes(range(32))
SETS = 1_000_000
"""Rows up to which Spark's own GROUPING SETS are waited for."""
UNITS = {"unit_column": PERSON, "max_records": RECORDS}


def descendants(root: int) -> list[int]:
    """A process and all that it has started."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for one in found:
        found += parents.get(one, [])
    return found


def processor(root: int) -> float:
    """Seconds of a process and of all that it has started, those that have ended included."""
    total = 0
    for pid in descendants(root):
        try:
            total += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            continue
    return total / TICKS


@contextmanager
def cluster() -> Iterator[Any]:
    """Two executors of one core and a gigabyte each."""
    import pyspark
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": sys.executable}
    settings = {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "spark.io.encryption.enabled": "true",
        "spark.network.crypto.enabled": "true",
        "spark.authenticate": "true",
        "spark.authenticate.secret": os.urandom(16).hex(),
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.range(8).repartition(4).collect()
    try:
        yield session
    finally:
        session.stop()


def squares(source: Any, **units: Any) -> int:
    """The sum of squared counts, by Margrave, wherever the data is."""
    from margrave.measure import units as bounding
    from margrave.measure.engines.count import count_margins
    from margrave.measure.sources.sources import open_source
    from margrave.measure.spark import jobs
    from margrave.spec.codebook import Categories, Codebook, CodebookEntry

    bounding.new_key = jobs.new_key = lambda: KEY
    book = Codebook(
        tuple(
            CodebookEntry(name, Categories(tuple(f"value {n}" for n in range(size))))
            for name, (size, _) in COLUMNS.items()
        )
    )
    counts = count_margins(open_source(source), book, MARGINS, **units)
    return sum(int((table * table).sum()) for table in counts.values())


def grouping_sets(session: Any, path: str) -> int:
    """The number of groups of Margrave's tables, by Spark itself; the groups come to the driver as Arrow."""
    session.read.parquet(path).createOrReplaceTempView("people")
    sets = ", ".join(f"({', '.join(table)})" for table in covering())
    names = ", ".join(COLUMNS)
    found = session.sql(f"select {names}, count(*) as n from people group by grouping sets ({sets})").toArrow()
    session.catalog.dropTempView("people")
    return int(found.num_rows)


def timed(work: Callable[[], int]) -> tuple[float, int]:
    before = processor(os.getpid())
    check = work()
    return processor(os.getpid()) - before, check


def killed_executor(session: Any, path: str) -> int:
    """The same while one executor is killed."""

    def kill() -> None:
        time.sleep(3)
        for pid in descendants(os.getpid()):
            line = Path(f"/proc/{pid}/cmdline")
            if line.exists() and b"CoarseGrainedExecutorBackend" in line.read_bytes():
                os.kill(pid, signal.SIGKILL)
                return

    killer = threading.Thread(target=kill)
    killer.start()
    found = squares(f"spark:parquet:{path}")
    killer.join()
    return found


def here(path: str, how: str) -> dict[str, float]:
    """Margrave on this machine, in a process of its own."""
    command = [sys.executable, __file__, "--here", path, how]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def spark(path: str, sets: bool) -> list[tuple[str, float, int]]:
    """All ways on a cluster."""
    found = []

    def add(text: str, work: Callable[[], int]) -> None:
        found.append((text, *timed(work)))
        print(f"  {text}: {found[-1][1]:.1f} s", file=sys.stderr, flush=True)

    with cluster() as session:
        frame = session.read.parquet(path)
        for again in ("", ", again"):
            add(f"Parquet{again}", lambda: squares(f"spark:parquet:{path}"))
        for again in ("", ", again"):
            add(f"frame{again}", lambda: squares(frame))
        add("Parquet, units", lambda: squares(f"spark:parquet:{path}", **UNITS))
        if sets:
            add("GROUPING SETS", lambda: grouping_sets(session, path))
        add("Parquet, an executor killed", lambda: killed_executor(session, path))
    return found


def main(sizes: list[int], sets: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(header("", "rows", "processor time", "of local"))
        for rows in sizes:
            path = Path(folder) / f"{rows}.parquet"
            generate(path, rows)
            local = {how: here(str(path), how) for how in ("", "units")}
            for how, found in local.items():
                print(row(f"local{', units' if how else ''}", f"{rows:,}", f"{found['cpu']:.2f} s", ""), flush=True)
            command = [sys.executable, __file__, "--spark", str(path), "sets" if sets and rows <= SETS else ""]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            for text, seconds, check in json.loads(output.splitlines()[-1]):
                own = local["units" if "units" in text else ""]
                assert "SETS" in text or check == own["check"], text
                figures = (f"{seconds:.2f} s", f"× {seconds / own['cpu']:.1f}")
                if "killed" in text:  # What the executor has used is gone with it; only the counts are compared.
                    figures = ("the same", "")
                print(row(f"Spark, {text}", f"{rows:,}", *figures), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        check = squares(sys.argv[2], **(UNITS if sys.argv[3] else {}))
        print(json.dumps({"cpu": time.process_time(), "check": check}))
    elif sys.argv[1:2] == ["--spark"]:
        print(json.dumps(spark(sys.argv[2], bool(sys.argv[3]))))
    else:
        given = [int(text) for text in sys.argv[1:] if text.isdigit()]
        main(given or [1_000_000, 3_000_000, 20_000_000], "--sets" in sys.argv[1:])
