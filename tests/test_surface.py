"""The public surface, pinned: a change here is a change for every user."""

import subprocess
import sys

import pytest

import margrave as mg

PUBLIC = [
    "DataSpec",
    "GraphSpec",
    "Ledger",
    "Plan",
    "Release",
    "Session",
    "SigningKey",
    "Spec",
    "Target",
    "col",
    "count",
    "draft",
    "errors",
    "examples",
    "infer",
    "open_data",
    "plan",
    "plan_for",
    "plan_graph",
    "public",
    "release",
    "release_graph",
    "sweep",
    "when",
]


def test_public_names():
    assert sorted(mg.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(mg, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        mg.nonsense  # noqa: B018


def test_import_and_help_load_nothing_heavy():
    program = (
        "import sys, margrave.cli;"
        "heavy = {'numpy', 'numba', 'pandas', 'pyarrow', 'scipy', 'dp_accounting', 'rich.console'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_plans_load_nothing_that_reads_data():
    program = (
        "import sys, margrave as mg;"
        "mg.plan(mg.examples.path('journey'));"
        "reading = ('margrave.measure', 'pandas', 'pyarrow', 'numba');"
        "print(sorted(name for name in sys.modules if name.startswith(reading)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
