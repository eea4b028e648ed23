"""The public surface, pinned: a change here is a change for every user."""

import subprocess
import sys
from importlib import import_module
from operator import attrgetter

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
    "connect",
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


SHOWN = {
    "margrave": "Ledger.open Release.load SigningKey.load Spec.from_dict Spec.load Spec.parse Target count "
    "errors.VerificationError examples.names examples.path infer plan plan_for plan_graph release release_graph sweep",
    "margrave.algebra.domain": "Attribute Domain",
    "margrave.algebra.query": "Query",
    "margrave.algebra.table": "Table",
    "margrave.errors": "RefusedError SpecError",
    "margrave.facts.bounds": "bounds_from_facts",
    "margrave.facts.facts": "Facts",
    "margrave.facts.price": "query_sensitivity",
    "margrave.facts.sensitivity": "induced_sensitivity",
    "margrave.models.loglinear": "fit",
    "margrave.models.model": "Model",
    "margrave.noise": "DiscreteGaussian DiscreteLaplace Generator safe_tail",
    "margrave.planning.effect": "price_factor",
    "margrave.publish.verification.verify": "verify",
    "margrave.study.attack": "averaging",
    "margrave.study.evaluate": "Comparison evaluate",
}
"""What README and the pages have shown to users, by the module that it is imported from."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("module", SHOWN)
def test_what_the_pages_have_shown_is_still_there(module):
    for name in SHOWN[module].split():
        assert callable(attrgetter(name)(import_module(module))), name
