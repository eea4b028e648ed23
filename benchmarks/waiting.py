"""How long one waits for a command: processor time of whole commands, the start of Python included.

    python benchmarks/waiting.py [runs] [--before SRC]

The least of some runs, since other programs on the machine only make it longer. Modules are compiled in the first run
and loaded in the others, as in a program that is installed, also where Python is told to write no bytecode.
``--before``: the folder ``src`` of
another state of the program (``git worktree add ../before COMMIT``), measured in turns with this one. The bundled
examples are planned, released with error bars, shown and verified. *Adult* has as many attributes and values as
eleven attributes of the Adult census file, and all its tables of up to two are wanted. *Little noise* is a release of
four attributes of 2 to 5 values, 4,000 records, at ε = 10⁶.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import margrave as mg
from machine import header, row

HERE = Path(mg.__file__).parents[1]
ADULT = (16, 32, 9, 7, 15, 6, 5, 2, 32, 42, 2)
RECORDS = 4_000


def commands(folder: Path) -> Mapping[str, list[str]]:
    """The commands to wait for, by what they are called; those on bundles come after the release that makes them."""
    found = {}
    specs = {name: str(mg.examples.path(name)) for name in mg.examples.names()}
    for name, spec in specs.items():
        found[f"`plan`, {name}"] = ["plan", spec]
    found["`plan`, Adult"] = ["plan", str(write(folder / "adult.toml", ADULT, 1))]
    for name, spec in specs.items():
        found[f"`release --out`, {name}"] = ["release", spec, "--out", str(folder / name)]
    little = write(folder / "little.toml", (2, 3, 4, 5), 10**6)
    found["`release --out`, little noise"] = ["release", str(little), "--out", str(folder / "little")]
    for verb in ("show", "verify"):
        for name in specs:
            found[f"`{verb}`, {name}"] = [verb, str(folder / name)]
    return found


def write(path: Path, sizes: tuple[int, ...], epsilon: int) -> Path:
    """A spec of all tables of up to two attributes, and a file of records beside it."""
    random = np.random.default_rng(1)
    columns = [random.integers(0, size, RECORDS) * random.integers(0, 2, RECORDS) for size in sizes]
    names = [f"a{place}" for place in range(len(sizes))]
    data = path.with_suffix(".csv")
    np.savetxt(data, np.stack(columns, axis=1), fmt="%d", delimiter=",", header=",".join(names), comments="")
    attributes = "\n".join(f"{name} = {{ range = [0, {size - 1}] }}" for name, size in zip(names, sizes, strict=True))
    head = f'[data]\nsource = "{data.name}"\nconfidential = false\n\n[attributes]\n{attributes}\n'
    path.write_text(f"{head}\n[release]\nall = 2\n\n[privacy]\nepsilon = {epsilon}\n", encoding="utf-8")
    return path


def seconds(source: Path, command: list[str]) -> float:
    """Processor time of a command of the program in ``source``, its children included."""
    if "--out" in command:
        shutil.rmtree(command[-1], ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}
    run = [sys.executable, "-m", "margrave", *command]
    subprocess.run(run, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(runs: int, sources: Mapping[str, Path]) -> None:
    print(header("command", *sources))
    with tempfile.TemporaryDirectory() as inside:
        for name, command in commands(Path(inside)).items():
            found: dict[str, list[float]] = {label: [] for label in sources}
            for _ in range(runs):
                for label, source in sources.items():
                    found[label].append(seconds(source, command))
            print(row(name, *(f"{min(times):.2f} s" for times in found.values())), flush=True)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    other = {"before": Path(arguments.pop(arguments.index("--before") + 1))} if "--before" in arguments else {}
    main(next((int(text) for text in arguments if text.isdigit()), 3), {**other, "now": HERE})
