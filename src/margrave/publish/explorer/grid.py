"""What a view means on a release: its axes, each with groups of values, and sums of cells over these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.errors import UsageError
from margrave.messages.catalogue import say
from margrave.publish.explorer.view import TableView
from margrave.publish.report.values import Titled, table_title

if TYPE_CHECKING:
    from margrave.publish.released import Released
    from margrave.spec.codebook import Codebook

_AND = " + "
_NAMED = 6
"""Tables of a release that a refusal names, where there are no more."""


@dataclass(frozen=True)
class ShownAxis:
    """An attribute of a view: groups of its values, by their codes. ``size`` is the number of all its values."""

    name: str
    title: str
    labels: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    size: int

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def titled(self) -> Titled:
        return Titled(self.title, self.labels)

    @property
    def single(self) -> bool:
        """Whether every group is one value."""
        return all(len(group) == 1 for group in self.groups)

    @property
    def complete(self) -> bool:
        """Whether all values are in one group: then the attribute does not matter."""
        return len(self.groups) == 1 and len(self.groups[0]) == self.size

    @property
    def together(self) -> ShownAxis:
        """The same with all that is shown in one group: what totals are of."""
        codes = tuple(code for group in self.groups for code in group)
        return replace(self, labels=("",), groups=(tuple(sorted(codes)),))

    def summed(self, counts: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """Counts of all values, along an axis of an array, summed over the groups."""
        if self.single:
            codes = [group[0] for group in self.groups]
            return counts if codes == list(range(self.size)) else counts.take(codes, axis=axis)
        return np.moveaxis(np.tensordot(counts, self.matrix, axes=([axis], [1])), -1, axis)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """One row a group: 1 on its values, 0 on others."""
        found = np.zeros((len(self.groups), self.size))
        for row, group in enumerate(self.groups):
            found[row, list(group)] = 1
        return found


@dataclass(frozen=True, eq=False)
class Grid:
    """The axes of a view, those shown first, then those only filtered by."""

    domain: Domain
    axes: tuple[ShownAxis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def margin(self) -> Margin:
        """The attributes that matter: counts of these make up the numbers of the view."""
        return self.domain.margin(axis.name for axis in self.axes if not axis.complete)

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """The axis of the view for each attribute of the margin."""
        at = {axis.name: place for place, axis in enumerate(self.axes)}
        return tuple(at[name] for name in self.margin)

    def together(self, places: Sequence[int]) -> Grid:
        """The grid of totals over some of its axes."""
        return Grid(self.domain, tuple(a.together if at in places else a for at, a in enumerate(self.axes)))

    def sums(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Counts of the margin, the last axes of an array, summed over the groups; axes as in the view."""
        before = counts.ndim - len(self.margin)
        found = np.asarray(counts, dtype=np.float64)
        for axis, place in enumerate(self._places):
            found = self.axes[place].summed(found, before + axis)
        order = np.argsort(self._places)
        found = found.transpose((*range(before), *(before + int(axis) for axis in order)))
        return found.reshape((*found.shape[:before], *self.shape))

    def weights(self, place: tuple[int, ...], over: Sequence[int] = ()) -> NDArray[np.float64]:
        """1 on the cells of the margin that one number of the view is the sum of, 0 on others.

        ``over``: the axes over all of whose groups it is summed.
        """
        found = np.ones(())
        for at in self._places:
            matrix = self.axes[at].matrix
            found = np.multiply.outer(found, matrix.sum(axis=0) if at in over else matrix[place[at]])
        return found


def grid_of(release: Released, view: TableView) -> Grid:
    """The grid of a view; refused where the release does not know its attributes together."""
    domain, codebook = release.domain, release.plan.spec.codebook
    for name in view.names:
        if name not in domain.names:
            raise UsageError(say("the release has no attribute %(name)r", name=name))
    keep, join = dict(view.keep), dict(view.join)
    shown = [_axis(domain, codebook, name, keep.get(name), join.get(name, ())) for name in view.shown]
    hidden = [_axis(domain, codebook, name, keep[name], ()).together for name in view.names[len(shown) :]]
    grid = Grid(domain, (*shown, *hidden))
    check_known(release, grid.margin)
    return grid


def check_known(release: Released, margin: Margin) -> None:
    """Refuse attributes about which a release says nothing together."""
    if not knows(release, margin):
        codebook, tables = release.plan.spec.codebook, release.plan.spec.margins
        told = {
            "names": ", ".join(codebook[name].title or name for name in margin),
            "tables": "; ".join(table_title(codebook, table) for table in tables[:_NAMED]),
        }
        if len(tables) > _NAMED:
            raise UsageError(say("the release says nothing about %(names)s together: leave one of them out", **told))
        raise UsageError(
            say(
                "the release says nothing about %(names)s together: leave one of them out; its tables are %(tables)s",
                **told,
            )
        )


def knows(release: Released, names: Margin) -> bool:
    """Whether a release can say anything about some attributes together."""
    return release.plan.accuracy.covers(release.plan.measured_margin(release.domain.margin(names)))


def _axis(
    domain: Domain,
    codebook: Codebook,
    name: str,
    keep: Sequence[str] | None,
    join: Sequence[Sequence[str]],
) -> ShownAxis:
    """An attribute with its groups in the declared order; a group stands where its first value would."""
    attribute, entry = domain[name], codebook[name]
    kept = set(range(attribute.size)) if keep is None else {_code(domain, name, value) for value in keep}
    groups: dict[int, tuple[int, ...]] = {code: (code,) for code in kept}
    for values in join:
        codes = sorted({_code(domain, name, value) for value in values} & kept)
        for code in codes:
            del groups[code]
        if codes:
            groups[codes[0]] = tuple(codes)
    ordered = tuple(groups[code] for code in sorted(groups))
    labels = tuple(_AND.join(entry.label(attribute.values[code]) for code in group) for group in ordered)
    return ShownAxis(name, entry.title or name, labels, ordered, attribute.size)


def _code(domain: Domain, name: str, value: str) -> int:
    """The code of a value; refused where the attribute has no such value."""
    if value not in domain[name].values:
        raise UsageError(say("%(name)s has no value %(value)r", name=name, value=value))
    return domain[name].code(value)


def base_of(grid: Grid, name: str, value: str) -> tuple[int, int]:
    """An axis that differences are along, and the group of it that is taken away."""
    place = next(at for at, axis in enumerate(grid.axes) if axis.name == name)
    code = _code(grid.domain, name, value)
    for number, group in enumerate(grid.axes[place].groups):
        if code in group:
            return place, number
    raise UsageError(
        say("%(value)r is filtered out of %(name)r, so nothing can be compared with it", value=value, name=name)
    )


def bases_of(grid: Grid, view: TableView) -> tuple[tuple[int, int], ...]:
    """The axes that the differences of a view are along, each with the group that is taken away."""
    return tuple(base_of(grid, name, value) for name, value in view.minus)


def other_names(release: Released, names: Sequence[str]) -> Mapping[str, bool]:
    """Every attribute that is not among some, and whether the release knows it together with them."""
    return {name: knows(release, (*names, name)) for name in release.domain.names if name not in names}
