"""From unbiased estimates to one non-negative table, by the method that `planning.publication.methods` comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.lattice import downward_closure
from margrave.errors import UsageError, suggest
from margrave.planning.limits import FULL_CELLS
from margrave.planning.publication.methods import METHODS, TRIMMED, Chosen, choose, grounds_of
from margrave.progress import Progress, counted
from margrave.reconstruct.estimates import Estimates, Possible
from margrave.reconstruct.nonnegative import linear_program, simple  # noqa: F401 they register themselves
from margrave.reconstruct.nonnegative import log_linear as posterior
from margrave.reconstruct.nonnegative import sparse as exchangeable
from margrave.reconstruct.nonnegative.entropy import entropy, followable, solve_entropy
from margrave.reconstruct.nonnegative.least_squares import least_squares
from margrave.reconstruct.nonnegative.rehearsal import regrets
from margrave.reconstruct.nonnegative.solvers import SOLVERS, NonNegative
from margrave.reconstruct.stein import measured, probes, risk_of

_CLEARLY = 0.8
"""Estimated risks are themselves noisy: what was measured beyond the wanted tables is given up only for this much."""

_ACCEPTED = 0.2
"""A chain that accepts fewer of its moves is not trusted."""

_REHEARSED = 120
"""Chains of rehearsals are shorter: what they give is averaged over all of them."""

_SIMULATED = 120
"""So are those of simulated error bars. What is left of chance in the mean of so many tables, which hardly depend on
one another, is about a hundredth of the squared error that is simulated.
"""

_FAR = 3.0
"""Nor is one that ends at a table whose misfit is this many times the number of parameters."""


def nonnegative(
    estimates: Estimates,
    method: str = "auto",
    *,
    wanted: Sequence[Margin] = (),
    possible: Possible | None = None,
    progress: Progress | None = None,
) -> NonNegative:
    """A non-negative table that is empty where not ``possible`` and as right as can be on the ``wanted`` margins."""
    names = ("auto", *METHODS)
    if method not in names:
        raise UsageError(f"unknown method {method!r}{suggest(method, names)}; there are {', '.join(names)}")
    _check(estimates, possible)
    zeros = possible is not None and not np.all(possible)
    grounds = grounds_of(estimates.domain, estimates.variances, wanted, zeros=zeros)
    choice = choose(method, grounds)
    reason = METHODS[choice.method].refuses(grounds)
    if reason is not None:
        raise UsageError(f"the method {method!r} is not possible: {reason}; use 'auto' or 'least-squares'")
    return solved(estimates, choice, wanted=wanted, possible=possible, progress=progress)


def solved(
    estimates: Estimates,
    choice: Chosen,
    *,
    wanted: Sequence[Margin] = (),
    possible: Possible | None = None,
    progress: Progress | None = None,
) -> NonNegative:
    """The same by a method that was chosen before."""
    allowed = _check(estimates, possible)
    if not choice.rivals:
        return SOLVERS[choice.method](estimates, wanted, allowed, progress)
    if choice.method == "sparse":
        return _least_risk(estimates, choice.rivals, wanted, allowed)
    if choice.method == "log-linear":
        return _compared(estimates, choice.rivals, wanted, allowed)
    method = choice.method if followable(estimates) else choice.rivals[-1]
    return SOLVERS[method](estimates, wanted, allowed, progress)


def solved_together(
    every: Sequence[Estimates],
    choice: Chosen,
    *,
    wanted: Sequence[Margin] = (),
    possible: Possible | None = None,
    like: str = "",
    progress: Progress | None = None,
) -> list[NonNegative]:
    """The same for several estimates of the same residuals, such as those of simulated error bars: in less time.

    ``like``: the method that was found best for estimates like these. Where cells are compared one by one, maximum
    entropy is not tried again unless it was best; elsewhere that method alone is, with its κ looked for each time.
    """
    allowed = _check(every[0], possible)
    if choice.method == "sparse" and not like.startswith("entropy") and like:
        choice = Chosen(choice.method, tuple(name for name in choice.rivals if not name.startswith("entropy")))
    if choice.rivals and like == "log-linear":
        means = _posteriors(every, allowed, progress, kept=_SIMULATED)
        return [table or _projected(one, wanted, allowed) for one, table in zip(every, means, strict=True)]
    step, tables = counted(progress, len(every)), []
    for one in every:
        if choice.rivals and choice.method != "sparse" and like:
            again = like.startswith("entropy") and followable(one)
            found = solve_entropy(one, wanted, allowed, None, like) if again else _projected(one, wanted, allowed)
        else:
            found = solved(one, choice, wanted=wanted, possible=possible)
        tables.append(found)
        step()
    return tables


def _projected(estimates: Estimates, wanted: Sequence[Margin], possible: Possible | None) -> NonNegative:
    return SOLVERS["least-squares"](estimates, wanted, possible, None)


def _compared(
    estimates: Estimates, rivals: Sequence[str], wanted: Sequence[Margin], possible: Possible | None
) -> NonNegative:
    """The log-linear posterior mean or, where least squares do better in rehearsals, the least risky of its rivals."""
    mean = _posteriors([estimates], possible, None)[0]
    margins = measured(estimates, wanted)
    if not margins:  # nothing that is wanted has an estimate to be compared with
        return mean or _projected(estimates, wanted, possible)
    projected = _projected(estimates, wanted, possible)
    told = "the chain of the posterior mean was lost"
    if mean is not None:

        def means(every: Sequence[Estimates]) -> list[Floats]:
            fitted = _posteriors(every, possible, None, kept=_REHEARSED)
            pairs = zip(every, fitted, strict=True)
            return [_nearest(one, possible) if table is None else table.table for one, table in pairs]

        def nearest(every: Sequence[Estimates]) -> list[Floats]:
            return [_nearest(one, possible) for one in every]

        own, other = regrets(estimates, margins, (mean.table, projected.table), (means, nearest))
        told = f"largest regret in rehearsals: log-linear {own:.0%}, least-squares {other:.0%}"
        if own <= other:
            return replace(mean, notes=(*mean.notes, told))
    found = _rival(estimates, rivals, wanted, possible, projected)
    return replace(found, notes=(*found.notes, told))


def _nearest(estimates: Estimates, possible: Possible | None) -> Floats:
    return least_squares(estimates, possible, tolerance=1e-3).table


def _rival(
    estimates: Estimates,
    rivals: Sequence[str],
    wanted: Sequence[Margin],
    possible: Possible | None,
    projected: NonNegative,
) -> NonNegative:
    """Least squares or maximum entropy, whichever has less estimated risk."""
    if "entropy" not in rivals or not followable(estimates):
        return projected
    tried = probes(estimates, wanted)
    risk = risk_of(tried, [_nearest(one, possible) for one in (estimates, *(probe.moved for probe in tried))])
    smooth = entropy(estimates, wanted, possible)
    note = f"estimated squared error: least-squares {risk:.4g}, {smooth.method} {smooth.risk:.4g}"
    if smooth.risk >= risk:
        return replace(projected, notes=(*projected.notes, note))
    return NonNegative.of(estimates, smooth.table, smooth.method, note)


def _check(estimates: Estimates, possible: Possible | None) -> Possible | None:
    """The possible cells, None where all are."""
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


def _posterior(estimates: Estimates, possible: Possible | None) -> NonNegative | None:
    """The log-linear posterior mean; None where the chain did not reach it, as it may where there is hardly any noise.

    Whatever the noise, the misfit of the truth is about half the number of parameters.
    """
    try:
        table, accepted = posterior.log_linear(estimates, possible)
    except np.linalg.LinAlgError:
        return None
    return _trusted(estimates, table, accepted)


def _posteriors(
    every: Sequence[Estimates], possible: Possible | None, progress: Progress | None, **length: int
) -> list[NonNegative | None]:
    """The same for several estimates at once or, where that stops at one of them, one by one."""

    def told(part: float) -> None:
        if progress is not None:
            progress(int(part * len(every)), len(every))

    try:
        tables, accepted = posterior.log_linears(every, possible, told, **length)
    except np.linalg.LinAlgError:
        return [_posterior(one, possible) for one in every]
    return [_trusted(*one) for one in zip(every, tables, accepted, strict=True)]


def _trusted(estimates: Estimates, table: Floats, accepted: float) -> NonNegative | None:
    if accepted < _ACCEPTED or not np.isfinite(table).all():
        return None
    found = NonNegative.of(estimates, table, "log-linear", f"posterior mean; {accepted:.0%} of the moves accepted")
    return found if found.misfit <= _FAR * posterior.parameters(estimates) else None


def _least_risk(
    estimates: Estimates, rivals: Sequence[str], wanted: Sequence[Margin], possible: Possible | None
) -> NonNegative:
    """The candidate with the least estimated sum of squared errors over the wanted tables."""
    tried = probes(estimates, wanted)
    every = [estimates, *(probe.moved for probe in tried)]
    projected = [least_squares(one, possible, tolerance=1e-3) for one in every if "least-squares" in rivals]
    alike = [exchangeable.sparse(one, possible) for one in every]
    candidates = {"least-squares": [one.table for one in projected]} if projected else {}
    candidates["sparse"] = alike
    totals = [one.total if one.exact(()) else None for one in every]
    candidates[f"sparse{TRIMMED}"] = [exchangeable.trimmed(*one) for one in zip(alike, totals, strict=True)]
    risks = {name: risk_of(tried, tables) for name, tables in candidates.items()}
    best = min(risks, key=lambda name: risks[name])
    note = "estimated squared error: " + ", ".join(f"{name} {value:.4g}" for name, value in risks.items())
    # In a huge table of nearly empty cells every cell-wise method is biased upwards; the wanted tables alone are not.
    needed = _restricted(estimates, measured(estimates, wanted))
    if "entropy" in rivals and followable(needed):
        smooth = entropy(needed, wanted, possible)
        note += f", entropy {smooth.risk:.4g}"
        if smooth.risk < _CLEARLY * risks[best]:
            return NonNegative.of(estimates, smooth.table, smooth.method, note)
    if best == "least-squares":
        return NonNegative(projected[0].table, best, projected[0].misfit, projected[0].gap, (note,))
    return NonNegative.of(estimates, candidates[best][0], best, note)


def _restricted(estimates: Estimates, margins: Sequence[Margin]) -> Estimates:
    """The estimates of what the given margins consist of."""
    kept = [margin for margin in downward_closure([(), *margins]) if margin in estimates.values]
    return Estimates(
        estimates.domain, {one: estimates.values[one] for one in kept}, {one: estimates.variances[one] for one in kept}
    )
