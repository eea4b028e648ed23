"""What a view means on a release: its groups, the attributes that matter, and sums over them."""

import numpy as np
import pytest

from margrave.errors import UsageError
from margrave.publish.explorer.grid import base_of, grid_of, other_names
from margrave.publish.explorer.view import read


def test_collapsed_values_stand_where_the_first_of_them_would(releases):
    axis = grid_of(releases["raw"], read("rows=age&join.age=1:old&join.age=1:young")).axes[0]
    assert axis.labels == ("young + old", "middle")
    assert axis.groups == ((0, 2), (1,))


def test_labels_and_titles_are_those_of_the_codebook(releases):
    axis = grid_of(releases["raw"], read("rows=smoke")).axes[0]
    assert (axis.title, axis.labels) == ("Smoking", ("does not smoke", "smokes"))


def test_an_attribute_all_of_whose_values_count_does_not_matter(releases):
    grid = grid_of(releases["raw"], read("rows=age&keep.smoke=no&keep.smoke=yes"))
    assert grid.margin == ("age",)
    assert grid.shape == (3, 1)


def test_sums_have_the_axes_of_the_view_whatever_the_order_of_the_domain(releases):
    counts = np.arange(6).reshape(2, 3)
    grid = grid_of(releases["raw"], read("rows=age&columns=smoke"))
    assert np.array_equal(grid.sums(counts), counts.T)
    grid = grid_of(releases["raw"], read("rows=age&keep.smoke=yes&join.age=1:young&join.age=1:old"))
    assert np.array_equal(grid.sums(np.stack([counts, 2 * counts])), [[[8], [4]], [[16], [8]]])


def test_weights_are_of_the_cells_that_a_sum_is_made_of(releases):
    grid = grid_of(releases["raw"], read("rows=age&columns=smoke&join.age=1:young&join.age=1:old"))
    assert np.array_equal(grid.weights((0, 1)), [[0, 0, 0], [1, 0, 1]])
    assert np.array_equal(grid.weights((0, 1), over=(0,)), [[0, 0, 0], [1, 1, 1]])


def test_what_a_release_says_nothing_about_is_refused(releases):
    with pytest.raises(UsageError, match="says nothing about Smoking, unbiased together"):
        grid_of(releases["raw"], read("rows=smoke&columns=unbiased"))
    assert other_names(releases["raw"], ("smoke",)) == {"age": True, "unbiased": False}


@pytest.mark.parametrize("address", ["rows=nothing", "rows=age&keep.age=ancient", "rows=age&join.age=1:a&join.age=1:b"])
def test_names_that_a_release_does_not_have_are_refused(releases, address):
    with pytest.raises(UsageError):
        grid_of(releases["raw"], read(address))


def test_differences_are_with_the_group_that_has_the_value(releases):
    grid = grid_of(releases["raw"], read("rows=age&join.age=1:old&join.age=1:young"))
    assert base_of(grid, "age", "old") == (0, 0)
    kept = grid_of(releases["raw"], read("rows=age&keep.age=old"))
    with pytest.raises(UsageError, match="filtered out"):
        base_of(kept, "age", "young")
