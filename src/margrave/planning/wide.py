"""Plans over tables whose margins are too many to be listed (`limits.listable`).

To a plan, attributes that are in the same wanted tables are one attribute whose values are their combinations: a table
of twenty attributes that shares none with others is a table of one. Over these few attributes the search is the usual
one; what it can no longer ask for are contrasts and margins inside of them, which are worth nothing for one table (the
noisy cells are the optimum for Gaussian noise, and the best that the search finds for Laplace noise).

Where that still leaves too many margins, because small tables take wide ones apart, wide and small tables are planned
each for themselves and share the budget; and where wide tables do so among each other, each of them is measured alone.
What several measurements say of one table is put together afterwards all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.encoding import Plain
from margrave.algebra.lattice import subsets
from margrave.algebra.query import Query
from margrave.errors import RefusedError
from margrave.planning.limits import ALL_WIDE_CELLS, FEW_ATTRIBUTES, LISTED_ATTRIBUTES, WIDE_CELLS, listable
from margrave.planning.search.model import Candidate, Goal
from margrave.planning.search.search import search_laplace
from margrave.planning.search.shares import polish, residual_slopes, smooth
from margrave.planning.strategies.demand import Demand, Shares, unit_variance
from margrave.planning.strategies.registry import strategy_named

if TYPE_CHECKING:
    from margrave.spec.spec import Spec

_ROUNDS = 300
_POWERS = (2.0, 8.0, 32.0, 128.0)
_LEAST = 1e-6
_MOST_STEPS = 1 << 10
_UNIT = 4.0
"""A share of 1 buys Laplace noise of variance 2 or Gaussian noise of variance 1/2."""


def is_wide_workload(spec: Spec) -> bool:
    """Whether the wanted tables have more margins below them than are listed."""
    plain = Plain(spec.domain)
    return not listable([len(plain.margin(m)) for m in spec.margins if len(m) > FEW_ATTRIBUTES])


def check_wide(spec: Spec) -> None:
    """Refuse tables that are too wide for a plan, or for what else the spec asks, with the numbers."""
    domain, plain = spec.domain, Plain(spec.domain)
    wide = [margin for margin in spec.margins if len(plain.margin(margin)) > FEW_ATTRIBUTES]
    for margin in wide:
        if len(plain.margin(margin)) > LISTED_ATTRIBUTES and domain.cells(margin) > WIDE_CELLS:
            raise RefusedError(
                f"the table of {_named(margin)} has {domain.cells(margin):,} cells and {1 << len(margin):,} margins: "
                f"with more than {LISTED_ATTRIBUTES} attributes it may have at most {WIDE_CELLS:,} cells; ask for "
                "fewer attributes at once"
            )
    cells = sum(map(domain.cells, wide))
    if cells > ALL_WIDE_CELLS:
        raise RefusedError(
            f"the {len(wide)} tables of more than {FEW_ATTRIBUTES} attributes have {cells:,} cells together, more than "
            f"{ALL_WIDE_CELLS:,}: ask for fewer of them, or for fewer attributes at once"
        )
    if spec.public:
        raise RefusedError(
            f"public facts are not priced for tables of more than {LISTED_ATTRIBUTES} attributes, or so many of more "
            f"than {FEW_ATTRIBUTES}: ask for fewer attributes at once, or leave out the facts"
        )
    if spec.strategy not in ("auto", "margins", "base"):
        raise RefusedError(
            f"strategy {spec.strategy!r} asks about each of the {sum(1 << len(margin) for margin in wide):,} margins "
            f"of {len(wide)} wide tables, and no more than {1 << LISTED_ATTRIBUTES:,} of one table are listed: use "
            "'auto', 'margins' or 'base'"
        )


def _named(margin: Margin) -> str:
    return f"{', '.join(margin[:3])} and {len(margin) - 3} other attributes"


@dataclass(frozen=True)
class Merged:
    """A problem in which attributes of the same standing are one. ``groups``: the attributes that each stands for."""

    problem: Demand
    groups: tuple[Margin, ...]

    @classmethod
    def of(cls, problem: Demand) -> Merged:
        standing: dict[str, list[int]] = {}
        for number, margin in enumerate((*problem.wanted, *problem.known)):
            for name in margin:
                standing.setdefault(name, []).append(number)
        groups: dict[tuple[int, ...], list[str]] = {}
        for name in problem.domain.names:
            if name in standing:
                groups.setdefault(tuple(standing[name]), []).append(name)
        return cls(problem, tuple(map(tuple, groups.values())))

    @cached_property
    def target(self) -> Goal:
        """The problem on bare shapes."""
        home = {name: number for number, group in enumerate(self.groups) for name in group}
        sizes = tuple(prod(self.problem.domain.shape(group)) for group in self.groups)

        def merged(margin: Margin) -> tuple[int, ...]:
            return tuple(sorted({home[name] for name in margin}))

        workload = {merged(margin): weight for margin, weight in self.problem.wanted.items()}
        return Goal(sizes, workload, self.problem.objective, tuple(map(merged, self.problem.known)))

    @property
    def listable(self) -> bool:
        return listable([len(table) for table in self.target.workload])

    def best(self) -> tuple[Shares, float]:
        """The best plan found: its shares, and the objective that it reaches with all of the budget."""
        target = self.target
        found = search_laplace(target.sizes, target.workload, target.objective, known=target.known)
        members = [(s, b) for s, b, _ in found]
        if not self.problem.gaussian:
            shares = np.array([share for _, _, share in found])
            return self._queries(members, shares), float(target.value(target.matrix(members).T @ shares**2))
        # Every margin as cells: a problem without local optima, so what helps nothing gets nothing.
        steps = [(t, ()) for t in target.closure] if len(target.closure) <= _MOST_STEPS else self._tables()
        return self.shared(list(dict.fromkeys([*members, *steps])))

    def margins(self) -> tuple[Shares, float]:
        """The wanted tables themselves with their best shares."""
        return self.shared(self._tables())

    def _tables(self) -> list[Candidate]:
        unknown = set(self.target.closure)
        return [(table, ()) for table in self.target.workload if table in unknown]

    def shared(self, members: Sequence[Candidate]) -> tuple[Shares, float]:
        """The best shares found for some candidates."""
        target, rows = self.target, self.target.matrix(members)
        start = np.full(len(members), 1 / len(members))
        if self.problem.gaussian:
            shares = gaussian_shares(target, rows, start)
            return self._queries(members, shares), float(target.value(rows.T @ (_UNIT * shares)))
        shares, value = polish(target, rows, smooth(target, rows, start, 40))
        return self._queries(members, shares), value

    def _queries(self, members: Iterable[Candidate], shares: Floats) -> Shares:
        """Candidates as queries of the problem; those without a share to speak of are left out."""
        found = {}
        for (s, b), share in zip(members, shares.tolist(), strict=True):
            names = (self.problem.domain.margin(name for j in part for name in self.groups[j]) for part in (s, b))
            margin, contrast = names
            if share > _LEAST * shares.max():
                found[Query(margin, contrast=contrast)] = share
        return found


def gaussian_shares(target: Goal, rows: Any, shares: Floats) -> Floats:
    """The best shares for Gaussian noise, whose precision is proportional to them; see `search_shares` for the steps.

    The objective is convex in the shares. Each round cannot make it worse.
    """
    for power in (1.0,) if target.objective == "mean" else _POWERS:
        for _ in range(_ROUNDS):
            variance = 1 / np.maximum(rows.T @ shares, 1e-300)
            _, slopes = residual_slopes(target, variance, power)
            parts = shares * (rows @ (slopes * variance * variance))
            shares = shares * (parts / np.maximum(shares, 1e-300)) ** (1 / (power + 1))
            shares = np.maximum(shares / shares.sum(), 1e-15)
    return np.asarray(shares / shares.sum())


def search(problem: Demand) -> Shares:
    """The best plan found: over merged attributes, or for wide and small tables apart."""
    merged = Merged.of(problem)
    if merged.listable:
        return merged.best()[0]
    few, many = _by_width(problem)
    parts = [_small(part) for part in few] + [part for one in many for part in _wide(one)]
    return joined(problem, parts)


def margins(problem: Demand) -> Shares:
    """The wanted tables themselves, each with noise of its own."""
    merged = Merged.of(problem)
    if merged.listable:
        return merged.margins()[0]
    return joined(problem, [(table, *_alone(table)) for table in _each(problem)])


def _by_width(problem: Demand) -> tuple[list[Demand], list[Demand]]:
    """The problem of the small tables and that of the wide ones, as far as there are any that say something."""
    open_tables = {margin: weight for margin, weight in problem.wanted.items() if not _is_known(problem, margin)}
    small = {margin: weight for margin, weight in open_tables.items() if len(margin) <= FEW_ATTRIBUTES}
    wide = {margin: weight for margin, weight in open_tables.items() if len(margin) > FEW_ATTRIBUTES}
    return [replace(problem, wanted=one) for one in (small,) if one], [
        replace(problem, wanted=one) for one in (wide,) if one
    ]


def _is_known(problem: Demand, margin: Margin) -> bool:
    return any(set(margin) <= set(known) for known in problem.known)


Part = tuple[Demand, Shares, float]
"""Some of the wanted tables, shares for them, and the objective that these reach with all of the budget."""


def _small(problem: Demand) -> Part:
    shares = strategy_named("residual" if problem.gaussian else "search").share(problem)
    return problem, shares, reached(problem, shares)


def _wide(problem: Demand) -> list[Part]:
    merged = Merged.of(problem)
    if merged.listable:
        return [(problem, *merged.best())]
    largest = maximal_of(problem)
    return [(table, *_alone(table)) for table in _each(replace(problem, wanted=largest))]


def maximal_of(problem: Demand) -> Mapping[Margin, float]:
    """The wanted tables that lie in no other one, each with the weight of all that lie in it first."""
    found: dict[Margin, float] = {}
    for margin in sorted(problem.wanted, key=len, reverse=True):
        above = next((other for other in found if set(margin) <= set(other)), margin)
        found[above] = found.get(above, 0.0) + problem.wanted[margin]
    return found


def _each(problem: Demand) -> list[Demand]:
    return [
        replace(problem, wanted={margin: weight})
        for margin, weight in problem.wanted.items()
        if not _is_known(problem, margin)
    ]


def _alone(problem: Demand) -> tuple[Shares, float]:
    """One table as cells: every cell has the variance of the noise."""
    ((margin, weight),) = problem.wanted.items()
    return {Query(margin): 1.0}, (0.5 if problem.gaussian else 2.0) * (weight if problem.objective == "max" else 1.0)


def reached(problem: Demand, shares: Shares) -> float:
    """The objective of small tables under shares that sum to 1."""
    power = 1 if problem.gaussian else 2
    total = sum(shares.values())
    precision = dict.fromkeys(problem.unknown, 0.0)
    for query, share in shares.items():
        for below in query.covered():
            if below in precision:
                precision[below] += (share / total) ** power / unit_variance(problem, query, below)
    risks = [
        weight
        * sum(problem.coefficient(margin, below) / precision[below] for below in subsets(margin) if below in precision)
        for margin, weight in problem.cell_weights.items()
    ]
    return sum(risks) if problem.objective == "mean" else max(risks)


def joined(problem: Demand, parts: Sequence[Part]) -> Shares:
    """Plans for parts of the tables as one, with the parts of the budget that are best if no part helps another.

    With q = 2 for Laplace and 1 for Gaussian noise, a part with share s of the budget reaches its objective / s^q.
    """
    power = 1 if problem.gaussian else 2
    if problem.objective == "max":
        needs = [value ** (1 / power) for _, _, value in parts]
    else:
        cells = [sum(w * problem.domain.cells(m) for m, w in part.wanted.items()) for part, _, _ in parts]
        needs = [(size * value) ** (1 / (power + 1)) for size, (_, _, value) in zip(cells, parts, strict=True)]
    found: Shares = {}
    for need, (_, shares, _) in zip(needs, parts, strict=True):
        total = sum(shares.values())
        for query, share in shares.items():
            found[query] = found.get(query, 0.0) + need / sum(needs) * share / total
    return found
