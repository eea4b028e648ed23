"""Every benchmark, one after the other: what they print goes into docs/benchmarks.md, and the plots are drawn anew.

    python benchmarks/run.py [--quick]      (make bench)

The page has a place for each benchmark between `<!-- NAME.py -->` and `<!-- end -->`; what has no place there is only
printed. With --quick the long ones run on small sizes, and nothing is written.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
PLOTS = HERE.parent / "docs" / "images" / "growth.py"
QUICK = {
    "counting.py": ["--quick"],
    "margins.py": ["10", "20"],
    "bundles.py": ["20"],
    "predictions.py": ["base table, 4x4x16", "unbiased, 20 of 10"],
}
"""Benchmarks that are run in a quick run, with their arguments there."""
APART = {"run.py", "growth.py", "peers.py"}
"""Not run here: this script; the growth, which follows at the end; and what needs other programs to be installed."""


def run(script: str, *arguments: str) -> str:
    """Runs a benchmark, shows what it prints, and returns it."""
    print(f"\n== {script} ==", flush=True)
    command = [sys.executable, str(HERE / script), *arguments]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        raise SystemExit(f"{script} failed")
    return "".join(lines)


def filled(page: str, script: str, output: str) -> str:
    """The page with the output of a benchmark in its place, if it has one."""
    block = f"<!-- {script} -->\n```text\n{output.rstrip()}\n```\n<!-- end -->"
    return re.sub(rf"<!-- {re.escape(script)} -->\n.*?<!-- end -->", lambda _: block, page, flags=re.DOTALL)


def main(quick: bool) -> None:
    if quick:
        for script, arguments in QUICK.items():
            run(script, *arguments)
        return
    for path in sorted(HERE.glob("*.py")):
        if path.name not in APART:
            output = run(path.name)
            PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), path.name, output), encoding="utf-8")
    run("growth.py", "--write")
    subprocess.run([sys.executable, str(PLOTS)], check=True)


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
