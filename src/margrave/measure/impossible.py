"""Structural zeros: combinations of values that the spec declares impossible, and that no record may therefore have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from margrave.algebra.domain import Domain, Margin
from margrave.measure.failures import Failures
from margrave.measure.records import Coded

Pattern = Mapping[str, frozenset[str]]
"""Attributes, each with a set of values; a record matches when each of them has one of its values."""

_TABLE_CELLS = 1 << 20


class Patterns:
    """Impossible patterns and how many records match each.

    A pattern over few cells is looked up in the counts of its margin, whatever the number of records or patterns;
    one over many cells is compared with every record.
    """

    def __init__(self, domain: Domain, patterns: Sequence[Pattern]) -> None:
        self._domain = domain
        self._by_table: list[tuple[Margin, Pattern]] = []
        self._by_record: list[tuple[Margin, Pattern]] = []
        for pattern in patterns:
            margin = domain.margin(pattern)
            small = domain.cells(margin) <= _TABLE_CELLS
            (self._by_table if small else self._by_record).append((margin, pattern))
        self._members = [self._membership(pattern) for _, pattern in self._by_record]
        self._matches = [0] * len(self._by_record)

    def __repr__(self) -> str:
        return f"<Patterns: {len(self._by_table) + len(self._by_record)}>"

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The margins whose counts :meth:`check` needs."""
        return tuple(dict.fromkeys(margin for margin, _ in self._by_table))

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes whose codes :meth:`look` needs."""
        return tuple(dict.fromkeys(name for margin, _ in self._by_record for name in margin))

    def look(self, batch: Coded) -> None:
        """Compares each record of a batch with the patterns that are too wide for a table."""
        for position, members in enumerate(self._members):
            match = np.ones(batch.rows, dtype=bool)
            for name, member in members.items():
                match &= member[batch.codes[name]]
            amounts = match if batch.weights is None else batch.weights[match]
            self._matches[position] += int(amounts.sum())

    @property
    def matches(self) -> list[int]:
        """How many records :meth:`look` has found for each pattern."""
        return list(self._matches)

    def found(self, matches: Sequence[int]) -> None:
        """Adds what was found elsewhere."""
        for position, number in enumerate(matches):
            self._matches[position] += number

    def check(self, counts: Mapping[Margin, npt.NDArray[np.int64]]) -> None:
        """One DataError that names every impossible pattern that some record matches."""
        failures = Failures()
        for margin, pattern in self._by_table:
            places = [[self._domain[name].code(value) for value in pattern[name]] for name in margin]
            table = counts[margin]
            self._report(pattern, int(table[np.ix_(*places)].sum()) if places else int(table), failures)
        for (_, pattern), matches in zip(self._by_record, self._matches, strict=True):
            self._report(pattern, matches, failures)
        failures.check()

    def _membership(self, pattern: Pattern) -> dict[str, npt.NDArray[np.bool_]]:
        return {
            name: np.array([value in values for value in self._domain[name].values]) for name, values in pattern.items()
        }

    def _report(self, pattern: Pattern, matches: int, failures: Failures) -> None:
        words = [f"{name} = {_values(self._domain, name, values)}" for name, values in pattern.items()]
        place = f"the combination {', '.join(words)}"
        failures.add(place, "is declared impossible", "correct the records or the spec", matches)


def _values(domain: Domain, name: str, values: frozenset[str]) -> str:
    """The declared values of a pattern, in their order; a long list is cut short."""
    ordered = [value for value in domain[name].values if value in values]
    shown = " or ".join(ordered[:4])
    return shown if len(ordered) <= 4 else f"{shown} or {len(ordered) - 4} more"
