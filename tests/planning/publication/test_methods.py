"""Every declared method has a solver, and a spec can ask for no other."""

import pytest

from margrave.planning.limits import PROGRAM_CELLS, QUICK_CELLS
from margrave.planning.publication.methods import METHODS, SHRUNK, TRIMMED, Chosen, Grounds, choose, grounds_of
from margrave.planning.publication.raises import RAISED
from margrave.reconstruct.nonnegative import choice
from margrave.reconstruct.nonnegative.solvers import SOLVERS
from margrave.spec.choices import NONNEGATIVE
from tests.shapes import domain_of

PATHS = ("entropy", f"entropy{SHRUNK}")
SMALL = Grounds((2, 3), 4)
LARGE = 2 * QUICK_CELLS


def test_every_declared_method_is_solved_and_can_be_asked_for_by_name_or_is_one_that_auto_comes_to():
    assert choice.SOLVERS is SOLVERS and set(METHODS) == set(SOLVERS)
    assert set(NONNEGATIVE) - {"auto", "none", "records", *RAISED} <= set(METHODS)


def test_each_method_says_why_it_does_not_apply():
    large = Grounds((PROGRAM_CELLS + 1,), 4)
    cases = {
        "log-linear": Grounds((2, 3), 4, noisy=False),
        "entropy": Grounds((2, 3), 4, wanted=False),
        "sparse": SMALL,
        "linear-program": large,
        "simple": Grounds((2, 3), 4, zeros=True),
    }
    for name, grounds in cases.items():
        assert METHODS[name].refuses(grounds)
        assert METHODS[name].refuses(Grounds((2, 3), 6)) is None
    assert METHODS["simple"].refuses(Grounds((2, 3), 4, total=True))
    assert METHODS["linear-program"].refuses(Grounds((2, 3), 4, wide=True))
    assert METHODS["least-squares"].refuses(large) is None


@pytest.mark.parametrize(
    ("grounds", "found"),
    [
        (SMALL, Chosen("log-linear", (*PATHS, "least-squares"))),
        (Grounds((2, 3), 4, noisy=False), Chosen("least-squares")),
        (Grounds((2, 3), 6), Chosen("sparse", (f"sparse{TRIMMED}", "least-squares"))),
        (Grounds((2, 3), 6, beyond=True), Chosen("sparse", (f"sparse{TRIMMED}", "least-squares", *PATHS))),
        (Grounds((2,) * 15, 1 << 15, wide=True), Chosen("sparse", (f"sparse{TRIMMED}",))),
        (Grounds((QUICK_CELLS * 2,), QUICK_CELLS * 2), Chosen("sparse", (f"sparse{TRIMMED}",))),
        (
            Grounds((QUICK_CELLS * 2,), QUICK_CELLS * 2, even=True),
            Chosen("sparse", (f"sparse{TRIMMED}", "least-squares")),
        ),
        (Grounds((2, 3), 6, wanted=False), Chosen("least-squares")),
        (Grounds((1 << 13,), 1 << 12), Chosen("entropy", (*PATHS[1:], "least-squares"))),
        (Grounds((1 << 21,), 1 << 12), Chosen("least-squares")),
    ],
)
def test_auto_comes_to_a_method_that_applies(grounds, found):
    assert choose("auto", grounds) == found
    assert METHODS[found.method].refuses(grounds) is None
    assert found.effort(grounds) > 0
    assert choose("simple", grounds) == Chosen("simple")


def test_the_grounds_of_listed_residuals():
    domain = domain_of(2, 3)
    even = {(): 6.0, ("a",): 3.0, ("b",): 2.0, ("a", "b"): 1.0}
    whole = grounds_of(domain, even, [("a", "b")])
    assert (whole.parameters, whole.even, whole.complete, whole.beyond) == (6, True, True, False)
    assert not grounds_of(domain, {**even, ("a",): 1.0}, [("a", "b")]).even
    part = grounds_of(domain, {(): 0.0, ("a",): 1.0}, [("b",)])
    assert (part.parameters, part.total, part.noisy, part.wanted, part.complete) == (2, True, True, False, False)
    assert grounds_of(domain, even, [("a",)]).beyond
    assert not grounds_of(domain, even, [()]).beyond
    assert not grounds_of(domain, {(): 0.0, ("a",): 0.0}, [("a",)]).noisy
