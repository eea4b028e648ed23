"""How the tables of a plan will be published, decided once: whoever predicts, checks or does it asks here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.errors import RefusedError
from margrave.messages.catalogue import say
from margrave.planning.limits import (
    FITTED_CELLS,
    FLOW_CELLS,
    FULL_CELLS,
    KEPT_CELLS,
    LISTED_ATTRIBUTES,
    MODEL_CELLS,
    RECORD_READS,
    is_wide,
    simulations,
)
from margrave.planning.publication.methods import METHODS, Chosen, Grounds, choose, grounds_of
from margrave.planning.publication.raises import RAISED, TABLE, Raises, no_raise, raises_of

if TYPE_CHECKING:
    from margrave.planning.plan import Plan
    from margrave.spec.choices import Rounding
    from margrave.spec.spec import Spec

UNBIASED, RECORDS, GRAPHICAL = "none", "records", "graphical"
"""What is published where it is not a full table made non-negative: tables as they are measured, fitted records, or
records that lean on a graphical model of what was selected.
"""


@dataclass(frozen=True)
class Publishing:
    """How tables will be published.

    ``asked``: the method of the spec. ``choice``: the one that is taken, and its rivals; `UNBIASED` where tables are
    published as they are measured, for the reason ``why_not``. ``rounding``: to whole numbers, or ``none``. ``cells``:
    the size of the full table that is made, 0 where none is. ``seconds``: processor time of making the table once,
    about; that of records depends on their number. ``simulations``: how often the table is made again for error bars.
    ``raises``: how much the total will grow, where it is raised without a full table.
    """

    asked: str
    choice: Chosen
    rounding: str
    why_not: str | None = None
    cells: int = 0
    seconds: float = 0.0
    simulations: int = 0
    raises: Raises | None = None

    @property
    def method(self) -> str:
        return self.choice.method

    @property
    def records(self) -> bool:
        """Whether records are fitted, with kinds or with a model behind them."""
        return self.method in (RECORDS, GRAPHICAL)

    @property
    def microdata(self) -> bool:
        """Whether records will be published."""
        return self.records or (self.why_not is None and self.raises is None and self.rounding != "none")

    def check(self) -> None:
        """Refuse a method that the spec asks for and that is not possible."""
        if self.why_not is not None and self.asked not in ("auto", UNBIASED):
            raise RefusedError(f"nonnegative = {self.asked!r} is not possible: {self.why_not}; use 'auto' or 'none'")

    def words(self) -> str:
        """A sentence for people."""
        if self.why_not is not None:
            return say(
                "Tables will be published unbiased, with fractions and negative counts: %(reason)s.",
                reason=self.why_not,
            )
        if self.method == RECORDS:
            return say("Tables will be published as those of fitted records: whole numbers, none of them negative.")
        if self.method == GRAPHICAL:
            return say(
                "Tables will be published as those of fitted records that lean on a graphical model of what was "
                "selected: whole numbers, none of them negative. Their intervals follow from how far counts of about "
                "the same size are from the unbiased ones: they hold in the mean over these, whether or not the model "
                "does."
            )
        if self.raises is not None:
            found = say("Tables will be published non-negative by %(method)s, with fractions.", method=self.method)
            return f"{found} {self.raises.words(self.method)}"
        how = self.method
        if rivals := say(" or ").join(self.choice.rivals):
            how = say("%(method)s (or %(rivals)s, if the noisy numbers say so)", method=how, rivals=rivals)
        if self.rounding == "none":
            return say("Tables will be published non-negative by %(method)s.", method=how)
        return say(
            "Tables will be published non-negative by %(method)s, then rounded (%(rounding)s).",
            method=how,
            rounding=self.rounding,
        )

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "method": self.method,
            "rivals": list(self.choice.rivals),
            "rounding": self.rounding,
            "why_not": self.why_not,
            **({} if self.raises is None else {"raises": asdict(self.raises)}),
        }


def decide(plan: Plan) -> Publishing:
    """How the tables of a plan will be published. Needs no data, and nothing but the plan: every machine agrees."""
    asked, domain = plan.spec.nonnegative, used_domain(plan)
    if asked == "none":
        return _unbiased(asked, "the spec asks for the unbiased tables")
    if asked == "auto" and plan.looks:
        return _graphical(plan, asked)
    large = domain.cells() > FULL_CELLS
    if asked == RECORDS or (asked == "auto" and _fits_records(plan, domain)):
        reason = _no_records(plan)
        if reason is None:
            return Publishing(asked, Chosen(RECORDS), "controlled")
        return _unbiased(asked, reason if asked == RECORDS else f"{_too_large()}, and {reason}")
    if asked in RAISED or (asked == "simple" and large):
        return _raised(plan, asked if asked in RAISED else TABLE)
    reason = _too_large() if large else _no_table(plan)
    if reason is not None:
        return _unbiased(asked, reason)
    grounds = grounds_for(plan)
    choice = choose(asked, grounds)
    reason = METHODS[choice.method].refuses(grounds)
    if reason is not None:
        return _unbiased(asked, reason)
    again = simulations(domain.cells(), choice.method)
    return Publishing(asked, choice, plan.spec.rounding, None, domain.cells(), choice.effort(grounds), again)


def _graphical(plan: Plan, asked: str) -> Publishing:
    """Records that lean on a model of the selected tables, a step of whose fit goes through all its cells."""
    if plan.spec.rounding == "none":
        return _unbiased(asked, "records are whole numbers: leave out rounding")
    cells = min(MODEL_CELLS, sum(map(plan.domain.cells, plan.selected or plan.candidates.margins)))
    seconds = 0.5 + 300 * (2e-3 + 2e-8 * cells)
    return Publishing(asked, Chosen(GRAPHICAL), "controlled", None, 0, seconds)


def worth_holding(domain: Domain, wanted: Iterable[Margin], rounding: Rounding) -> bool:
    """Whether the full table of these attributes is made non-negative as a whole where records can be fitted as well.

    One that is wanted itself is, as long as it can be held; so is any for whoever chooses its rounding, since records
    need none.
    """
    asked_for = rounding != "controlled" or domain.names in wanted
    return domain.cells() <= (FULL_CELLS if asked_for else FITTED_CELLS)


def _fits_records(plan: Plan, domain: Domain) -> bool:
    """Whether ``auto`` fits records: the full table is too large, or not worth holding unless all of it is measured."""
    if domain.cells() > FULL_CELLS:
        return True
    held = worth_holding(domain, plan.spec.margins, plan.spec.rounding) or _no_records(plan) is not None
    return not held and not grounds_for(plan).complete


def _raised(plan: Plan, method: str) -> Publishing:
    """Margins with the total raised: no full table is made, so error bars are those of the unbiased tables."""
    asked, reason = plan.spec.nonnegative, no_raise(plan, method)
    if reason is None and plan.spec.rounding == "nearest":
        reason = "tables rounded cell by cell would not agree with each other: leave out rounding"
    if reason is not None:
        return _unbiased(asked, reason)
    return Publishing(asked, Chosen(method), "none", raises=raises_of(plan))


def _unbiased(asked: str, reason: str) -> Publishing:
    return Publishing(asked, Chosen(UNBIASED), "none", reason)


def _too_large() -> str:
    return f"the full table has more than {FULL_CELLS} cells"


def used_domain(plan: Plan) -> Domain:
    """The attributes that some wanted table or some exact count uses: the others are neither measured nor published."""
    exact = map(plan.counted_margin, (*plan.exact, *(margin for margin, _ in plan.cells)))
    used = {name for margin in (*plan.spec.margins, *exact) for name in margin}
    return plan.spec.domain.restrict(plan.spec.domain.margin(used))


def is_wide_plan(plan: Plan) -> bool:
    """Whether a measurement, or a table that is known exactly, has too many residuals to list."""
    margins = {*(one.query.margin for one in plan.measurements if one.query.cells), *plan.exact}
    return any(is_wide(plan.domain.shape(margin)) for margin in margins)


def record_reads(spec: Spec) -> int:
    """How many numbers are read to choose every value of one record once."""
    return sum(sum(spec.domain.shape(margin)) for margin in spec.margins)


def covered_margins(plan: Plan) -> list[Margin]:
    """Every residual, as measured, that the measurements or the exact counts say something about."""
    margins = downward_closure([*(one.query.margin for one in plan.measurements), *plan.exact])
    return [margin for margin in margins if plan.accuracy.variance(margin) < float("inf")]


def grounds_for(plan: Plan) -> Grounds:
    """What the method for the full table of a plan is chosen by."""
    domain, zeros, exact = used_domain(plan), bool(plan.spec.structural_zeros), bool(plan.exact or plan.cells)
    if is_wide_plan(plan):
        names = plan.measured_margin(domain.names)
        precision = plan.accuracy.coordinates(names).precision.ravel()[1:]
        noisy, parameters = bool((precision < float("inf")).all()), 1 + int((precision > 0).sum())
        return Grounds(plan.domain.shape(names), parameters, noisy=noisy, wide=True, total=exact, zeros=zeros)
    measured = plan.domain.restrict(plan.measured_margin(domain.names))
    variances = {margin: plan.accuracy.variance(margin) for margin in covered_margins(plan)}
    wanted = tuple(map(plan.measured_margin, plan.spec.margins))
    return grounds_of(measured, variances, wanted, exact, zeros)


def _no_records(plan: Plan) -> str | None:
    """Why records cannot be fitted to the answers of a plan; None where they can."""
    if not plan.encoding.keeps_cells:
        return "records are not fitted to attributes written in binary: use another strategy"
    if any(is_wide(plan.domain.shape(plan.measured_margin(margin))) for margin in plan.spec.margins):
        return f"records are not fitted to tables of more than {LISTED_ATTRIBUTES} attributes, or as large"
    if any(plan.exact) or plan.cells:
        return "fitted records keep no exact counts but the total"
    if plan.spec.rounding == "none":
        return "records are whole numbers: leave out rounding"
    if plan.spec.nonnegative == "auto" and record_reads(plan.spec) > RECORD_READS:
        return "fitting records to so many tables would take long: it is done only if nonnegative = 'records'"
    if not any(plan.spec.margins):
        return "there is no table of any attribute to fit records to"
    return None


def _no_table(plan: Plan) -> str | None:
    """Why no full table could have the exact counts of a plan; None where one can."""
    if plan.spec.rounding == "nearest" and (any(plan.exact) or plan.cells):
        return "rounding each cell to the nearest whole number would change exact counts; leave out rounding"
    exact = tuple(map(plan.counted_margin, plan.exact))
    return unkept(plan.spec.domain, exact, tuple(plan.counted_margin(margin) for margin, _ in plan.cells))


def unkept(domain: Domain, margins: tuple[Margin, ...], cells: tuple[Margin, ...]) -> str | None:
    """Why exact counts of these margins, and of cells of others, are not kept by rounding; None where they are."""
    names = domain.margin({name for margin in (*margins, *cells) for name in margin})
    if names in margins:
        return None
    size, most = domain.cells(names), FLOW_CELLS if len(margins) <= 2 and not cells else KEPT_CELLS
    if size <= most:
        return None
    return (
        f"the exact counts are about {', '.join(names)} together, {size} cells, and whole numbers with all of them are "
        f"sought for up to {most}"
    )
