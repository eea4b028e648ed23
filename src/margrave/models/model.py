"""Hierarchical log-linear models, named by their generating class.

A model over a domain says that the logarithm of a cell's probability is a sum of terms, one for each margin below
some *generator*: ``[AD][AB][BE]`` has the generators AD, AB and BE. Its sufficient statistics are the generators'
tables, so two tables with the same generator margins have the same fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.incidence import margin_sums
from margrave.algebra.junctions import perfect_sequence
from margrave.algebra.lattice import downward_closure, maximal
from margrave.errors import RefusedError, UsageError

Mask = NDArray[np.bool_]

LARGEST_MATRIX = 40_000_000
"""The most entries of a dense matrix that a fit may ask for: 320 megabytes."""


@dataclass(frozen=True)
class Model:
    """A domain and the generators of a hierarchical log-linear model; generators below another are dropped."""

    domain: Domain
    generators: tuple[Margin, ...]

    def __post_init__(self) -> None:
        margins = []
        for names in self.generators:
            if isinstance(names, str):
                raise UsageError(f"a generator is a tuple of attribute names, not the text {names!r}: use Model.parse")
            if len(set(names)) != len(names):
                raise UsageError(f"the generator [{','.join(names)}] names an attribute twice")
            margins.append(self.domain.margin(names))
        kept = set(maximal(margins)) or {()}
        ordered = tuple(dict.fromkeys(margin for margin in margins if margin in kept))
        object.__setattr__(self, "generators", ordered or ((),))

    @classmethod
    def parse(cls, text: str, domain: Domain) -> Model:
        """From ``[smoke,mental][pressure]``, or ``[AD][AB]`` where every name is one letter; ``[]`` is uniform."""
        if not re.fullmatch(r"\s*(\[[^\[\]]*\]\s*)+", text):
            raise UsageError(f"{text!r} is not a generating class; write it like [smoke,mental][pressure] or [AB][BC]")
        return cls(domain, tuple(_names(part, domain) for part in re.findall(r"\[([^\[\]]*)\]", text)))

    def __str__(self) -> str:
        comma = "" if all(len(name) == 1 for name in self.domain.names) else ","
        return "".join(f"[{comma.join(margin)}]" for margin in self.generators)

    @property
    def free(self) -> Margin:
        """The attributes that no generator names: uniform and independent of the rest under the model."""
        named = {name for margin in self.generators for name in margin}
        return tuple(name for name in self.domain.names if name not in named)

    @cached_property
    def terms(self) -> tuple[Margin, ...]:
        """The margins below some generator, smallest first: the terms of the logarithm."""
        return downward_closure(self.generators)

    @cached_property
    def rank(self) -> int:
        """The dimension of the model, constant included: ``Σ_T ∏_{j∈T} (k_j − 1)`` over its terms ``T``."""
        return sum(prod(size - 1 for size in self.domain.shape(term)) for term in self.terms)

    @cached_property
    def sequence(self) -> tuple[tuple[Margin, Margin], ...] | None:
        """A perfect sequence of (generator, separator) pairs, or None when the model is not decomposable.

        The separator is what the generator shares with all those before it, and lies within one of them. The first
        pair's separator is ``()`` and stands for nothing.
        """
        return perfect_sequence(self.generators)

    def axes_outside(self, margin: Margin) -> tuple[int, ...]:
        """The axes of the full table that are summed away on the way to a margin."""
        return tuple(axis for axis, name in enumerate(self.domain.names) if name not in margin)

    def incidence(self) -> csr_array:
        """The matrix of 0 and 1 that maps a flattened table to the cells of all generators' tables, one below another.

        Columns are the cells of the table in the domain's order.
        """
        return csr_array(vstack([margin_sums(self.domain, self.domain.names, one) for one in self.generators]))

    def basis(self, face: Mask | None = None) -> Floats:
        """Columns that span the model's logarithms, one row for each cell (of the face), ``rank`` columns.

        They are products of orthonormal contrasts, so that over the whole table they are orthogonal.
        """
        chosen = np.ones(self.domain.shape(), dtype=bool) if face is None else face
        size = int(chosen.sum()) * self.rank
        if size > LARGEST_MATRIX:
            raise RefusedError(
                f"the model {self} needs a matrix of {size} entries on this table, over the limit of {LARGEST_MATRIX}; "
                "use a smaller table or a decomposable model"
            )
        codes = dict(zip(self.domain.names, np.nonzero(chosen), strict=True))
        blocks = []
        for term in self.terms:
            block = np.ones((int(chosen.sum()), 1))
            for name in term:
                contrast = _contrasts(self.domain[name].size)[codes[name]]
                block = (block[:, :, None] * contrast[:, None, :]).reshape(len(block), -1)
            blocks.append(block)
        return np.concatenate(blocks, axis=1)


def _names(part: str, domain: Domain) -> Margin:
    """The attributes written between one pair of brackets."""
    text = part.strip()
    if not text:
        return ()
    if "," in text or text in domain.names:
        return tuple(name.strip() for name in text.split(","))
    letters = "".join(text.split())
    if all(len(name) == 1 for name in domain.names):
        return tuple(letters)
    return (text,)


def _contrasts(size: int) -> Floats:
    """``size − 1`` orthonormal columns that sum to zero."""
    columns = np.zeros((size, size - 1))
    for column in range(size - 1):
        columns[: column + 1, column] = 1.0
        columns[column + 1, column] = -(column + 1.0)
        columns[:, column] /= np.sqrt((column + 1.0) * (column + 2.0))
    return columns
