"""What a guarantee means for the attacks of docs/attacks.md: limits on what attackers reach, and words for them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Literal

from margrave.planning.promise.advantage import advantage, guessed, power
from margrave.planning.promise.guarantee import Guarantee

FALSE_ALARMS = (0.01, 0.05)
"""How often a test for membership may accuse people who are not in the data, for examples."""
GUESSES = (0.1, 0.5, 0.9)
"""How often a guess at a value may be right before, for examples."""

AttackKind = Literal["membership", "reconstruction", "linkage"]


@dataclass(frozen=True)
class Limit:
    """No attacker reaches more than ``after``, where without the release she reached ``before``: shares from 0 to 1.

    membership: of those in the data, found by a test that accuses a share ``before`` of those who are not.
    reconstruction: of people with an even secret, told rightly. linkage: guesses at the value of one person.
    """

    attack: AttackKind
    before: float
    after: float
    words: str


@dataclass(frozen=True)
class Exposure:
    """All limits of one guarantee. ``advantage``: of a test for membership, None where that is not protected."""

    promise: Guarantee
    limits: tuple[Limit, ...]
    advantage: float | None

    def as_json(self) -> dict[str, Any]:
        """Plain values for scripts."""
        return {
            "guarantee": self.promise.cost.as_dict(),
            "membership_advantage": self.advantage,
            "limits": [asdict(limit) for limit in self.limits],
            "words": list(self.words()),
        }

    def words(self) -> tuple[str, ...]:
        """Sentences on what these limits are, and what they are not."""
        found = [
            "These limits follow from the guarantee alone. They hold whatever the attacker knows of all others, "
            "however she computes, and on average over the noise; real attackers mostly reach much less."
        ]
        if self.advantage is None:
            found.append("Whether somebody is in the data is not protected by this release: no limit is stated.")
        if self.promise.induced is not None:
            found.append("They are about what the public facts leave open; what follows from the facts has no limit.")
        if self.promise.protection.sensitive:
            found.append(f"They are about {', '.join(self.promise.protection.sensitive)} alone.")
        found.append(
            "They are not about what can be learnt of people in general: that smokers are often ill may be learnt, and "
            "tells about a smoker whether or not she is in the data."
        )
        return tuple(found)


def exposure(promise: Guarantee) -> Exposure:
    """The limits that a guarantee sets to membership, reconstruction and linkage attacks."""
    cost = promise.cost
    steps = {one.topic: one.steps for one in promise.suspicions}
    found: list[Limit] = []
    gain = None
    if "presence" in steps:
        gain = advantage(cost, steps["presence"])
        for alarms in FALSE_ALARMS:
            hit = power(cost, steps["presence"], alarms)
            words = (
                f"A test that accuses {rounded_up(alarms)} of those who are not in the data finds at most "
                f"{rounded_up(hit)} of those who are."
            )
            found.append(Limit("membership", alarms, hit, words))
    right = guessed(cost, steps["value"], 0.5)
    words = (
        f"Of a secret that is a fair coin for everybody, at most {rounded_up(right)} are told rightly: at least "
        f"{_down(1 - right)} are wrong."
    )
    found.append(Limit("reconstruction", 0.5, right, words))
    for before in GUESSES:
        right = guessed(cost, steps["value"], before)
        words = (
            f"A guess at the value of one person that was right in {rounded_up(before)} of cases is right in at most "
            f"{rounded_up(right)}."
        )
        found.append(Limit("linkage", before, right, words))
    return Exposure(promise, tuple(found), gain)


def rounded_up(share: float) -> str:
    """Percent, rounded up; never a hundred where it is less."""
    percent = ceil(share * 1000 - 1e-9) / 10
    return f"{percent:g} %" if share >= 1 or percent < 100 else "nearly 100 %"


def _down(share: float) -> str:
    """Percent, rounded down."""
    percent = int(share * 1000 + 1e-9) / 10
    return f"{percent:g} %" if percent else "almost 0 %"
