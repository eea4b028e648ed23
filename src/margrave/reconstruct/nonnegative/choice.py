"""From unbiased estimates to one non-negative table, by a named method.

    auto             the one of the next four that is most accurate for the estimates at hand
    least-squares    the nearest table in the metric of the variances, at the estimated total
    log-linear       posterior mean of a log-linear model: small tables of which margins are measured
    entropy          near the measurements and otherwise near independence, by estimated risk
    sparse           posterior mean of cells that are alike a priori: every cell measured
    linear-program   the min–max program
    simple           the constant raised until no cell is negative

``auto`` takes, where every cell is measured, whichever has the least estimated risk for the wanted tables: ``sparse``
(as it is, or with cells that are expected to hold less than half a record emptied), ``least-squares``, or ``entropy``
fitted to the wanted tables alone. Where margins are measured it takes ``log-linear`` for a small table and ``entropy``
for a larger one; where other residuals than the total are exact, or the table is very large, ``least-squares``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.lattice import downward_closure
from margrave.errors import UsageError, suggest
from margrave.planning.limits import FULL_CELLS
from margrave.reconstruct.estimates import Estimates, Possible, Progress
from margrave.reconstruct.nonnegative import linear_program as programs
from margrave.reconstruct.nonnegative import log_linear as posterior
from margrave.reconstruct.nonnegative import sparse as exchangeable
from margrave.reconstruct.nonnegative.entropy import applies as entropy_applies
from margrave.reconstruct.nonnegative.entropy import entropy
from margrave.reconstruct.nonnegative.least_squares import least_squares
from margrave.reconstruct.nonnegative.spectrum import Spectrum
from margrave.reconstruct.stein import measured, probes, risk_of

METHODS = ("auto", "least-squares", "log-linear", "sparse", "entropy", "linear-program", "simple")
TRIMMED = ", trimmed"
"""What the name of a method ends in where small cells were set to zero afterwards."""

_CLEARLY = 0.8
"""Estimated risks are themselves noisy: what was measured beyond the wanted tables is given up only for this much."""

_ACCEPTED = 0.2
"""A chain that accepts fewer of its moves is not trusted."""

_FAR = 3.0
"""Nor is one that ends at a table whose misfit is this many times the number of parameters."""


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


def nonnegative(
    estimates: Estimates,
    method: str = "auto",
    *,
    wanted: Sequence[Margin] = (),
    possible: Possible | None = None,
    progress: Progress | None = None,
) -> NonNegative:
    """A non-negative table that is empty where not ``possible`` and as right as can be on the ``wanted`` margins."""
    if method not in METHODS:
        raise UsageError(f"unknown method {method!r}{suggest(method, METHODS)}; there are {', '.join(METHODS)}")
    allowed = _checked(estimates, possible)
    if method == "auto":
        return _automatic(estimates, wanted, allowed, progress)
    return _named(estimates, method, wanted, allowed, progress)


def _checked(estimates: Estimates, possible: Possible | None) -> Possible | None:
    if estimates.domain.cells() > FULL_CELLS:
        raise UsageError(
            f"the full table has {estimates.domain.cells()} cells, more than the {FULL_CELLS} that are held"
        )
    if possible is None:
        return None
    allowed = np.asarray(possible, dtype=bool)
    if allowed.shape != estimates.domain.shape():
        raise UsageError(f"possible must have shape {estimates.domain.shape()}, not {allowed.shape}")
    if not allowed.any():
        raise UsageError("some cell must be possible")
    return None if allowed.all() else allowed


def _named(
    estimates: Estimates, method: str, wanted: Sequence[Margin], possible: Possible | None, progress: Progress | None
) -> NonNegative:
    if method == "least-squares":
        solved = least_squares(estimates, possible, progress=progress)
        note = f"gap {solved.gap:.2g} after {solved.iterations} iterations"
        if solved.violation > 0:
            note += f"; largest error of an exact coordinate {solved.violation:.2g}"
        return NonNegative(solved.table, method, solved.misfit, solved.gap, (note,))
    if method == "linear-program":
        program = programs.linear_program(estimates, possible)
        return _result(estimates, program.table, method, f"largest coefficient error b = {program.bound:.6g}")
    if method == "simple":
        if possible is not None:
            raise UsageError("the method 'simple' cannot keep impossible cells empty: use 'least-squares'")
        table, growth = programs.raised(estimates)
        return _result(estimates, table, method, f"total raised by {growth:.6g}")
    if method == "entropy":
        need = "needs measured tables to be wanted, at most 2^20 cells, and no exact residual but the total"
        _demand(entropy_applies(estimates) and bool(measured(estimates, wanted)), method, need)
        chosen = entropy(estimates, wanted, possible, progress=progress)
        note = f"κ = {chosen.kappa:.3g}, estimated squared error {chosen.risk:.4g}"
        return _result(estimates, chosen.table, method, note)
    if method == "sparse":
        _demand(exchangeable.applies(estimates), method, "needs every residual of the full table measured with noise")
        return _result(estimates, exchangeable.sparse(estimates, possible), method)
    _demand(posterior.applies(estimates), method, "needs a small table and no exact residual but the total")
    table, accepted = posterior.log_linear(estimates, possible)
    return _result(estimates, table, method, f"posterior mean; {accepted:.0%} of the moves accepted")


def _demand(holds: bool, method: str, need: str) -> None:
    if not holds:
        raise UsageError(f"the method {method!r} {need}: use 'auto' or 'least-squares'")


def _automatic(
    estimates: Estimates, wanted: Sequence[Margin], possible: Possible | None, progress: Progress | None
) -> NonNegative:
    if exchangeable.applies(estimates) and measured(estimates, wanted):
        return _least_risk(estimates, wanted, possible)
    if posterior.applies(estimates) and not exchangeable.applies(estimates):
        if (found := _posterior(estimates, possible)) is not None:
            return found
    elif entropy_applies(estimates) and measured(estimates, wanted):
        return _named(estimates, "entropy", wanted, possible, progress)
    return _named(estimates, "least-squares", wanted, possible, progress)


def _posterior(estimates: Estimates, possible: Possible | None) -> NonNegative | None:
    """The log-linear posterior mean; None where the chain did not reach it, as it may where there is hardly any noise.

    Whatever the noise, the misfit of the truth is about half the number of parameters.
    """
    try:
        table, accepted = posterior.log_linear(estimates, possible)
    except np.linalg.LinAlgError:
        return None
    if accepted < _ACCEPTED or not np.isfinite(table).all():
        return None
    found = _result(estimates, table, "log-linear", f"posterior mean; {accepted:.0%} of the moves accepted")
    return found if found.misfit <= _FAR * posterior.parameters(estimates) else None


def _least_risk(estimates: Estimates, wanted: Sequence[Margin], possible: Possible | None) -> NonNegative:
    """The candidate with the least estimated sum of squared errors over the wanted tables."""
    tried = probes(estimates, wanted)
    every = [estimates, *(probe.moved for probe in tried)]
    solved = [least_squares(one, possible, tolerance=1e-3) for one in every]
    alike = [exchangeable.sparse(one, possible) for one in every]
    candidates = {
        "least-squares": [one.table for one in solved],
        "sparse": alike,
        f"sparse{TRIMMED}": [_trimmed(one, table) for one, table in zip(every, alike, strict=True)],
    }
    risks = {name: risk_of(tried, tables) for name, tables in candidates.items()}
    best = min(risks, key=lambda name: risks[name])
    note = "estimated squared error: " + ", ".join(f"{name} {value:.4g}" for name, value in risks.items())
    # In a huge table of nearly empty cells every cell-wise method is biased upwards; the wanted tables alone are not.
    needed = _restricted(estimates, measured(estimates, wanted))
    if len(needed.values) < len(estimates.values) and entropy_applies(needed):
        smooth = entropy(needed, wanted, possible)
        note += f", entropy {smooth.risk:.4g}"
        if smooth.risk < _CLEARLY * risks[best]:
            return _result(estimates, smooth.table, "entropy", note)
    if best == "least-squares":
        return NonNegative(solved[0].table, best, solved[0].misfit, solved[0].gap, (note,))
    return _result(estimates, candidates[best][0], best, note)


def _restricted(estimates: Estimates, margins: Sequence[Margin]) -> Estimates:
    """The estimates of what the given margins consist of."""
    kept = [margin for margin in downward_closure([(), *margins]) if margin in estimates.values]
    return Estimates(
        estimates.domain, {one: estimates.values[one] for one in kept}, {one: estimates.variances[one] for one in kept}
    )


def _trimmed(estimates: Estimates, table: Floats) -> Floats:
    """The table with cells that are expected to hold less than half a record emptied; an exact total is kept."""
    kept = np.where(table < 0.5, 0.0, table)
    mass = float(kept.sum())
    if not estimates.exact(()):
        return kept
    return kept * (estimates.total / mass) if mass > 0 else table


def _result(estimates: Estimates, table: Floats, method: str, *notes: str) -> NonNegative:
    spectrum = Spectrum.of(estimates)
    return NonNegative(table, method, spectrum.misfit(spectrum.transform.forward(table)), None, notes)
