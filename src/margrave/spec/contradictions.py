"""Given facts that contradict each other, or cells that are impossible. Given values are public, so they are named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.table import Table
from margrave.algebra.words import margin_name
from margrave.spec.workload import Pattern, PublicFact, mask_possible

Found = tuple[int, str]
"""The number of a fact, and what is wrong with it."""


def contradictions(domain: Domain, public: Sequence[PublicFact], zeros: tuple[Pattern, ...]) -> list[Found]:
    """What is wrong with given values, as far as facts are compared two by two; empty where nothing is."""
    given = [fact.counts is not None for fact in public]
    if any(given) and not all(given) and not _only_total(public):
        odd = given.index(not given[0])
        text = "is given, and" if given[odd] else "is read from the data, and"
        other = "is read from the data" if given[odd] else "is given"
        return [
            (
                odd,
                f"{text} {_named(public[0])} {other}: whether they agree would be another exact answer about the data. "
                "Give the counts of all facts, or of none; beside whole tables that are read, the total may be given",
            )
        ]
    numbers = [index for index, known in enumerate(given) if known]
    found = [one for index in numbers for one in _alone(domain, index, public[index], zeros)]
    if found:
        return found
    return [
        (second, text)
        for first, second in combinations(numbers, 2)
        for text in _pair(domain, public[first], public[second])
    ]


def _only_total(public: Sequence[PublicFact]) -> bool:
    """Whether the total alone is given, and a whole table that is read tells it too: that they agree tells no more."""
    given = [(fact.margin, fact.cell) for fact in public if fact.counts is not None]
    return given == [((), None)] and any(fact.cell is None and fact.counts is None for fact in public)


def _alone(domain: Domain, index: int, fact: PublicFact, zeros: tuple[Pattern, ...]) -> Iterator[Found]:
    cells = 1 if fact.cell is not None else domain.cells(fact.margin)
    counts = np.array(fact.counts, dtype=object)
    if len(counts) != cells:
        yield index, f"{_named(fact)} needs {cells} counts, not {len(counts)}"
    elif counts.max() >= 1 << 40:
        yield index, f"{_named(fact)} has a count of 2⁴⁰ or more, more than any data set here may have"
    else:
        possible = mask_possible(domain, zeros, fact.margin)
        wrong = (
            ~possible.ravel() & (counts > 0) if fact.cell is None else ~possible[_codes(domain, fact)] & (counts > 0)
        )
        for place in np.flatnonzero(wrong)[:1]:
            values = fact.cell or _values(domain, fact.margin, int(place))
            yield (
                index,
                f"{margin_name(fact.margin, values)} is {counts[place]}, and no record can be there: it is impossible",
            )


def _pair(domain: Domain, one: PublicFact, other: PublicFact) -> Iterator[str]:
    """Two whole tables agree on what they share; a cell holds no more than a cell around it, and as much as itself."""
    if one.cell is None and other.cell is None:
        shared = domain.margin(set(one.margin) & set(other.margin))
        left, right = (_table(domain, fact).project(shared).counts.ravel() for fact in (one, other))
        for place in np.flatnonzero(left != right)[:1]:
            cell = margin_name(shared, _values(domain, shared, int(place)))
            yield f"{_named(other)} gives {right[place]} to {cell}, and {_named(one)} gives {left[place]}"
        return
    for part, whole in ((one, other), (other, one)):
        if part.cell is not None:
            yield from _inside(domain, part, whole)


def _inside(domain: Domain, part: PublicFact, whole: PublicFact) -> Iterator[str]:
    assert part.cell is not None and part.counts is not None and whole.counts is not None
    values = dict(zip(part.margin, part.cell, strict=True))
    if whole.cell is not None:
        around = dict(zip(whole.margin, whole.cell, strict=True))
        if around.items() <= values.items() and part.counts[0] > whole.counts[0]:
            yield f"{_named(part)} is {part.counts[0]}, more than the {whole.counts[0]} of {_named(whole)} around it"
        return
    shared = domain.margin(set(part.margin) & set(whole.margin))
    if not shared and whole.margin:
        whole = PublicFact((), None, (sum(whole.counts),))
    table = _table(domain, whole).project(shared).counts
    count = int(table[tuple(domain[name].code(values[name]) for name in shared)])
    if part.counts[0] > count or (shared == part.margin and part.counts[0] != count):
        cell = margin_name(shared, [values[name] for name in shared])
        given = f"gives {count} to {cell}" if shared else f"is {count}"
        yield f"{_named(part)} is {part.counts[0]}, and {_named(whole)} {given}"


def _table(domain: Domain, fact: PublicFact) -> Table:
    return Table(domain, fact.margin, np.array(fact.counts, dtype=np.int64))


def _codes(domain: Domain, fact: PublicFact) -> tuple[int, ...]:
    return tuple(domain[name].code(value) for name, value in zip(fact.margin, fact.cell or (), strict=True))


def _values(domain: Domain, margin: Margin, place: int) -> list[str]:
    codes = np.unravel_index(place, domain.shape(margin)) if margin else ()
    return [domain[name].values[int(code)] for name, code in zip(margin, codes, strict=True)]


def _named(fact: PublicFact) -> str:
    return margin_name(fact.margin, fact.cell)
