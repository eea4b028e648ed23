"""Columns that went nearly whole into `other` or `missing`: such a release is private, correct and of no use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from warnings import warn

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Domain, Margin
from margrave.errors import DataWarning
from margrave.spec.codebook import Codebook

_NEARLY_ALL = 0.9
_FEW = 50
"""Of fewer records nothing is said: all of them may well be of one kind."""


def warn_of_swallowed(codebook: Codebook, tables: Mapping[Margin, Integers]) -> None:
    """Say so, by Python's own way of warning whoever runs the program. Nothing of it is in what is released."""
    for name, value in swallowed(codebook, tables):
        warn(
            f"nearly every record went into {value!r} of column {name!r}, so its tables tell nothing: before you "
            "publish, check how the file is written (decimal, delimiter and encoding under [data]) and what the spec "
            "declares",
            DataWarning,
            stacklevel=2,
        )


def swallowed(codebook: Codebook, tables: Mapping[Margin, Integers]) -> Iterator[tuple[str, str]]:
    """The columns of which nearly all records took the value declared for other or missing ones, and that value."""
    domain = codebook.domain
    for entry in codebook.entries:
        above = [margin for margin in tables if entry.name in margin]
        extras = dict.fromkeys(value for value in (entry.other, entry.missing) if value is not None)
        if not above or not extras or entry.attribute.size == 1:
            continue
        counts = _counts(domain, entry.name, min(above, key=domain.cells), tables)
        for value in extras:
            if counts.sum() >= _FEW and counts[entry.attribute.code(value)] > _NEARLY_ALL * counts.sum():
                yield entry.name, value


def _counts(domain: Domain, name: str, margin: Margin, tables: Mapping[Margin, Integers]) -> Integers:
    axes = tuple(axis for axis, other in enumerate(margin) if other != name)
    counts: Integers = tables[margin].sum(axis=axes)
    return counts
