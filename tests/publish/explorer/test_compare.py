"""Two releases beside each other: differences have intervals of their own, and what cannot be compared is refused."""

from dataclasses import replace

import numpy as np
import pytest

from margrave.errors import UsageError
from margrave.publish.explorer.compare import compared
from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.routes import answer
from margrave.publish.explorer.view import read

VIEW = "rows=smoke&columns=age&numbers=unbiased"


def test_numbers_of_two_releases_are_apart_by_their_difference(releases):
    one, other = releases["raw"], releases["laplace"]
    found = compared(one, other, read(VIEW))
    assert found.apart.value == pytest.approx(found.other.cells.value - found.one.cells.value)
    widths = np.sqrt(found.one.cells.width**2 + found.other.cells.width**2)
    assert found.apart.width == pytest.approx(widths, abs=2e-6)


def test_releases_of_other_values_or_levels_cannot_be_compared(releases, hostile):
    with pytest.raises(UsageError):
        compared(releases["raw"], hostile, read(VIEW))
    with pytest.raises(UsageError, match="levels"):
        compared(releases["raw"], replace(releases["laplace"], level=0.9), read(VIEW))


def test_the_page_shows_both_and_what_is_between_them(releases, tmp_path):
    for name in ("raw", "total"):
        releases[name].save(tmp_path / name)
    library = library_of(tmp_path)
    one, other = library.entries
    assert answer(library, "/compare", "").status == 200
    found = answer(library, "/compare", f"one={one}&other={other}&rows=smoke&numbers=unbiased")
    assert found.status == 200
    assert found.body.decode().count("<h2>A small survey</h2>") == 2
    refused = answer(library, "/compare", f"one={one}&other={other}&rows=age&columns=smoke&numbers=unbiased")
    assert refused.status == 400
    assert "says nothing about" in refused.body.decode()
