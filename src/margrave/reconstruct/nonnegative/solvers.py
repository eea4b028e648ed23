"""The solver of each method of non-negativity, by the name under which `planning.publication.methods` declares it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.progress import Progress
from margrave.reconstruct.estimates import Estimates, Possible
from margrave.reconstruct.nonnegative.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class NonNegative:
    """A non-negative table and how it came about.

    ``method``: the one that was used, never ``auto``. ``misfit``: ½ Σ_T ‖R_T(w) − R̂_T‖²/σ²_T over noisy residuals.
    ``gap``: how far at most the misfit is above its minimum; None where the method does not minimise it.
    """

    table: Floats
    method: str
    misfit: float
    gap: float | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, estimates: Estimates, table: Floats, method: str, *notes: str) -> NonNegative:
        """A table that does not minimise the misfit."""
        spectrum = Spectrum.of(estimates)
        return cls(table, method, spectrum.misfit(spectrum.transform.forward(table)), None, notes)


Solver = Callable[[Estimates, Sequence[Margin], Possible | None, Progress | None], NonNegative]
"""From estimates, wanted margins, possible cells (None if all are) and who is told of progress to a table."""

SOLVERS: dict[str, Solver] = {}


def solver(name: str) -> Callable[[Solver], Solver]:
    """Register the solver of a declared method."""

    def registered(solve: Solver) -> Solver:
        SOLVERS[name] = solve
        return solve

    return registered
