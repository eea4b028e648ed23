"""The privacy boundary: contracts on imports, a reading of the source, and proof that each catches its violation."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "margrave"

CONFIDENTIAL = ("measure/",)
LEDGER_STORES = {"budget/ledger/sqlite.py": {"sqlite3"}, "budget/ledger/postgres.py": {"psycopg"}}
MAY_READ_FILES = ("measure/", "publish/", "design/spec.py", "design/facts/cache.py", "examples/")
READERS = {"duckdb", "polars", "csv", "sqlite3", "adbc_driver_manager", "adbc_driver_postgresql", "psycopg"}
ARROW_READERS = {"csv", "dataset", "feather", "fs", "ipc", "json", "orc", "parquet"}
READING_CALLS = {"open", "read_bytes", "read_text", "read_csv", "read_parquet", "memory_map", "open_csv"}
DYNAMIC = {"__import__", "import_module", "eval", "exec", "compile"}


def problems(path, name):
    """What a module does that its room does not allow."""
    confidential = name.startswith(CONFIDENTIAL)
    reads_files = name.startswith(MAY_READ_FILES)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        line = getattr(node, "lineno", 0)
        for module in imported(node):
            top, _, rest = module.partition(".")
            if top == "importlib" and rest not in ("metadata", "resources"):
                yield f"{name}:{line} imports {module}: dynamic imports are forbidden"
            if top in READERS - LEDGER_STORES.get(name, set()) and not confidential:
                yield f"{name}:{line} imports {module}: only measure/ reads data"
            if top == "pyarrow" and rest.split(".")[0] in ARROW_READERS and not reads_files:
                yield f"{name}:{line} imports {module}: only measure/ and the bundle's reader read files"
            if module == "margrave" and not name.startswith(("cli/", "__init__")):
                yield f"{name}:{line} imports the package as a whole: import the module that is meant"
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in DYNAMIC and not (called == "compile" and isinstance(node.func, ast.Attribute)):
                yield f"{name}:{line} calls {called}: dynamic imports are forbidden"
            if called in READING_CALLS and not reads_files and not is_os_open(node):
                yield f"{name}:{line} calls {called}: only measure/ and the bundle's reader read files"


def is_os_open(node):
    return isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "os"


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if module in ("pyarrow", "importlib"):
            return [f"{module}.{alias.name}" for alias in node.names]
        if module == "margrave":
            inside = {path.stem for path in SOURCE.iterdir()}
            return [f"margrave.{a.name}" if a.name in inside else "margrave" for a in node.names]
        return [module]
    return []


def all_problems(source):
    modules = sorted(source.rglob("*.py"))
    assert len(modules) > 30
    return [text for path in modules for text in problems(path, path.relative_to(source).as_posix())]


def test_no_module_leaves_its_room():
    assert all_problems(SOURCE) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("reconstruct/fit.py", "import importlib"),
        ("reconstruct/fit.py", "sneaky = __import__('margrave.measure.run')"),
        ("publish/release.py", "import duckdb"),
        ("design/plan.py", "import pyarrow.parquet"),
        ("design/plan.py", "from pyarrow import csv"),
        ("score/measures.py", "data = open('secret.csv')"),
        ("score/measures.py", "import pandas; pandas.read_csv('secret.csv')"),
        ("budget/ledger/ledger.py", "import sqlite3"),
        ("budget/events.py", "from pathlib import Path; Path('secret.csv').read_text()"),
        ("algebra/table.py", "import margrave"),
        ("noise/laplace.py", "exec('import margrave.measure')"),
    ],
)
def test_the_reading_of_the_source_catches(module, line, tmp_path):
    copy = copy_of_source(tmp_path)
    seed(copy / module, line)
    assert any(text.startswith(module) for text in all_problems(copy))


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
    assert "3 kept, 0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("algebra/table.py", "import margrave.design.spec"),
        ("publish/release.py", "from margrave.measure import run"),
        ("study/__init__.py", "def later():\n    from margrave.measure.run import count\n    return count"),
        ("cli/commands.py", "import margrave.measure.sources"),
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
