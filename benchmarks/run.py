"""The benchmarks that have a place in the documentation, one after the other, and then the plots.

    python benchmarks/run.py [--quick] [name.py ...]      (make bench)

What a benchmark prints is put between `<!-- NAME.py -->` and `<!-- end -->` on the page of docs/ that has such a place;
the plots are drawn from the tables on the page. Every program runs with one thread for linear algebra. The whole takes
about 25 minutes of processor time, and 3 GiB on disk for a while. With names, only those are run. With --quick they
run on small sizes, and nothing is written.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
SCRIPTS: dict[str, list[str]] = {
    "machine.py": [],
    "counting.py": ["--quick"],
    "databases.py": ["20000"],
    "margins.py": ["10", "20"],
    "releases.py": ["20"],
    "bundles.py": ["20"],
    "predictions.py": ["base table, 4x4x16", "unbiased, 20 of 10"],
    "plans.py": [],
    "waiting.py": ["1"],
    "wide.py": ["20 binary"],
    "noise.py": ["10000"],
    "join.py": ["2000"],
    "questions.py": ["20000"],
    "questions_memory.py": ["20000"],
    "questions_error.py": ["10"],
}
"""What is run, in this order, and the arguments of a quick run."""


def run(script: str, *arguments: str) -> str:
    """Runs a benchmark, shows what it prints, and returns it."""
    print(f"\n== {script} ==", flush=True)
    command = [sys.executable, str(HERE / script), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    lines = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        raise SystemExit(f"{script} failed")
    return "".join(lines)


def filled(page: str, script: str, output: str) -> str:
    """The page with the output of a benchmark in its place, if it has one."""
    block = f"<!-- {script} -->\n\n{output.strip()}\n\n<!-- end -->"
    return re.sub(rf"<!-- {re.escape(script)} -->\n.*?<!-- end -->", lambda _: block, page, flags=re.DOTALL)


def publish(script: str, output: str) -> None:
    """Puts the output into every page that has a place for it."""
    for path in DOCS.glob("*.md"):
        page = path.read_text(encoding="utf-8")
        if filled(page, script, output) != page:
            path.write_text(filled(page, script, output), encoding="utf-8")


def main(names: list[str], quick: bool) -> None:
    for script in names or SCRIPTS:
        output = run(script, *(SCRIPTS[script] if quick else ()))
        if not quick:
            publish(script, output)
    if not quick:
        subprocess.run([sys.executable, str(DOCS / "images" / "growth.py")], check=True)


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if name in SCRIPTS], "--quick" in sys.argv[1:])
