"""Plans over wide tables and over very many tables: processor time and memory of a plan with its forecast.

Run with: python benchmarks/wide.py [words of the rows to run]
"""

from __future__ import annotations

import subprocess
import sys
import time
from fractions import Fraction

from machine import header, peak, row
from margrave.budget.units import ZCDP, PureDP
from margrave.planning.planner import make_plan
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted

TWENTY = [range(20)]
CASES: dict[str, tuple[list[int], list[range], int]] = {
    "one table of 20 binary attributes": ([2] * 20, TWENTY, 0),
    "one table of 10 attributes of 4 values": ([4] * 10, [range(10)], 0),
    "one table of 2 attributes of 1,024 values": ([1024] * 2, [range(2)], 0),
    "one table of 14 binary attributes": ([2] * 14, [range(14)], 0),
    "two tables of 18 out of 20 binary attributes": ([2] * 20, [range(18), range(2, 20)], 0),
    "one table of 20 binary attributes, and each of them": ([2] * 20, TWENTY, 1),
    "one table of 20 binary attributes, and all pairs": ([2] * 20, TWENTY, 2),
    "each of 1,000 binary attributes": ([2] * 1_000, [], 1),
    "each of 10,000 binary attributes": ([2] * 10_000, [], 1),
}
NOISES = {"Laplace": PureDP(Fraction(1)), "Gaussian": ZCDP(Fraction(1, 2))}


def measured(name: str, noise: str) -> str:
    """One row, in a process of its own."""
    sizes, tables, ways = CASES[name]
    entries = tuple(CodebookEntry(f"a{i}", Categories(tuple(map(str, range(size))))) for i, size in enumerate(sizes))
    wanted = tuple(Wanted(tuple(f"a{i}" for i in table)) for table in tables)
    spec = Spec(Codebook(entries), NOISES[noise], wanted, all_ways=ways)
    start = time.process_time()
    plan = make_plan(spec)
    assert plan.forecast and plan.memory
    seconds = time.process_time() - start
    memory = peak() / 2**20
    counts = f"{len(plan.measurements):,}"
    return row(name, noise, counts, f"{plan.rmse:.2f}", f"{seconds:.1f} s", f"{memory:.0f} MiB")


def main(words: str) -> None:
    print(header("wanted", "noise", "measurements", "RMSE per cell", "plan and forecast", "peak memory"))
    for name in CASES:
        for noise in NOISES if words in name else ():
            command = [sys.executable, __file__, "--one", name, noise]
            print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(measured(*sys.argv[2:4]))
    else:
        main(" ".join(sys.argv[1:]))
