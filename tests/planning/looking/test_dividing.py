"""The rest of a budget goes where most is to be gained by it."""

import numpy as np
import pytest

from margrave.planning.looking.candidates import candidates_of
from margrave.planning.looking.dividing import Doubt, divide
from margrave.planning.matrices import within
from tests.shapes import domain_of

DOMAIN = domain_of(4, 5, 6)
PAIRS = (("a", "b"), ("a", "c"), ("b", "c"))
MARGINS = (("a",), ("b",), ("c",), *PAIRS)
OFFERED = candidates_of(DOMAIN, dict.fromkeys(PAIRS, 1.0))


def doubts(**sizes):
    """Residuals of a precision of 0.01 each, the model right about all pairs but those with a size."""
    found = {}
    for margin in MARGINS:
        size = sizes.get("".join(margin), 0.0)
        firm = 0.0 if len(margin) == 1 else np.inf if size == 0 else 1 / size
        found[margin] = Doubt(0.01, 0.001, np.array([firm, firm]), np.array([0.5, 0.5]))
    return found


def test_all_parts_are_given_and_none_where_the_model_is_right():
    found = dict(zip(MARGINS, divide(DOMAIN, OFFERED, doubts(ab=500.0), 1000), strict=True))
    assert sum(found.values()) == 1000
    assert found["a", "c"] == found["b", "c"] == 0 < found["a", "b"]


def test_the_more_is_not_known_the_more_it_gets():
    found = dict(zip(MARGINS, divide(DOMAIN, OFFERED, doubts(ab=2.0, ac=2000.0), 4096), strict=True))
    assert found["a", "c"] > 1.3 * found["a", "b"]


def test_what_others_rely_on_gets_more():
    plain = doubts(ab=500.0)
    leaned = plain | {("a", "b"): Doubt(0.01, 0.001, *vars_of(plain["a", "b"]), relied_on=4.0)}
    first, second = (divide(DOMAIN, OFFERED, one, 1000)[MARGINS.index(("a", "b"))] for one in (plain, leaned))
    assert second > first


def vars_of(one):
    return one.firm, one.chances


@pytest.mark.parametrize("seed", range(5))
def test_no_other_division_of_many_is_better(seed):
    random = np.random.default_rng(seed)
    found = {
        margin: Doubt(
            random.uniform(0.001, 0.1),
            random.uniform(0.0005, 0.005),
            1 / random.uniform(1, 500, 3) * (len(margin) > 1),
            random.dirichlet([1, 1, 1]),
        )
        for margin in MARGINS
    }
    tables = within(DOMAIN, OFFERED.margins, MARGINS)

    def error(parts):
        risk = [
            (one.chances / (one.firm + one.precision + some * one.part)).sum()
            for one, some in zip(found.values(), parts, strict=True)
        ]
        return np.sqrt(tables @ np.array(risk)).sum()

    best = error(divide(DOMAIN, OFFERED, found, 100_000))
    for _ in range(300):
        assert error(100_000 * random.dirichlet(np.full(len(MARGINS), 0.5))) > best * (1 - 1e-3)
