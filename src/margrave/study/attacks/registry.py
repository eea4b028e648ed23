"""The attacks by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from margrave.errors import UsageError, suggest
from margrave.study.attacks.anonymity.curse import curse
from margrave.study.attacks.anonymity.linkage import linkage
from margrave.study.attacks.averaging import averaging_attack
from margrave.study.attacks.classical import classical
from margrave.study.attacks.composition import composition
from margrave.study.attacks.differencing import differencing
from margrave.study.attacks.membership import membership
from margrave.study.attacks.reconstruction.blocks import reconstruction_tables
from margrave.study.attacks.reconstruction.counts import reconstruction
from margrave.study.attacks.reconstruction.margins import reconstruction_margins
from margrave.study.attacks.result import Attack
from margrave.study.attacks.terms import Terms


@dataclass(frozen=True)
class Attacker:
    """``words``: what is done, for the list of commands. ``takes_data``: whether it can attack the user's records."""

    name: str
    words: str
    run: Callable[[Terms], Attack]
    takes_data: bool = False


_ALL = (
    Attacker("linkage", "Link records to a register with names. Also k-anonymous ones.", linkage, True),
    Attacker("differencing", "Subtract two counts. Ask again, and together with others.", differencing),
    Attacker("reconstruction", "Reconstruct a secret from random counts.", reconstruction),
    Attacker(
        "reconstruction-margins",
        "Reconstruct a secret from two-way tables.",
        reconstruction_margins,
    ),
    Attacker("reconstruction-tables", "Reconstruct records from published tables.", reconstruction_tables, True),
    Attacker("membership", "Find who is in a case group. From published frequencies.", membership),
    Attacker("averaging", "Average counts whose sums are public.", averaging_attack),
    Attacker("composition", "Ask much, and cleverly, of three accountants.", composition),
    Attacker("classical", "Get past eight classical protections.", classical),
    Attacker("k-anonymity", "See what k-anonymity leaves. As attributes grow.", curse, True),
)
ATTACKS = {kind.name: kind for kind in _ALL}


def attack(name: str, terms: Terms) -> Attack:
    """Carry out the attack of this name."""
    if name not in ATTACKS:
        raise UsageError(f"unknown attack {name!r}{suggest(name, ATTACKS)}; there are {', '.join(ATTACKS)}")
    kind = ATTACKS[name]
    if terms.subject is not None and not kind.takes_data:
        raise UsageError(f"{name} attacks data of its own making: leave the spec out")
    return kind.run(terms)
