"""The privacy boundary: contracts on imports, a reading of the source, and proof that each catches its violation."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "margrave"

CONFIDENTIAL = ("measure/",)
NOT_DATA = {f"ledger/stores/{name}.py": {"sqlite3"} for name in ("sqlite", "form")}
NOT_DATA |= {"ledger/stores/postgres.py": {"psycopg"}}
NOT_DATA |= {"planning/graphs/nodes.py": {"csv"}}  # the public list of nodes
NOT_DATA |= {"spec/public.py": {"csv"}}  # counts that are public already
NOT_DATA |= {"publish/drafts/codebooks.py": {"csv"}}  # codebooks that are public
MAY_READ_FILES = ("measure/", "publish/", "files/writing.py", "spec/document.py", "spec/public.py")
MAY_READ_FILES += ("join/folder.py", "join/messages.py")  # what the owners of a join send each other
MAY_READ_FILES += ("local/", "facts/moves/cache.py", "examples/", "messages/", "study/yang2012/journal.py")
MAY_READ_FILES += ("serve/pages/frame.py",)  # the style and the script of pages
MAY_OPEN_DESCRIPTORS = (*MAY_READ_FILES, "ledger/", "cli/app.py", "files/")
MAY_START_PROGRAMS = ("facts/", "join/curve.py")
READERS = {"duckdb", "polars", "csv", "sqlite3", "adbc_driver_manager", "adbc_driver_postgresql", "psycopg"}
READERS |= {"pyreadstat", "pyspark", "python_calamine"}
READERS |= {"fileinput", "linecache", "mmap", "shelve", "dbm"}
ARROW_READERS = {"csv", "dataset", "feather", "fs", "ipc", "json", "orc", "parquet"}
LOADERS = {"pkgutil", "runpy", "imp", "zipimport"}
READING = {"read_bytes", "read_text", "loadtxt", "genfromtxt", "fromfile", "memmap", "memory_map", "open_csv"}
READING |= {"FileIO", "OSFile", "MemoryMappedFile", "input_stream", "DataFile"}
PANDAS_READERS = {f"read_{kind}" for kind in ("csv", "table", "parquet", "json", "excel", "feather", "pickle", "fwf")}
PANDAS_READERS |= {f"read_{kind}" for kind in ("sql", "orc", "hdf", "sas", "spss", "stata", "xml", "html", "clipboard")}
DYNAMIC = {"__import__", "import_module", "eval", "exec", "compile", "__builtins__", "resolve_name"}
PIPELINE = {"plan", "release", "count", "draft", "plan_graph", "release_graph", "members"}
PIPELINE |= {"drafted", "drafted_from_codebook"}
PIPELINE |= {"open_data", "answerer", "ask", "answer_content", "ask_batch", "open_parts", "rehearsal"}
PIPELINE |= {"select_again"}


def problems(source, name):
    """What a module does, or could do through a name that it takes hold of, that its room does not allow."""
    for node in ast.walk(ast.parse(source)):
        line = getattr(node, "lineno", 0)
        for module in imported(node):
            for text in import_problems(module, name):
                yield f"{name}:{line} imports {module}: {text}"
        for text in reference_problems(node, name):
            yield f"{name}:{line} {text}"


def import_problems(module, name):
    top, _, rest = module.partition(".")
    confidential = name.startswith(CONFIDENTIAL)
    if (top == "importlib" and rest not in ("metadata", "resources")) or top in LOADERS:
        yield "dynamic imports are forbidden"
    if top in READERS - NOT_DATA.get(name, set()) and not confidential:
        yield "only measure/ reads data"
    if top == "pyarrow" and rest.split(".")[0] in ARROW_READERS and not name.startswith(MAY_READ_FILES):
        yield "only measure/ and the bundle's reader read files"
    if top == "pyarrow" and rest.split(".")[0] == "csv" and not confidential:
        yield "a bundle is never parsed from CSV"
    if top == "subprocess" and not name.startswith((*CONFIDENTIAL, *MAY_START_PROGRAMS)):
        yield "programs are not started here"
    if module == "margrave" and not name.startswith(("cli/", "__init__")):
        yield "import the module that is meant, not the package as a whole"
    if module.startswith("margrave.pipeline.") and rest.split(".")[1] not in PIPELINE:
        yield "of the pipeline only its steps may be used, not what it imports"


def reference_problems(node, name):
    """References, not only calls: a function can be renamed before it is called."""
    word = (
        node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") if isinstance(node, ast.Name) else ""
    )
    owner = getattr(node.value, "id", "") if isinstance(node, ast.Attribute) else ""
    reads_files = name.startswith(MAY_READ_FILES)
    if word in DYNAMIC and not (word == "compile" and owner == "re"):
        yield f"uses {word}: dynamic imports are forbidden"
    if (owner, word) == ("sys", "modules"):
        yield "uses sys.modules: dynamic imports are forbidden"
    if owner == "pipeline" and word not in PIPELINE:
        yield f"uses pipeline.{word}: of the pipeline only its steps may be used"
    if word in PANDAS_READERS and not name.startswith(CONFIDENTIAL) and owner in ("pd", "pandas", "pl", "polars"):
        yield f"uses {word}: only measure/ reads data"
    opens = (word == "open" and not owner and isinstance(node, ast.Name)) or (owner, word) in (
        ("io", "open"),
        ("np", "load"),
    )
    if (opens or word in READING) and not reads_files:
        yield f"uses {word}: only measure/ and the bundle's reader read files"
    if (owner, word) in (("os", "open"), ("os", "fdopen")) and not name.startswith(MAY_OPEN_DESCRIPTORS):
        yield "opens a file descriptor: only measure/ and the bundle's reader read files"
    if word == "open" and owner not in ("", "os", "Ledger", "Session", "cls") and not reads_files:
        yield "uses open: only measure/ and the bundle's reader read files"


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if module in ("pyarrow", "importlib", "margrave.pipeline"):
            return [f"{module}.{alias.name}" for alias in node.names]
        if module == "margrave":
            inside = {path.stem for path in SOURCE.iterdir()}
            return [f"margrave.{a.name}" if a.name in inside else "margrave" for a in node.names]
        return [module]
    return []


def read(name):
    return (SOURCE / name).read_text(encoding="utf-8")


def test_no_module_leaves_its_room():
    names = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    assert len(names) > 30
    assert [text for name in names for text in problems(read(name), name)] == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("reconstruct/unbiased.py", "import importlib"),
        ("reconstruct/unbiased.py", "sneaky = __import__('margrave.measure.run')"),
        ("publish/release.py", "import duckdb"),
        ("planning/plan.py", "import pyarrow.parquet"),
        ("planning/plan.py", "from pyarrow import csv"),
        ("score/measures.py", "data = open('secret.csv')"),
        ("score/measures.py", "import pandas; pandas.read_csv('secret.csv')"),
        ("ledger/ledger.py", "import sqlite3"),
        ("budget/events.py", "from pathlib import Path; Path('secret.csv').read_text()"),
        ("algebra/table.py", "import margrave"),
        ("score/measures.py", "import pandas as pd; r = pd.read_csv; r('secret.csv')"),
        ("score/measures.py", "import pandas as pd; pd.read_table('secret.csv')"),
        ("score/measures.py", "import numpy as np; np.loadtxt('secret.csv')"),
        ("score/measures.py", "import io; io.FileIO('secret.csv')"),
        ("score/measures.py", "import pyarrow as pa; pa.OSFile('secret.csv')"),
        ("score/measures.py", "import linecache"),
        ("score/measures.py", "import subprocess"),
        ("score/measures.py", "import os; os.open('secret.csv', 0)"),
        ("score/measures.py", "f = __import__; f('margrave.measure')"),
        ("score/measures.py", "import sys; sys.modules['margrave.measure.run']"),
        ("score/measures.py", "import runpy"),
        ("publish/bundle/parts/parts.py", "from pyarrow import csv"),
        ("study/__init__.py", "from margrave.pipeline import run"),
        ("cli/commands.py", "def f():\n    from margrave import pipeline\n    return pipeline.run.count"),
        ("noise/laplace.py", "exec('import margrave.measure')"),
    ],
)
def test_the_reading_of_the_source_catches(module, line):
    assert list(problems(f"{read(module)}\n\n{line}\n", module))


def copy_of_source(folder):
    return Path(shutil.copytree(SOURCE, folder / "margrave", ignore=shutil.ignore_patterns("__pycache__")))


def seed(path, line):
    path.write_text(path.read_text(encoding="utf-8") + f"\n\n{line}\n", encoding="utf-8")


def lint(folder):
    shutil.copy(ROOT / "pyproject.toml", folder)
    program = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command as go; go()"
    command = [sys.executable, "-P", "-c", program, "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_contracts_hold(tmp_path):
    copy_of_source(tmp_path)
    result = lint(tmp_path)
    assert result.returncode == 0, result.stdout
    assert "5 kept, 0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("algebra/table.py", "import margrave.spec.spec"),
        ("publish/release.py", "from margrave.measure import run"),
        ("study/__init__.py", "def later():\n    from margrave.measure.run import count\n    return count"),
        ("cli/commands.py", "import margrave.measure.sources.sources"),
        ("publish/release.py", "import duckdb"),
        ("newroom.py", "x = 1"),
    ],
)
def test_the_contracts_catch(module, line, tmp_path):
    copy = copy_of_source(tmp_path)
    (copy / module).touch()
    seed(copy / module, line)
    result = lint(tmp_path)
    assert result.returncode == 1, result.stdout
    assert "broken" in result.stdout
