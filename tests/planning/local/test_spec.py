"""The spec of a local collection: what it needs, what it cannot have, and that all problems are told at once."""

from fractions import Fraction

import pytest

from margrave.errors import SpecError, UsageError
from margrave.planning.local.spec import LocalSpec, Shuffler
from margrave.planning.ways.registry import load_spec
from tests.planning.local.shapes import local_spec

TEXT = """
title = "Survey"

[attributes]
smoke = ["no", "yes"]
region = ["north", "south"]

[release]
all = 2

[privacy]
epsilon = 1

[local]
expected_size = 5000
"""


def test_a_local_spec_is_recognised_by_its_section():
    spec = load_spec(TEXT)
    assert isinstance(spec, LocalSpec)
    assert (spec.title, spec.expected_size, spec.epsilon, spec.shuffler) == ("Survey", 5000, 1, None)
    assert spec.margins == (("smoke",), ("region",), ("smoke", "region"))


def test_a_spec_is_read_back_from_what_is_published():
    spec = local_spec(2, 3, shuffler="the post office", delta="1e-8")
    assert spec.shuffler == Shuffler("the post office", Fraction(1, 10**8))
    assert LocalSpec.load(spec.public_dict()) == spec


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("epsilon = 1", "rho = 1", "needs epsilon alone"),
        ("epsilon = 1", "epsilon = 1\ndelta = 1e-9", "needs epsilon alone"),
        ("all = 2", 'all = 2\npublic = [["smoke"]]', "leave public out"),
        ("all = 2", 'all = 2\nsensitive = ["smoke"]', "leave sensitive out"),
        ("all = 2", 'all = 2\nstrategy = "fourier"', "leave strategy out"),
        ("all = 2", 'all = 2\nobjective = "max"', "leave objective out"),
        ("[local]", '[data]\nsource = "people.csv"\n[local]', "nobody holds the data"),
        ("expected_size = 5000", "expected_size = 0", "between 1 and 10"),
        ("expected_size = 5000", "expected_sise = 5000", "did you mean 'expected_size'"),
        ("expected_size = 5000", "expected_size = 5000\ndelta = 1e-9", "leave delta out"),
        ("expected_size = 5000", 'shuffler = "x"', "needs expected_size"),
        ('smoke = ["no", "yes"]\nregion = ["north", "south"]', 'smoke = ["no"]', "nothing to ask"),
    ],
)
def test_what_no_local_collection_can_have_is_refused_with_the_reason(old, new, said):
    text = TEXT.replace(old, new).replace("all = 2", "all = 1" if "nothing to ask" in said else "all = 2")
    with pytest.raises(SpecError, match=said):
        LocalSpec.load(text)


def test_all_problems_are_told_at_once_with_their_lines():
    with pytest.raises(SpecError) as caught:
        LocalSpec.load(TEXT.replace("epsilon = 1", "rho = 1").replace("5000", "-1").replace('"yes"', '"no"'))
    assert len(caught.value.problems) >= 2
    assert all(problem.line for problem in caught.value.problems)


@pytest.mark.parametrize(
    "make", [lambda: Shuffler(""), lambda: Shuffler("x", Fraction(1)), lambda: local_spec(2, size=0)]
)
def test_values_are_checked_when_they_are_made(make):
    with pytest.raises((UsageError, SpecError)):
        make()
