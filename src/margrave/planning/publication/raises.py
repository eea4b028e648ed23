"""Simple non-negativity without a full table: margins built from the coefficients, the first of them raised.

Two raises have a name. They add the same to every cell of a margin, so that tables agree with each other for any
number of attributes.

    simple-table     enough that a non-negative full table with these coefficients exists, with a stated probability
    simple-margins   the least that makes the wanted tables non-negative; a full table with them need not exist
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING

from margrave.algebra.lattice import maximal
from margrave.errors import UsageError
from margrave.messages.catalogue import say
from margrave.noise.laplace import DiscreteLaplace
from margrave.planning.limits import is_wide

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

TABLE, MARGINS = "simple-table", "simple-margins"
RAISED = (TABLE, MARGINS)
"""The methods that raise the total and hold no full table."""
FAILURE = 0.05
"""The probability that a raise is not enough."""


@dataclass(frozen=True)
class Raises:
    """What the total may grow by: ``table``, the raise after which a non-negative full table exists but with the
    probability `FAILURE`, None where no bound is known; ``margins``, which the least raise exceeds with no more than
    that.
    """

    table: float | None
    margins: float

    def words(self, method: str) -> str:
        """Both, beforehand."""
        least = f"{self.margins:,.0f}"
        if self.table is None:
            return say(
                "The total grows: the least that makes the wanted tables non-negative is at most %(least)s (95 %%). It "
                "promises no more than these tables.",
                least=least,
            )
        both = say(
            "The total grows: by %(table)s a non-negative full table with these coefficients exists (95 %%); the least "
            "that makes the wanted tables non-negative is at most %(least)s (95 %%).",
            table=f"{self.table:,.0f}",
            least=least,
        )
        if method == TABLE:
            return f"{both} {say('The first is taken.')}"
        return f"{both} {say('The second is taken, and promises no more than these tables.')}"


def raises_of(plan: Plan) -> Raises:
    """The raises of a plan, before any data is opened."""
    domain, wanted = plan.spec.domain, maximal(plan.spec.margins)
    level = 1 - FAILURE / sum(map(domain.cells, wanted))
    width = max(error.half_width(level) for error in plan.cell_errors())
    return Raises(table_raise(plan), width * max(map(domain.cells, wanted)))


def table_raise(plan: Plan) -> float | None:
    """The raise after which a non-negative full table exists but with probability `FAILURE`; None where none is known.

    It is known where each coefficient is measured once, as a ±1 contrast with the same Laplace noise.
    """
    noises = {one.noise for one in plan.measurements}
    noise = next(iter(noises))
    if plan.strategy != "fourier" or len(noises) > 1 or not isinstance(noise, DiscreteLaplace):
        return None
    return sufficient_raise(float(noise.scale), len(plan.measurements), FAILURE)


def no_raise(plan: Plan, method: str) -> str | None:
    """Why the total of a plan cannot be raised; None where it can."""
    if plan.exact or plan.cells:
        return "raising the constant changes the total, which is exact"
    if plan.spec.structural_zeros:
        return "raising the constant fills impossible cells"
    if not plan.encoding.keeps_cells:
        return "raising the constant fills codes that stand for no value: attributes are written in binary here"
    if any(is_wide(plan.domain.shape(plan.measured_margin(margin))) for margin in plan.spec.margins):
        return "a measured table has too many margins for it"
    if method == TABLE and table_raise(plan) is None:
        return "how much is enough is known for strategy = 'fourier' with pure ε alone; 'simple-margins' needs neither"
    return None


def sufficient_raise(scale: float, contrasts: int, failure: float) -> float:
    """How much to raise the total so that a non-negative full table exists with probability at least 1 − ``failure``.

    For ``contrasts`` Fourier coefficients, each a ±1 contrast with discrete Laplace noise of the given scale: a cell
    sinks by at most the sum of the |noise| over the number of cells. |noise| is at most an exponential variable
    plus ``scale · log(2/(1 + e^(−1/scale)))`` in distribution, and a sum of exponentials is a gamma variable. Holds for
    the table and its margins rebuilt from the released coefficients, whatever the data.
    """
    if not 0 < failure < 1 or contrasts < 1 or scale <= 0:
        raise UsageError("a raise needs a positive scale, at least one contrast and a failure probability in (0, 1)")
    from scipy.special import gammaincinv

    discrete = log(2.0 / (1.0 + exp(-1.0 / scale)))
    return scale * (float(gammaincinv(contrasts, 1.0 - failure)) + contrasts * discrete)
