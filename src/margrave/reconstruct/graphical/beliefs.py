"""Belief propagation on a junction tree: from potentials to the tables of its cliques, exactly.

A model is ``p(x) ∝ exp(Σ_S θ_S(x_S))``, each potential ``θ_S`` at home in a clique. Going up from the last clique to
the first, what is summed out of a clique becomes a message on its separator, in logarithms. What remains is the
distribution of the attributes it adds given its separator, row by row; going down, each row is multiplied by the count
of its separator's cell in the parent. One exponential for each cell, and no number can overflow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.reconstruct.graphical.trees import Clique, JunctionTree


@dataclass(frozen=True)
class _Seat:
    """How a table of some attributes stands inside one of more: which axes it has there, and in which order.

    ``order`` sorts the axes of the smaller table as the larger has them; ``shape`` has length 1 for those it lacks.
    """

    order: tuple[int, ...]
    back: tuple[int, ...]
    shape: tuple[int, ...]
    summed: tuple[int, ...]

    def spread(self, table: Floats) -> Floats:
        """The smaller table, ready to be added to the larger."""
        return table.transpose(self.order).reshape(self.shape)

    def sums(self, table: Floats) -> Floats:
        """The smaller table as sums over the larger."""
        summed: Floats = table.sum(axis=self.summed)
        return summed.transpose(self.back)


def _seat(tree: JunctionTree, margin: Margin, axes: Margin) -> _Seat:
    kept = [name for name in axes if name in margin]
    shape = tuple(size if name in margin else 1 for name, size in zip(axes, tree.domain.shape(axes), strict=True))
    summed = tuple(at for at, name in enumerate(axes) if name not in margin)
    return _Seat(tuple(map(margin.index, kept)), tuple(map(kept.index, margin)), shape, summed)


def axes_of(clique: Clique) -> Margin:
    """The order of axes of a clique's tables here: its separator, then what it adds."""
    return (*clique.separator, *clique.added)


@dataclass(frozen=True)
class Calibrated:
    """Potentials made into tables.

    ``conditional``: for each clique, the distribution of what it adds, a row for each cell of its separator.
    ``counts``: the expected counts of each clique. Both have the axes `axes_of` the clique.
    ``log_partition``: the logarithm of the sum of exp(Σ θ_S) over all cells.
    """

    conditional: tuple[Floats, ...]
    counts: tuple[Floats, ...]
    log_partition: float


@dataclass(frozen=True)
class Propagation:
    """A junction tree, ready to turn potentials of the given margins into tables again and again."""

    tree: JunctionTree
    margins: tuple[Margin, ...]

    @cached_property
    def _homes(self) -> tuple[int, ...]:
        homes = tuple(self.tree.home(margin) for margin in self.margins)
        assert None not in homes, "the tree was built to hold the margins"
        return tuple(home for home in homes if home is not None)

    @cached_property
    def _seats(self) -> tuple[_Seat, ...]:
        """Of each margin in its home."""
        cliques = self.tree.cliques
        return tuple(
            _seat(self.tree, margin, axes_of(cliques[home]))
            for margin, home in zip(self.margins, self._homes, strict=True)
        )

    @cached_property
    def _separators(self) -> tuple[_Seat, ...]:
        """Of each clique's separator in its parent."""
        cliques = self.tree.cliques
        return tuple(_seat(self.tree, clique.separator, axes_of(cliques[clique.parent])) for clique in cliques)

    @cached_property
    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(self.tree.domain.shape(axes_of(clique)) for clique in self.tree.cliques)

    def calibrate(self, potentials: Sequence[Floats], total: float) -> Calibrated:
        """The tables of a model with the given potentials, one for each margin, and so many records."""
        cliques = self.tree.cliques
        weights = [np.zeros(shape) for shape in self._shapes]
        for home, seat, potential in zip(self._homes, self._seats, potentials, strict=True):
            weights[home] += seat.spread(potential)
        conditional: list[Floats] = [np.empty(0)] * len(cliques)
        log_partition = 0.0
        for at in reversed(range(len(cliques))):
            shape = self._shapes[at]
            separator = shape[: len(cliques[at].separator)]
            rows = weights[at].reshape(int(np.prod(separator)), -1)
            top = rows.max(axis=1, keepdims=True)
            rows = np.exp(rows - top)
            sums = rows.sum(axis=1, keepdims=True)
            rows /= sums
            conditional[at] = rows.reshape(shape)
            message = (top + np.log(sums)).reshape(separator)
            if at:
                weights[cliques[at].parent] += self._separators[at].spread(message)
            else:
                log_partition = float(message)
        return Calibrated(tuple(conditional), self._counts(conditional, total), log_partition)

    def _counts(self, conditional: Sequence[Floats], total: float) -> tuple[Floats, ...]:
        counts: list[Floats] = []
        for at, clique in enumerate(self.tree.cliques):
            if at:
                above = self._separators[at].sums(counts[clique.parent])
                missing = conditional[at].ndim - above.ndim
                counts.append(conditional[at] * above.reshape(above.shape + (1,) * missing))
            else:
                counts.append(conditional[at] * total)
        return tuple(counts)

    def tables(self, counts: Sequence[Floats]) -> list[Floats]:
        """The table of each margin."""
        return [seat.sums(counts[home]) for home, seat in zip(self._homes, self._seats, strict=True)]


def table_in(tree: JunctionTree, counts: Sequence[Floats], margin: Margin, home: int) -> Floats:
    """The table of a margin that lies inside a clique."""
    return _seat(tree, margin, axes_of(tree.cliques[home])).sums(counts[home])


Potentials = Mapping[tuple[Margin, bool], Floats]
"""Potentials by their margin, and whether they are centred."""
