"""What a plan guarantees, in numbers and in words for a person in the data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp

from margrave.budget.accountant import epsilon_of, groups
from margrave.budget.events import Protection
from margrave.budget.units import ZCDP, ApproxDP, Budget, PureDP
from margrave.design.choices import Induced

_DELTA = Fraction(1, 10**9)
"""ρ-zCDP is also stated as (ε, δ) for this δ."""

_STEPS: dict[Induced, str] = {
    "worst-case": (
        "A step changes as many records as it takes to keep the facts, in any way that has no smaller part which keeps "
        "them too (worst-case induced neighbours). This holds whatever cells are known to be empty."
    ),
    "positive": (
        "A step lets one record change its values, and the fewest other records that repair the facts (positive "
        "induced neighbours). It supposes that every cell is possible: to those who know that some are empty, larger "
        "changes are protected only by the sum over several steps, which they may be able to rule out."
    ),
    "markov": (
        "A step is one of the smallest exchanges that keep the facts (neighbours by Markov bases). Larger changes are "
        "protected only by the sum over several steps, and to those who know that some cells are empty, which may rule "
        "these steps out, nothing is promised about them: prefer worst-case where that is affordable."
    ),
}
_COMPOSITION = (
    "Costs of several releases add up as long as all are relative to the same facts. Releases about separate parts of "
    "the data add up too, for one step may change records in both; and a new public fact changes the cost of all "
    "releases made before."
)


@dataclass(frozen=True)
class Guarantee:
    """The cost of a release, whom it protects, and what it says for groups.

    ``facts``: the public facts, in words, that it is relative to; ``induced``: the notion of neighbours that remain.
    """

    cost: Budget
    protection: Protection
    facts: str = ""
    induced: Induced | None = None

    @property
    def groups(self) -> dict[int, Budget]:
        """The guarantee for several units together."""
        return groups(self.cost)

    @property
    def unit(self) -> str:
        """What one protected unit is, in words."""
        records = self.protection.records
        return "one record" if records == 1 else f"one unit with at most {records} records"

    def words(self) -> tuple[str, ...]:
        """Sentences for people."""
        found = [f"The release satisfies {self._formal()}.", self._neighbours(), self._plainly()]
        if self.induced is not None:
            found += [_STEPS[self.induced], _COMPOSITION]
        together = "; ".join(f"{size} together: {approximate(budget)}" for size, budget in self.groups.items())
        if together:
            whom = "For changes of several steps" if self.induced is not None else "For groups of units"
            found.append(f"{whom} the guarantee is weaker: {together}.")
        found.append("Anything computed from the release alone keeps this guarantee, however often it is used.")
        return tuple(found)

    def _formal(self) -> str:
        match self.cost:
            case PureDP():
                return f"pure differential privacy with {approximate(self.cost)}"
            case ApproxDP():
                return f"differential privacy with {approximate(self.cost)}"
            case ZCDP(rho):
                also = ApproxDP(epsilon_of(rho, _DELTA), _DELTA)
                both = f"{approximate(self.cost)} (so also {approximate(also)})"
                return f"zero-concentrated differential privacy with {both}"

    def _neighbours(self) -> str:
        if self.induced is not None:
            return (
                f"It is relative to public facts: {self.facts}. These are published exactly, and nothing protects "
                f"them. Protected is everything else about {self.unit}: two data sets with the same facts that are "
                "one step apart."
            )
        if self.protection.sensitive:
            names = ", ".join(self.protection.sensitive)
            return (
                f"Protected is the value of {names} in {self.unit}. Not protected is whether somebody is in the data, "
                "nor any other attribute: tables without a sensitive attribute are exact."
            )
        if self.protection.neighbours == "replace":
            return (
                f"Protected is everything about {self.unit}, as if another had taken its place. Not protected is how "
                "many there are."
            )
        return f"Protected is everything about {self.unit}, also whether it is in the data at all."

    def _plainly(self) -> str:
        epsilon = float(epsilon_of(self.cost.rho, _DELTA) if isinstance(self.cost, ZCDP) else self.cost.epsilon)
        if epsilon > 50:
            return "In plain words: almost nothing is guaranteed at this budget."
        replaced = self.protection.sensitive or self.protection.neighbours == "replace"
        otherwise = "with other values in its place" if replaced else "without"
        if self.induced is not None:
            otherwise = "with other values in its place, and as few other records changed as the facts demand"
        exception = "" if isinstance(self.cost, PureDP) else ", except with the tiny probability δ"
        return (
            f"In plain words: whatever is published was at most {exp(epsilon):.3g} times as likely with your data as "
            f"{otherwise}, and at least {exp(-epsilon):.2g} times{exception}."
        )


def approximate(budget: Budget) -> str:
    """A budget in a few digits, for reading; the exact one is kept elsewhere."""
    match budget:
        case PureDP(epsilon):
            return f"ε = {_digits(epsilon)}"
        case ApproxDP(epsilon, delta):
            return f"ε = {_digits(epsilon)}, δ = {_digits(delta)}"
        case ZCDP(rho):
            return f"ρ = {_digits(rho)}"


def _digits(number: Fraction) -> str:
    return f"{float(number):.4g}"
