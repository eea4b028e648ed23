"""Structural zeros over the variables of a record, as flat arrays for the compiled loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Codes, Integers
from margrave.algebra.domain import Domain
from margrave.reconstruct.records.variables import Variables

Pattern = Mapping[str, frozenset[str]]


class Zeros(NamedTuple):
    """Impossible patterns: a set of codes for each of some variables, which no record has together.

    Pattern p has the slots ``slots[p]`` … ``slots[p + 1]``; a slot has a ``variable``, and ``inside[begin + code]``
    says whether a code of it belongs to the pattern. ``pattern[first[v]]`` … are the patterns with variable v.
    """

    first: Integers
    pattern: Integers
    slots: Integers
    variable: Integers
    begin: Integers
    inside: NDArray[np.bool_]

    def matched(self, codes: Codes) -> NDArray[np.bool_]:
        """Which records match some pattern, and so are impossible."""
        found = np.zeros(len(codes), dtype=bool)
        for pattern in range(len(self.slots) - 1):
            found |= self._inside(codes, self._slots(pattern))
        return found

    def forbidden(self, codes: Codes, variable: int, size: int) -> NDArray[np.bool_]:
        """The codes of a variable, a column each, that would complete a pattern with the variables before it."""
        found = np.zeros((len(codes), size), dtype=bool)
        for pattern in self.pattern[self.first[variable] : self.first[variable + 1]]:
            slots = self._slots(pattern)
            if all(self.variable[slot] <= variable for slot in slots):
                own = next(slot for slot in slots if self.variable[slot] == variable)
                before = self._inside(codes, [slot for slot in slots if slot != own])
                found |= before[:, None] & self.inside[self.begin[own] : self.begin[own] + size]
        return found

    def _slots(self, pattern: int) -> range:
        return range(self.slots[pattern], self.slots[pattern + 1])

    def _inside(self, codes: Codes, slots: Sequence[int]) -> NDArray[np.bool_]:
        found = np.ones(len(codes), dtype=bool)
        for slot in slots:
            found &= self.inside[self.begin[slot] + codes[:, self.variable[slot]]]
        return found


def zeros(found: Variables, patterns: Sequence[Pattern], everything: Domain) -> Zeros:
    """The structural zeros of a spec over the domain ``everything``, as far as they concern the variables.

    A pattern counts if it holds every value of each of its attributes that the variables do not have.
    """
    sets = [one for pattern in patterns if (one := _sets(found, pattern, everything))]
    members = [(number, variable) for number, one in enumerate(sets) for variable in one]
    by_variable = [[number for number, owner in members if owner == variable] for variable in range(len(found.names))]
    masks = [mask for one in sets for mask in one.values()]
    return Zeros(
        first=np.cumsum([0, *map(len, by_variable)]),
        pattern=np.array([number for numbers in by_variable for number in numbers], dtype=np.int64),
        slots=np.cumsum([0, *map(len, sets)]),
        variable=np.array([variable for _, variable in members], dtype=np.int64),
        begin=np.cumsum([0, *map(len, masks)])[:-1].astype(np.int64),
        inside=np.concatenate([*masks, np.zeros(1, dtype=bool)]),
    )


def _sets(found: Variables, pattern: Pattern, everything: Domain) -> dict[int, NDArray[np.bool_]]:
    """For each variable the codes that match a pattern; nothing if no record can match it."""
    domain = found.domain
    sets: dict[int, NDArray[np.bool_]] = {}
    for name, values in pattern.items():
        if name not in domain.names:
            if len(values) < everything[name].size:
                return {}
            continue
        matching = np.array([value in values for value in domain[name].values])[found.implied[name]]
        variable = found.source[name]
        sets[variable] = sets[variable] & matching if variable in sets else matching
    return sets if all(mask.any() for mask in sets.values()) else {}
