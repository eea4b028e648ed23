"""How time and memory grow with rows and with cells, from the two benchmarks that measure them.

    python benchmarks/growth.py [--write]

Prints a line for each size. With --write the numbers go to docs/images/growth.json, from which docs/images/growth.py
draws the plots.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE.parent / "docs" / "images" / "growth.json"
ROWS = (1_000_000, 3_000_000, 10_000_000)
ATTRIBUTES = (10, 20, 50, 100)


def _run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(HERE / script), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def by_rows(rows: int) -> dict[str, float]:
    """Counting all three-way margins of 15 columns, as in counting.py."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "rows.parquet"))
        _run("counting.py", "--generate", path, str(rows))
        found = json.loads(_run("counting.py", "--side", "margrave", path, "", "0"))
    return {"size": rows, "seconds": round(found["cpu"], 2), "gib": round(found["memory"] / 1024, 3)}


def by_cells(attributes: int) -> dict[str, float]:
    """Plan, noise and fit of all tables of up to three attributes, as in margins.py."""
    found = json.loads(_run("margins.py", "--one", str(attributes)))
    seconds = found["plan"] + found["noise"] + found["fit"]
    return {"size": int(found["cells"]), "seconds": round(seconds, 2), "gib": round(found["peak_gib"], 3)}


def main() -> None:
    found: dict[str, list[dict[str, float]]] = {"rows": [], "cells": []}
    for name, measure, sizes in (("rows", by_rows, ROWS), ("cells", by_cells, ATTRIBUTES)):
        for size in sizes:
            row = measure(size)
            found[name].append(row)
            print(f"{row['size']:>12,} {name:<6}{row['seconds']:9.2f} s cpu {row['gib']:8.3f} GiB", flush=True)
    if "--write" in sys.argv[1:]:
        TARGET.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
