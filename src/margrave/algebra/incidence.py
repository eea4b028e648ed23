"""The matrix of a margin: which cells of a table are summed to which of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from margrave.algebra.domain import Domain, Margin


def margin_sums(domain: Domain, names: Margin, margin: Margin) -> csr_array:
    """The matrix of 0 and 1 that adds the cells over ``names`` up to those of a margin of these, both in order."""
    from scipy.sparse import csr_array

    shape, size = domain.shape(names), domain.cells(names)
    axes = [length if name in margin else 1 for name, length in zip(names, shape, strict=True)]
    rows = np.broadcast_to(np.arange(domain.cells(margin)).reshape(axes), shape).ravel()
    return csr_array((np.ones(size), (rows, np.arange(size))), shape=(domain.cells(margin), size))
