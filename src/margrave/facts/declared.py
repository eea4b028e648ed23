"""What a spec declares to be public: the facts about the measured domain, and their values where it gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Margin
from margrave.algebra.encoding import Plain
from margrave.algebra.table import Table
from margrave.budget.events import Disclosure
from margrave.errors import RefusedError
from margrave.facts.facts import Facts, KnownCell
from margrave.spec.workload import PublicFact

if TYPE_CHECKING:
    from margrave.spec.spec import Spec

MOST_SINGLE = 2000
"""Single public cells, at most: what they say together is solved in one dense system."""
LARGEST_TABLE = 1 << 24

Codes = tuple[Margin, tuple[int, ...]]
"""One cell of a margin, by the codes of its values."""


def facts_of(spec: Spec) -> Facts:
    """The public facts of a spec; none is an object like others."""
    return Facts.of(spec.domain, public_facts(spec))


def public_facts(spec: Spec) -> tuple[PublicFact, ...]:
    """The facts that a spec declares and, where records are replaced, their number if no other fact tells it.

    It is the same in all neighbours, and is published exactly.
    """
    if not spec.public or spec.neighbours != "replace" or Facts.of(spec.domain, spec.public).implies(()):
        return spec.public
    return (PublicFact(()), *spec.public)


def check_declared(spec: Spec) -> None:
    """Refuse facts under which it is not clear who is protected, or what is published."""
    if not spec.public:
        return
    if spec.data is not None and spec.data.unit is not None:
        raise RefusedError(
            "release.public: public facts and data.unit exclude each other. Which records of a unit are left out is "
            "drawn anew for every release, so counts of those that stay are not the public ones, and no price is known "
            "for their neighbours: leave out release.public, or prepare a file in which everybody has one record and "
            "leave out data.unit"
        )
    if spec.induced != "worst-case" and spec.structural_zeros:
        raise RefusedError(
            f"privacy.induced: '{spec.induced}' supposes that every cell is possible, and release.impossible or "
            "determines rule some out: steps through those would be priced, and larger ones that avoid them would not. "
            "Use induced = 'worst-case', or drop the rules and make these cells public facts"
        )
    cells = [fact for fact in spec.public if fact.cell is not None]
    if len(cells) > MOST_SINGLE:
        raise RefusedError(
            f"release.public: {len(cells)} single cells, and at most {MOST_SINGLE} are possible: name whole tables"
        )
    for fact in cells:
        if spec.domain.cells(fact.margin) > LARGEST_TABLE:
            raise RefusedError(
                f"release.public: the table of {', '.join(fact.margin)} is too large to count one of its cells: name a "
                "cell of fewer attributes"
            )
    if is_given(spec) and public_facts(spec) != spec.public:
        raise RefusedError(
            "release.public: when records are replaced, their number is public too: give it as well, as "
            "{ of = [], count = … }"
        )


def loose_cells(facts: Facts) -> tuple[Codes, ...]:
    """The public cells that follow from no margin known in full, in canonical order."""
    place = facts.domain.position
    ordered = sorted(facts.loose, key=lambda margin: (len(margin), tuple(map(place, margin))))
    return tuple((margin, codes) for margin in ordered for codes in sorted(facts.loose[margin]))


def disclosures(spec: Spec) -> tuple[Disclosure, ...]:
    """The public facts as events of their own: exact counts that leave without protection."""
    return tuple(Disclosure(fact.margin, fact.cell, fact.counts is not None) for fact in public_facts(spec))


def is_given(spec: Spec) -> bool:
    """Whether the spec holds the values of its facts, so that they are not read from the data.

    A total that is given beside tables that are read follows from these, and only says what their price counts on.
    """
    return bool(spec.public) and all(fact.counts is not None for fact in spec.public)


def given_values(spec: Spec) -> dict[Margin | KnownCell, Array | int]:
    """The values that the spec gives, as :func:`margrave.facts.bounds.bounds_from_facts` takes them."""
    found: dict[Margin | KnownCell, Array | int] = {}
    for fact in spec.public:
        if fact.counts is not None and fact.cell is None:
            found[fact.margin] = np.array(fact.counts, dtype=np.int64).reshape(spec.domain.shape(fact.margin))
        elif fact.counts is not None and fact.cell is not None:
            found[fact.margin, fact.cell] = fact.counts[0]
    return found


def given_total(spec: Spec) -> int | None:
    """The number of records, where the values that the spec gives tell it."""
    whole = (fact.counts for fact in spec.public if fact.cell is None and fact.counts is not None)
    return next((sum(counts) for counts in whole), None)


def given_table(spec: Spec, margin: Margin) -> Array:
    """The counts of a margin that the given facts tell in full."""
    for fact in spec.public:
        if fact.cell is None and fact.counts is not None and set(margin) <= set(fact.margin):
            return Table(spec.domain, fact.margin, np.array(fact.counts, dtype=np.int64)).project(margin).counts
    return _from_cells(spec, margin)


def _from_cells(spec: Spec, margin: Margin) -> Array:
    """A margin of which every cell is given on its own."""
    counts = np.full(spec.domain.shape(margin), -1, dtype=np.int64)
    for (kept, codes), count in given_cells(spec).items():
        if kept == margin:
            counts[codes] = count
    if (counts < 0).any():
        raise RefusedError("release.public: the given values do not tell every count that the facts imply")
    return counts


def given_cells(spec: Spec) -> Mapping[Codes, int]:
    """The single cells that the spec gives, by the codes of their attributes with at least two values."""
    plain, found = Plain(spec.domain), {}
    for fact in spec.public:
        if fact.cell is not None and fact.counts is not None:
            codes = spec.domain.codes(fact.margin, fact.cell)
            found[plain.margin(fact.margin), plain.cell(fact.margin, codes)] = fact.counts[0]
    return found
