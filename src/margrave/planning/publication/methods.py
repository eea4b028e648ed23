"""The methods that make tables non-negative: which of them applies to what is measured, and how long it takes.

A method is declared here, where plans are made, and solved in `margrave.reconstruct.nonnegative`, one file each.

    least-squares    the nearest table in the metric of the variances, at the estimated total
    log-linear       posterior mean of a log-linear model: small tables of which margins are measured
    entropy          near the measurements and otherwise near independence, by estimated risk
    sparse           posterior mean of cells that are alike a priori: every cell measured
    linear-program   the min–max program
    simple           the constant raised until no cell is negative

``auto`` takes, where every cell is measured, whichever has the least estimated risk for the wanted tables: ``sparse``
(as it is, or with cells that are expected to hold less than half a record emptied), ``least-squares``, or ``entropy``
fitted to the wanted tables alone. Where margins are measured and the table is small it takes ``log-linear`` or, if
``least-squares`` do better where both are rehearsed, the less risky of these and ``entropy``; for a larger one
``entropy``; where other residuals than the total are exact, or the table is very large, ``least-squares``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import subsets
from margrave.planning.limits import (
    CHAIN_SIZE,
    ENTROPY_CELLS,
    MEDIUM_CELLS,
    PROGRAM_CELLS,
    QUICK_CELLS,
)

TRIMMED = ", trimmed"
"""What the name of a method ends in where small cells were set to zero afterwards."""
SHRUNK = ", shrunk"
"""The same where residuals were shrunk one by one before."""
_EVEN = 1e-9
"""Precisions that differ by less, relative to the larger, are alike."""


@dataclass(frozen=True)
class Grounds:
    """What a method is chosen by: public numbers about the full table and what is measured of it.

    ``parameters``: the dimension of all that is measured. ``noisy``: whether nothing is exact but perhaps the total.
    ``even``: whether all coordinates but the total are measured alike. ``wanted``: whether a wanted table has an
    unbiased estimate; ``beyond``: whether more is measured than the wanted tables consist of. ``wide``: whether there
    are too many residuals to list. ``total``: whether the total is exact. ``zeros``: whether some cells are impossible.
    """

    shape: tuple[int, ...]
    parameters: int
    noisy: bool = True
    even: bool = False
    wanted: bool = True
    beyond: bool = False
    wide: bool = False
    total: bool = False
    zeros: bool = False

    @cached_property
    def cells(self) -> int:
        """The size of the full table."""
        return prod(self.shape)

    @property
    def complete(self) -> bool:
        """Whether every cell of the full table is measured, and with noise."""
        return self.noisy and 1 < self.parameters == self.cells


def grounds_of(
    domain: Domain,
    variances: Mapping[Margin, float],
    wanted: Iterable[Margin],
    exact: bool = False,
    zeros: bool = False,
) -> Grounds:
    """The grounds of residuals that are listed with the variances of their estimates.

    ``exact``: whether some table or cell is known; ``zeros``: whether some cells are impossible.
    """
    dimensions = {margin: prod(size - 1 for size in domain.shape(margin)) for margin in variances}
    precisions = [
        domain.cells() / domain.cells(margin) / one if (one := variances[margin]) else 0.0
        for margin in variances
        if margin and dimensions[margin]
    ]
    covered = [margin for margin in wanted if all(below in variances for below in subsets(margin))]
    needed = {(), *(below for margin in covered for below in subsets(margin))}
    return Grounds(
        domain.shape(),
        sum(dimensions.values()),
        noisy=all(one > 0 for margin, one in variances.items() if margin),
        even=bool(precisions) and alike(min(precisions), max(precisions)),
        wanted=bool(covered),
        beyond=1 < len(needed) < len(variances),
        total=exact or variances.get(()) == 0.0,
        zeros=zeros,
    )


def alike(least: float, most: float) -> bool:
    """Whether precisions between two are the same, up to rounding."""
    return least >= (1 - _EVEN) * most


@dataclass(frozen=True)
class Method:
    """A method of non-negativity: its ``name``; ``refuses``: why it does not apply, None where it does; ``effort``:
    the seconds of processor time that it takes once, about.
    """

    name: str
    refuses: Callable[[Grounds], str | None]
    effort: Callable[[Grounds], float]


METHODS: dict[str, Method] = {}
"""All of them by name."""


def method(name: str, effort: Callable[[Grounds], float]) -> Callable[[Callable[[Grounds], str | None]], Method]:
    """Declare a method: the function that is decorated says why it does not apply."""

    def declared(refuses: Callable[[Grounds], str | None]) -> Method:
        METHODS[name] = Method(name, refuses, effort)
        return METHODS[name]

    return declared


_LISTED = "a measured table has too many margins for it"


def _projecting(grounds: Grounds) -> float:
    """Large tables take many steps from a start that is sought itself, or none if all cells are measured alike."""
    if grounds.cells <= QUICK_CELLS:
        return 0.01 + 8e-6 * grounds.cells
    return 0.01 + (2e-6 if grounds.even else 60e-6) * grounds.cells


@method("least-squares", _projecting)
def least_squares(grounds: Grounds) -> str | None:
    return None


@method("log-linear", lambda grounds: 0.33)
def log_linear(grounds: Grounds) -> str | None:
    small = 1 < grounds.parameters <= CHAIN_SIZE / grounds.cells
    return None if grounds.noisy and small else "it needs a small table and no exact residual but the total"


@method("entropy", lambda grounds: 0.2 + 4.4e-6 * grounds.cells**1.18)
def entropy(grounds: Grounds) -> str | None:
    fits = grounds.noisy and grounds.wanted and grounds.parameters > 1 and not grounds.wide
    if fits and grounds.cells <= ENTROPY_CELLS:
        return None
    return "it needs measured tables to be wanted, at most 2^20 cells, and no exact residual but the total"


def _alike(grounds: Grounds) -> float:
    """Small tables are probed more often; cells that are not measured alike are looked at several times."""
    if grounds.wide:
        return 15e-6 * grounds.cells
    each = 20e-6 if grounds.cells <= MEDIUM_CELLS else 10e-6
    return 0.03 + 2.7e-3 * float(2 ** len(grounds.shape)) + (1 if grounds.even else 3) * each * grounds.cells


@method("sparse", _alike)
def sparse(grounds: Grounds) -> str | None:
    return None if grounds.complete else "it needs every residual of the full table measured with noise"


@method("linear-program", lambda grounds: 0.01 + 8e-6 * grounds.cells)
def linear_program(grounds: Grounds) -> str | None:
    if grounds.cells > PROGRAM_CELLS:
        return f"the full table has more than the {PROGRAM_CELLS} cells that a linear program is solved for"
    return _LISTED if grounds.wide else None


@method("simple", lambda grounds: 0.01 + 8e-6 * grounds.cells)
def simple(grounds: Grounds) -> str | None:
    if grounds.wide:
        return _LISTED
    if grounds.zeros:
        return "raising the constant fills impossible cells"
    return "raising the constant changes the total, which is exact" if grounds.total or not grounds.noisy else None


_BESIDE = 0.2
"""What a chain takes that runs beside fifteen others, as a part of what it takes alone."""

_PROBED = 2.0
"""What it takes to compare risks where a chain is one of the rivals, as a multiple of what the methods take alone."""


@dataclass(frozen=True)
class Chosen:
    """The ``method`` for a full table, and its ``rivals``: methods that the noisy numbers may decide for instead."""

    method: str
    rivals: tuple[str, ...] = ()

    def effort(self, grounds: Grounds) -> float:
        """Seconds of processor time of making the table non-negative once, rivals included."""
        compared = self.method in ("sparse", "log-linear")
        tried = {self.method, *(self.rivals if compared else ())} & set(METHODS)
        probed = _PROBED if self.method == "log-linear" and self.rivals else 1.0
        return probed * sum(METHODS[name].effort(grounds) for name in tried)

    def again(self, grounds: Grounds) -> float:
        """The same of making it once more among many, for error bars: chains run side by side, and maximum entropy is
        tried again only where it was best.
        """
        if self.method == "log-linear":
            return _BESIDE * METHODS["log-linear"].effort(grounds)
        if self.method == "entropy":
            return METHODS["entropy"].effort(grounds) / 2  # one path of two
        return Chosen(self.method, tuple(name for name in self.rivals if name not in _PATHS)).effort(grounds)


_PATHS = ("entropy", f"entropy{SHRUNK}")
"""The two paths that maximum entropy follows."""


def choose(asked: str, grounds: Grounds) -> Chosen:
    """The method that is asked for, or the one that ``auto`` comes to."""
    if asked != "auto":
        return Chosen(asked)
    able = {name for name, one in METHODS.items() if one.refuses(grounds) is None}
    if "sparse" in able and grounds.wanted:
        quick = grounds.cells <= QUICK_CELLS or grounds.even
        rivals = [f"sparse{TRIMMED}", *(["least-squares"] if quick and not grounds.wide else [])]
        return Chosen("sparse", (*rivals, *(_PATHS if grounds.beyond and "entropy" in able else ())))
    # A chain that gets lost is not trusted, and independence has no logarithm where nobody is left.
    if "log-linear" in able and "sparse" not in able:
        return Chosen("log-linear", (*(_PATHS if "entropy" in able else ()), "least-squares"))
    if "entropy" in able and "sparse" not in able:
        return Chosen("entropy", (f"entropy{SHRUNK}", "least-squares"))
    return Chosen("least-squares")
