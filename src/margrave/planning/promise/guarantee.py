"""What a plan guarantees, in numbers and in words for a person in the data."""

from __future__ import annotations

from dataclasses import dataclass

from margrave.budget.composition import groups
from margrave.budget.events import Protection
from margrave.budget.units import Budget
from margrave.messages.catalogue import later, say
from margrave.planning.defaults import DELTA
from margrave.planning.promise.belief import Bound, Suspicion, Topic, bound, exception, odds, percent, suspicions
from margrave.spec.choices import Induced

_STEPS: dict[Induced, str] = {
    "worst-case": later(
        "A step changes as many records as it takes to keep the facts, in any way that has no smaller part which keeps "
        "them too (worst-case induced neighbours). This holds whatever cells are known to be empty."
    ),
    "positive": later(
        "A step lets one record change its values, and the fewest other records that repair the facts (positive "
        "induced neighbours). It supposes that every cell is possible: to those who know that some are empty, larger "
        "changes are protected only by the sum over several steps, which they may be able to rule out."
    ),
    "markov": later(
        "A step is one of the smallest exchanges that keep the facts (neighbours by Markov bases). Larger changes are "
        "protected only by the sum over several steps, and to those who know that some cells are empty, which may rule "
        "these steps out, nothing is promised about them: prefer worst-case where that is affordable."
    ),
}
_COMPOSITION = later(
    "Costs of several releases add up as long as all are relative to the same facts. Releases about separate parts of "
    "the data add up too, for one step may change records in both; and a new public fact changes the cost of all "
    "releases made before."
)


@dataclass(frozen=True)
class Guarantee:
    """The cost of a release, whom it protects, and what it says for groups.

    ``facts``: the public facts, in words, that it is relative to; ``induced``: the notion of neighbours that remain;
    ``total_known``: whether the facts tell the number of records. ``spent``: the cost before it was stated as (ε, δ),
    where it was: it says more about groups.
    """

    cost: Budget
    protection: Protection
    facts: str = ""
    induced: Induced | None = None
    total_known: bool = True
    spent: Budget | None = None

    @property
    def suspicions(self) -> tuple[Suspicion, ...]:
        """What can be suspected of one unit and is protected, the strongest suspicion first."""
        return suspicions(self.protection, self.induced, self.total_known)

    def belief(self, suspicion: Suspicion, units: int = 1) -> Bound:
        """How far a suspicion can grow, of one unit or of several together, in somebody who knows all the rest."""
        return bound(self.cost, suspicion.steps * units)

    @property
    def suspected_together(self) -> tuple[int, ...]:
        """Numbers of units for which beliefs are bounded. A group can need more steps than its size if the facts allow
        only some of the smallest exchanges."""
        return (1,) if self.induced in ("positive", "markov") else (1, *self.groups)

    def about(self, topic: Topic) -> str:
        """What is suspected, in words."""
        one = self.protection.records == 1
        if topic == "presence":
            if one:
                return say("that your record is in the data at all")
            return say("that your records are in the data at all")
        if self.protection.sensitive:
            return say("your values of %(names)s", names=", ".join(self.protection.sensitive))
        return say("what your record says") if one else say("what your records say")

    @property
    def groups(self) -> dict[int, Budget]:
        """The guarantee for several units together, at the same δ where it is stated with one."""
        if self.spent is None:
            return groups(self.cost)
        delta = self.cost.parts.delta
        return {size: one.at_delta(delta) if delta else one for size, one in groups(self.spent).items()}

    @property
    def unit(self) -> str:
        """What one protected unit is, in words."""
        records = self.protection.records
        if records == 1:
            return say("one record")
        return say("one unit with at most %(records)s records", records=records)

    def words(self) -> tuple[str, ...]:
        """Sentences for people."""
        found = [self._formal(), self._neighbours() + self._counted(), self._plainly()]
        if self.induced is not None:
            found += [say(_STEPS[self.induced]), say(_COMPOSITION)]
        parts = [
            say("%(size)s together: %(budget)s", size=size, budget=one.brief()) for size, one in self.groups.items()
        ]
        together = "; ".join(parts)
        if together and self.induced is not None:
            found.append(say("For changes of several steps the guarantee is weaker: %(groups)s.", groups=together))
        elif together:
            found.append(say("For groups of units the guarantee is weaker: %(groups)s.", groups=together))
        found.append(say("Anything computed from the release alone keeps this guarantee, however often it is used."))
        return tuple(found)

    def _formal(self) -> str:
        also = self.cost.at_delta(DELTA)
        told = "" if also is self.cost else say(" (so also %(budget)s)", budget=also.brief())
        return say(
            "The release satisfies %(notion)s with %(budget)s%(also)s.",
            notion=say(self.cost.called),
            budget=self.cost.brief(),
            also=told,
        )

    def _neighbours(self) -> str:
        if self.induced is not None:
            return say(
                "It is relative to public facts: %(facts)s. These are published exactly, and nothing protects them. "
                "Protected is everything else about %(unit)s: two data sets with the same facts that are one step "
                "apart.",
                facts=self.facts,
                unit=self.unit,
            )
        if self.protection.sensitive:
            return say(
                "Protected is the value of %(names)s in %(unit)s. Not protected is whether somebody is in the data, "
                "nor any other attribute: tables without a sensitive attribute are exact.",
                names=", ".join(self.protection.sensitive),
                unit=self.unit,
            )
        if self.protection.neighbours == "replace":
            return say(
                "Protected is everything about %(unit)s, as if another had taken its place. Not protected is how many "
                "there are.",
                unit=self.unit,
            )
        return say("Protected is everything about %(unit)s, also whether it is in the data at all.", unit=self.unit)

    def _counted(self) -> str:
        if not self.protection.counted:
            return ""
        return say(
            " Each row of the data stands for a number of records that is counted in it, and one such record is "
            "protected: what is true of a whole row, such as that number, is not."
        )

    def _plainly(self) -> str:
        """What the most knowing attacker can learn: that others keep their secrets is no protection."""
        knows = say("In plain words: somebody may know everything else, all other records included.")
        if self.induced is not None:
            knows = say(
                "In plain words: somebody may know everything else, all other records included, and so all that the "
                "public facts tell about your record. Protected is what these leave open."
            )
        found = " ".join([knows, *(self._growth(suspicion) for suspicion in self.suspicions)])
        if len(self.suspicions) == 1 and self.induced is None:
            found += say(" Whether you are in the data is not protected.")
        return found

    def _growth(self, suspicion: Suspicion) -> str:
        about, found = self.about(suspicion.topic), self.belief(suspicion)
        if suspicion.topic == "value":
            whose = say("a suspicion about %(what)s", what=about)
        else:
            whose = say("the suspicion %(what)s", what=about)
        if found.says_little:
            return say("For %(whose)s almost nothing is guaranteed at this budget.", whose=whose)
        return say(
            "The release multiplies the odds of %(whose)s by at most %(odds)s, so that 50 %% can become "
            "%(after)s%(exception)s.",
            whose=whose,
            odds=odds(found),
            after=percent(found, 0.5),
            exception=exception(found),
        )


def approximate(budget: Budget) -> str:
    """A budget in a few digits, for reading; the exact one is kept elsewhere."""
    return budget.brief()
