"""Junction trees of any margins: the cliques of a chordal graph that holds every margin inside one of them.

Which tree it is follows from the domain and the margins alone, and so does its number of cells: what a model will take
in memory and time is known before it is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.junctions import perfect_sequence
from margrave.algebra.lattice import maximal

Graph = dict[int, set[int]]
"""The neighbours of each attribute, by position: those that share a margin with it."""


@dataclass(frozen=True)
class Clique:
    """A clique, what it shares with the cliques before it, and the earlier one that holds all of that.

    The first clique has itself as its parent, and shares nothing.
    """

    margin: Margin
    separator: Margin
    parent: int

    @property
    def added(self) -> Margin:
        """The attributes that no earlier clique has."""
        return tuple(name for name in self.margin if name not in self.separator)


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in an order in which each one's separator lies inside its parent, which comes before it."""

    domain: Domain
    cliques: tuple[Clique, ...]

    @property
    def cells(self) -> int:
        """The cells of all cliques together: what the model holds, and what one step of its fit goes through."""
        return sum(self.domain.cells(clique.margin) for clique in self.cliques)

    def home(self, margin: Iterable[str]) -> int | None:
        """The smallest clique that holds all of a margin, if there is one."""
        wanted = set(margin)
        inside = [at for at, clique in enumerate(self.cliques) if wanted <= set(clique.margin)]
        return min(inside, key=lambda at: self.domain.cells(self.cliques[at].margin), default=None)


def junction_tree(domain: Domain, margins: Iterable[Margin]) -> JunctionTree:
    """A tree whose cliques hold the margins, and every attribute of the domain."""
    names, joined = domain.names, _cliques(domain, margins)
    ordered = perfect_sequence([tuple(names[at] for at in sorted(clique)) for clique in joined])
    assert ordered is not None, "the cliques of a chordal graph are decomposable"
    cliques: list[Clique] = []
    for margin, separator in ordered:
        holding = (at for at, earlier in enumerate(cliques) if set(separator) <= set(earlier.margin))
        cliques.append(Clique(margin, separator, next(holding, 0)))
    return JunctionTree(domain, tuple(cliques))


def tree_cells(domain: Domain, margins: Iterable[Margin]) -> int:
    """How many cells the tree of these margins has, without building it."""
    shape = domain.shape()
    return sum(prod(shape[at] for at in clique) for clique in _cliques(domain, margins))


def _cliques(domain: Domain, margins: Iterable[Margin]) -> list[tuple[int, ...]]:
    """The smaller of two greedy triangulations: by least cells of the next clique, and by fewest edges added."""
    graph: Graph = {at: set() for at in range(len(domain))}
    for margin in margins:
        members = {domain.position(name) for name in margin}
        for one in members:
            graph[one] |= members - {one}
    shape = domain.shape()

    def cells(current: Graph, at: int) -> tuple[int, int]:
        return prod(shape[one] for one in current[at]) * shape[at], _missing(current, at)

    def filled(current: Graph, at: int) -> tuple[int, int]:
        return _missing(current, at), prod(shape[one] for one in current[at]) * shape[at]

    found = [_eliminated(graph, rule) for rule in (cells, filled)]
    return min(found, key=lambda cliques: sum(prod(shape[at] for at in clique) for clique in cliques))


def _missing(graph: Graph, at: int) -> int:
    """How many pairs of an attribute's neighbours are not neighbours of each other."""
    return sum(len(graph[at] - graph[one]) - 1 for one in graph[at]) // 2


def _eliminated(graph: Graph, rule: Callable[[Graph, int], tuple[int, int]]) -> list[tuple[int, ...]]:
    """The maximal cliques when attributes are eliminated one after another, the least by the rule first."""
    left = {at: set(near) for at, near in graph.items()}
    cliques = []
    while left:
        current = left
        chosen = min(left, key=lambda at: (*rule(current, at), at))
        near = left.pop(chosen)
        cliques.append(tuple(sorted((chosen, *near))))
        for one in near:
            left[one] = (left[one] | near) - {one, chosen}
    return list(maximal(cliques))
