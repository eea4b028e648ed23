"""Shares of rows and columns with their intervals: one file for all tables of one or two attributes.

The error of a share does not follow from those of its two counts, which move together. Where error bars are simulated,
so are those of shares, and of the totals of rows and columns; both are kept in the bundle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.words import stored_name
from margrave.errors import BundleError
from margrave.publish.bundle.parts.layout import is_large
from margrave.publish.bundle.untrusted.parquet import read_parquet
from margrave.publish.numbers import numbers_in, rounded

if TYPE_CHECKING:
    import pyarrow as pa

    from margrave.planning.plan import Plan
    from margrave.publish.released import Released
    from margrave.reconstruct.bars import Shares

SHARES = "shares"


def shared(plan: Plan) -> Iterator[tuple[int, Margin, Margin]]:
    """Every table that has shares, by its number from 1, and the attributes whose totals they are shares of."""
    for number, margin in enumerate(plan.spec.margins, 1):
        if len(margin) == 1:
            yield number, margin, ()
        elif len(margin) == 2:
            yield number, margin, margin[:1]
            yield number, margin, margin[1:]


def totals(plan: Plan) -> tuple[Margin, ...]:
    """The totals of rows and columns of tables of two attributes, but for those that are tables themselves."""
    wanted = set(plan.spec.margins)
    names = {name for margin in wanted if len(margin) == 2 for name in margin}
    return tuple((name,) for name in plan.spec.domain.names if name in names and (name,) not in wanted)


def shares_of(domain: Domain, margin: Margin, whole: Margin, counts: NDArray[Any]) -> NDArray[np.float64]:
    """The share that each cell has of the records with the same values of ``whole``; 0 where there are none."""
    table = np.asarray(counts, dtype=np.float64).reshape(domain.shape(margin))
    axes = tuple(axis for axis, name in enumerate(margin) if name not in whole)
    below = np.broadcast_to(table.sum(axis=axes, keepdims=True), table.shape)
    shares = np.zeros(table.shape)
    np.divide(table, below, out=shares, where=below > 0)
    return shares.ravel()


def has_shares(release: Released) -> bool:
    """Whether intervals of shares are known: not where bars are not simulated, in large releases, or older forms."""
    known = release.simulates and (bool(release.shares) or not release.simulated_elsewhere)
    return known and not is_large(release.plan) and any(True for _ in shared(release.plan))


def shares_part(release: Released) -> pa.Table:
    """Every share with its interval, one row each; cells are counted from 1, in the order of the table's file."""
    import pyarrow as pa

    tables, of, cells, shares, widths = [], list[str](), [], [], []
    for number, margin, whole in shared(release.plan):
        width = release.share_widths(margin, whole)
        assert width is not None
        tables.append(np.full(len(width), number))
        of += [stored_name(whole)] * len(width)
        cells.append(np.arange(1, len(width) + 1))
        shares.append(rounded(shares_of(release.domain, margin, whole, release.published(margin))))
        widths.append(width)
    share, half_width = np.concatenate(shares), np.concatenate(widths)
    numbers = {"cell": np.concatenate(cells), "share": share, "half_width": half_width}
    numbers |= {"low": rounded(np.maximum(share - half_width, 0)), "high": rounded(np.minimum(share + half_width, 1))}
    arrays = {"table": pa.array(np.concatenate(tables)), "of": pa.array(of, pa.string())}
    return pa.table(arrays | {name: pa.array(values) for name, values in numbers.items()})


def read_shares(plan: Plan, content: bytes) -> Shares:
    """The half-widths of shares, from their file."""
    kinds = [(margin, whole) for _, margin, whole in shared(plan)]
    sizes = [plan.spec.domain.cells(margin) for margin, _ in kinds]
    name = f"{SHARES}.parquet"
    widths = numbers_in(read_parquet(content, name, sum(sizes), ["half_width"]).column("half_width"))
    if widths.dtype != np.float64 or not ((widths >= 0) & (widths <= 1)).all():
        raise BundleError(f"{name}: half_width must hold numbers from 0 to 1")
    return dict(zip(kinds, np.split(widths, np.cumsum(sizes)[:-1]), strict=True))
