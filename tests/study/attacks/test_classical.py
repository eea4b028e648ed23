"""Why not just …: each classical protection falls to its attack, and Margrave's numbers do not."""

import pytest

from margrave.study.attacks.classical import WORDS, classical
from margrave.study.attacks.terms import Terms

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows():
    return {row.label: row for row in classical(Terms(seed="test")).rows}


def test_all_eight_are_there(rows):
    assert set(rows) == set(WORDS)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("de-identify", 0.7),
        ("k-anonymise", 0.45),
        ("only aggregate", 0.99),
        ("round", 0.9),
        ("suppress small cells", 0.9),
        ("swap", 0.85),
        ("sample", 0.35),
        ("publish sufficient margins", 0.4),
    ],
)
def test_each_protection_falls(rows, name, least):
    assert rows[name].exact >= least


def test_and_margrave_gives_no_more_than_knowing_people_in_general(rows):
    for row in rows.values():
        if row.wrong is not None:
            assert row.margrave < row.wrong + 0.05 < row.exact
    assert rows["publish sufficient margins"].margrave < 0.05
