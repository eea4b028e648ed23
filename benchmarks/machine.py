"""The machine and the versions behind the benchmarks, and what they have in common: peak memory, rows of a table.

python benchmarks/machine.py
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "pyarrow", "pandas", "duckdb", "opendp")


def peak() -> int:
    """The most memory that this process has held, in bytes; not that of the process that started it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise SystemExit("this system does not tell the peak memory of a process")


def row(*cells: object) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def header(*names: str) -> str:
    """The first two rows of a table in Markdown; all columns but the first hold numbers."""
    return f"{row(*names)}\n|{'|'.join(['---', *['---:'] * (len(names) - 1)])}|"


def main() -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    print("| | |\n|---|---|")
    print(row("machine", f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB, {platform.system()}"))
    print(row("load", f"{os.getloadavg()[1]:.1f} programs on average over the five minutes before the last run"))
    print(row("Python", platform.python_version()))
    print(row("packages", ", ".join(f"{name} {version(name)}" for name in PACKAGES)))


if __name__ == "__main__":
    main()
