from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.algebra.lattice import subsets
from margrave.algebra.residual import compose, decompose, margin_from, residuals

from .strategies import margins_of, tables


@given(tables())
def test_transform_then_inverse_is_the_identity(table):
    shape = table.counts.shape
    exact = compose(decompose(table.counts, len(shape), exact=True), shape, exact=True)
    assert exact.dtype.kind == "i" and np.array_equal(exact, table.counts)
    floating = compose(decompose(table.counts, len(shape)), shape)
    np.testing.assert_allclose(floating, table.counts, atol=1e-9)


@pytest.mark.slow
@given(st.data(), tables())
def test_margins_from_residuals_are_the_direct_margins(data, table):
    margin = data.draw(margins_of(table.domain))
    for exact in (True, False):
        parts = residuals(table.domain, table.domain.names, table.counts, exact=exact)
        rebuilt = margin_from(table.domain, margin, parts, exact=exact)
        np.testing.assert_allclose(rebuilt, table.project(margin).counts, atol=1e-9)


@given(tables(most_attributes=3))
def test_residuals_agree_with_their_definition_by_matrices(table):
    domain = table.domain
    parts = residuals(domain, domain.names, table.counts)
    for margin in subsets(domain.names):
        matrix = np.ones((1, 1))
        for name in domain.names:
            size = domain[name].size
            axis = np.eye(size) - 1 / size if name in margin else np.ones((1, size))
            matrix = np.kron(matrix, axis)
        np.testing.assert_allclose(parts[margin].ravel(), matrix @ table.counts.ravel(), atol=1e-9)


@given(tables())
def test_a_residual_sums_to_zero_along_each_of_its_axes_and_scales_exactly(table):
    floating = residuals(table.domain, table.domain.names, table.counts)
    exact = residuals(table.domain, table.domain.names, table.counts, exact=True)
    for margin, part in exact.items():
        for axis in range(len(margin)):
            assert not part.sum(axis=axis).any()
        np.testing.assert_allclose(part / prod(table.domain.shape(margin)), floating[margin], atol=1e-9)


@pytest.mark.parametrize("exact", [True, False])
def test_a_batch_of_margins_is_transformed_as_each_alone(exact):
    values = np.random.default_rng(0).integers(0, 100, (5, 2, 3, 4))
    together = decompose(values, 2, exact=exact)
    for row in range(5):
        for column in range(2):
            alone = decompose(values[row, column], 2, exact=exact)
            for chosen, part in alone.items():
                np.testing.assert_allclose(together[chosen][row, column], part, atol=1e-9)
    np.testing.assert_allclose(compose(together, (3, 4), exact=exact), values, atol=1e-9)
