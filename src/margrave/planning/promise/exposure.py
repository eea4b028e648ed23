"""What a guarantee means for the attacks of docs/attacks.md: limits on what attackers reach, and words for them.

What is attacked depends on the way of asking: the records of people, the edges of a graph, or single reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Literal

from margrave.budget.units import Budget
from margrave.messages.catalogue import later, say, spoken
from margrave.planning.promise.advantage import advantage, guessed, power
from margrave.planning.promise.guarantee import Guarantee

FALSE_ALARMS = (0.01, 0.05)
"""How often a test for membership may accuse people who are not in the data, for examples."""
GUESSES = (0.1, 0.5, 0.9)
"""How often a guess at a value may be right before, for examples."""
EITHER = (0.5, 0.9)
"""The same of two cases, the better of which is right in half at least."""
NODE = 10
"""Edges of a node, for an example."""

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
class Telling:
    """How limits on attacks on one kind of thing are told.

    ``sentences``: for each attack one, with places for what is reached ``before``, ``after`` and for who is told
    ``wrong``; attacks that mean nothing have none. ``headings``: a few words for each. ``lead``: what an attacker
    knows. ``gained``: the advantage of a test. ``beside``: what the ends of the lines of a picture mean.
    """

    sentences: Mapping[AttackKind, str]
    headings: Mapping[AttackKind, str]
    lead: str
    gained: str
    beside: str


PEOPLE = Telling(
    {
        "membership": later(
            "A test that accuses {before} of those who are not in the data finds at most {after} of those who are."
        ),
        "reconstruction": later(
            "Of a secret that is a fair coin for everybody, at most {after} are told rightly: at least "
            "{wrong} are wrong."
        ),
        "linkage": later(
            "A guess at the value of one person that was right in {before} of cases is right in at most {after}."
        ),
    },
    {
        "membership": later("Membership: found"),
        "reconstruction": later("Reconstruction: told"),
        "linkage": later("Linkage: guessed"),
    },
    later("How far an attacker gets who knows everything about everybody else."),
    later(
        "A test for membership finds those in the data more often than it accuses others by at most {gain} percentage "
        "points."
    ),
    later(
        "Who accuses 1 % at random finds 1 % of the members. A secret that is told is a fair coin for everybody, a "
        "value that is guessed is one person's."
    ),
)
EDGES = Telling(
    {
        "membership": later(
            "A test that takes {before} of the pairs of nodes without an edge for edges finds at most "
            "{after} of the edges."
        ),
        "reconstruction": later(
            "If a fair coin put an edge between each two nodes or none, at most {after} of the pairs are "
            "told rightly: at least {wrong} are wrong."
        ),
        "linkage": later(
            "A guess whether there is an edge between two nodes that was right in {before} of cases is right "
            "in at most {after}."
        ),
    },
    {
        "membership": later("Edges: found"),
        "reconstruction": later("Reconstruction: pairs told"),
        "linkage": later("One pair: guessed"),
    },
    later("How far an attacker gets who knows everything about all other edges."),
    later("A test for edges finds those that are there more often than others by at most {gain} percentage points."),
    later("Who takes 1 % of the pairs for edges at random finds 1 % of the edges."),
)
STEPS = Telling(
    {
        "membership": later(
            "A test that takes one graph for another, a step apart, in {before} of cases tells the other "
            "rightly in at most {after}."
        ),
        "linkage": later(
            "A guess which of two graphs, a step apart, is the true one that was right in {before} of cases is "
            "right in at most {after}."
        ),
    },
    {"membership": later("Two graphs: tested"), "linkage": later("Two graphs: guessed")},
    later("How far an attacker gets who knows the public degrees, and the graph but for one step."),
    later(
        "A test tells a graph rightly more often than it takes another, a step apart, for it by at most {gain} "
        "percentage points."
    ),
    later("Who says one of two graphs at random in 1 % of cases is right in 1 % of those where it is the true one."),
)


@dataclass(frozen=True)
class Exposure:
    """All limits of one guarantee. ``advantage``: of a test for membership, None where that is not protected.

    ``said``: sentences on what these limits are, and what they are not.
    """

    cost: Budget
    limits: tuple[Limit, ...]
    advantage: float | None
    said: tuple[str, ...]
    telling: Telling = PEOPLE

    def as_json(self) -> dict[str, Any]:
        """Plain values for scripts."""
        return {
            "guarantee": self.cost.as_dict(),
            "membership_advantage": self.advantage,
            "limits": [asdict(limit) for limit in self.limits],
            "words": list(self.words()),
        }

    def words(self) -> tuple[str, ...]:
        """Sentences on what these limits are, and what they are not."""
        return self.said


def exposure(promise: Guarantee) -> Exposure:
    """The limits that a guarantee sets to membership, reconstruction and linkage attacks on people."""
    steps = {one.topic: one.steps for one in promise.suspicions}
    presence = steps.get("presence")
    found = [say(_ALONE)]
    if presence is None:
        found.append(say("Whether somebody is in the data is not protected by this release: no limit is stated."))
    else:
        found.append(_in_her_place(promise.cost, presence))
    if promise.induced is not None:
        found.append(say("They are about what the public facts leave open; what follows from the facts has no limit."))
    if promise.protection.sensitive:
        found.append(say("They are about %(names)s alone.", names=", ".join(promise.protection.sensitive)))
    found.append(say(_IN_GENERAL))
    return _exposed(promise.cost, PEOPLE, found, presence, steps["value"], GUESSES)


def edges_exposed(cost: Budget, public_degrees: bool) -> Exposure:
    """The limits on attacks on the edges of a graph, which are what a release of it protects."""
    if public_degrees:
        found = [
            say(
                "These limits follow from the guarantee alone. They hold whatever the attacker knows besides, however "
                "she computes, and on average over the noise; real attackers mostly reach much less."
            ),
            say(
                "A step leads to a graph with the same public degrees, and with none between. What follows from the "
                "degrees has no limit: who knows all other edges of a node with a public degree knows the last one. So "
                "edges are no independent coins, and no limit is stated on how many of them are told."
            ),
            say(
                "They are about one step. An edge at a node with a public degree is none by itself, and a node is many."
            ),
        ]
        return _exposed(cost, STEPS, found, 1, 1, EITHER)
    node = rounded_up(guessed(cost, NODE, 0.5))
    found = [
        say(
            "These limits follow from the guarantee alone. They hold for an attacker who knows everything of all other "
            "edges, and for one who knows less where these tell nothing about this one; however she computes, and on "
            "average over the noise; real attackers mostly reach much less."
        ),
        say(
            "They are about one edge, and not about a node, whose edges are as many steps: a guess whether a node has "
            "%(edges)s given edges or none that was right in 50 %% of cases can be right in %(often)s.",
            edges=NODE,
            often=node,
        ),
    ]
    return _exposed(cost, EDGES, found, 1, 1, EITHER)


def reports_exposed(cost: Budget, shuffled: bool) -> Exposure:
    """The limits on attacks by who reads the reports of a local collection: the collector, too."""
    found = [
        say(_ALONE),
        say(
            "They hold against everybody who reads a report, the collector too. That somebody took part is not "
            "protected: no limit is stated."
        ),
    ]
    if shuffled:
        found.append(say("Who sees reports only after they were mixed reaches less."))
    found.append(say(_IN_GENERAL))
    return _exposed(cost, PEOPLE, found, None, 1, GUESSES)


_IN_GENERAL = later(
    "They are not about what can be learnt of people in general: that smokers are often ill may be learnt, and tells "
    "about a smoker whether or not she is in the data."
)


_ALONE = later(
    "These limits follow from the guarantee alone. They hold for an attacker who knows everything of all others, and "
    "for one who knows less where these tell nothing about her; however she computes, and on average over the noise; "
    "real attackers mostly reach much less."
)


def _in_her_place(cost: Budget, presence: int) -> str:
    """Without her there is one record less, which is what the limits on membership compare. Who knows how many records
    there are knows that somebody else is there instead: one is removed, another added."""
    alarms = FALSE_ALARMS[-1]
    found = rounded_up(power(cost, 2 * presence, alarms))
    return say(
        "Membership compares the data with her and without her. Who knows how many records there are, but not whose, "
        "compares her with somebody in her place: a test that accuses %(alarms)s then finds at most %(found)s.",
        alarms=rounded_up(alarms),
        found=found,
    )


def _exposed(
    cost: Budget, telling: Telling, said: Sequence[str], presence: int | None, value: int, guesses: Sequence[float]
) -> Exposure:
    """The limits where so many steps lead to the data without her, and to data in which her value is another."""
    reached: list[tuple[AttackKind, float, float]] = []
    if presence is not None:
        reached += [("membership", alarms, power(cost, presence, alarms)) for alarms in FALSE_ALARMS]
    reached.append(("reconstruction", 0.5, guessed(cost, value, 0.5)))
    reached += [("linkage", before, guessed(cost, value, before)) for before in guesses]
    limits = tuple(
        Limit(kind, before, after, _sentence(say(telling.sentences[kind]), before, after))
        for kind, before, after in reached
        if kind in telling.sentences
    )
    gain = None if presence is None else advantage(cost, presence)
    return Exposure(cost, limits, gain, tuple(said), telling)


def _sentence(text: str, before: float, after: float) -> str:
    return text.format(before=rounded_up(before), after=rounded_up(after), wrong=_down(1 - after))


def rounded_up(share: float) -> str:
    """Percent, rounded up; never a hundred where it is less."""
    percent = ceil(share * 1000 - 1e-9) / 10
    found = spoken().localised(f"{percent:g}") + " %"
    return found if share >= 1 or percent < 100 else say("nearly 100 %")


def _down(share: float) -> str:
    """Percent, rounded down."""
    percent = int(share * 1000 + 1e-9) / 10
    return spoken().localised(f"{percent:g}") + " %" if percent else say("almost 0 %")
