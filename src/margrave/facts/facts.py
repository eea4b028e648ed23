"""Public facts as a value: which counts everybody knows, and what they are about once nothing is said twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.encoding import Encoding, Plain
from margrave.algebra.lattice import maximal
from margrave.algebra.words import margin_name
from margrave.errors import UsageError
from margrave.spec.workload import PublicFact

KnownCell = tuple[Margin, tuple[str, ...]]
"""One cell of a margin: the margin, and a value for each of its attributes."""


@dataclass(frozen=True)
class Facts:
    """Counts that are known exactly: whole ``margins`` (``()`` is the number of records) and single ``cells``."""

    domain: Domain
    margins: tuple[Margin, ...] = ()
    cells: tuple[KnownCell, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "margins", tuple(tuple(margin) for margin in self.margins))
        object.__setattr__(self, "cells", tuple((tuple(margin), tuple(cell)) for margin, cell in self.cells))
        for margin in (*self.margins, *(margin for margin, _ in self.cells)):
            if self.domain.margin(margin) != margin:
                raise UsageError(f"margin {margin} must name different attributes in the order of the domain")
        for margin, cell in self.cells:
            if len(cell) != len(margin):
                raise UsageError(f"a public cell of {margin} needs {len(margin)} values, not {len(cell)}")
            for name, value in zip(margin, cell, strict=True):
                self.domain[name].code(value)

    @classmethod
    def of(cls, domain: Domain, public: Iterable[PublicFact]) -> Facts:
        """The facts that a spec declares."""
        public = tuple(public)
        margins = tuple(fact.margin for fact in public if fact.cell is None)
        return cls(domain, margins, tuple((fact.margin, fact.cell) for fact in public if fact.cell is not None))

    def __bool__(self) -> bool:
        return bool(self.margins or self.cells)

    def __str__(self) -> str:
        names = [margin_name(margin) for margin in self.margins]
        named = ["{" + ", ".join(f"{n}={v}" for n, v in zip(*cell, strict=True)) + "}" for cell in self.cells]
        return ", ".join([*names, *named]) or "nothing"

    def encoded(self, encoding: Encoding) -> Facts:
        """The same facts over the attributes that are measured."""
        margins = tuple(map(encoding.margin, self.margins))
        return Facts(encoding.encoded, margins, tuple(_encoded(encoding, cell) for cell in self.cells))

    @cached_property
    def _plain(self) -> Plain:
        return Plain(self.domain)

    @cached_property
    def names(self) -> Margin:
        """The attributes that have at least two values; the others say nothing."""
        return self._plain.encoded.names

    @cached_property
    def _normal(self) -> tuple[tuple[Margin, ...], dict[Margin, frozenset[tuple[int, ...]]]]:
        plain = self._plain
        margins = set(map(plain.margin, self.margins))
        found: dict[Margin, set[tuple[int, ...]]] = {}
        for margin, cell in self.cells:
            codes = plain.cell(margin, self.domain.codes(margin, cell))
            found.setdefault(plain.margin(margin), set()).add(codes)
        margins |= {margin for margin, known in found.items() if len(known) == self.domain.cells(margin)}
        place = self.domain.position
        whole = tuple(sorted(maximal(margins), key=lambda margin: (len(margin), tuple(map(place, margin)))))
        loose = {
            margin: frozenset(known)
            for margin, known in found.items()
            if not any(set(margin) <= set(other) for other in whole)
        }
        return whole, loose

    def effective(self, margin: Margin) -> Margin:
        """The attributes of a margin that have at least two values."""
        return self._plain.margin(margin)

    @property
    def whole(self) -> tuple[Margin, ...]:
        """The margins known in full that follow from no other, without one-valued attributes."""
        return self._normal[0]

    @property
    def loose(self) -> dict[Margin, frozenset[tuple[int, ...]]]:
        """By margin, the codes of the known cells that follow from no margin known in full."""
        return self._normal[1]

    def base_cells(self, margin: Margin) -> int:
        """How many cells of the full table one cell of the margin adds up."""
        return prod(self.domain[name].size for name in self.names if name not in margin)

    def implies(self, margin: Margin) -> bool:
        """Whether the whole table of a margin follows from one that is known in full."""
        return any(set(self.effective(margin)) <= set(known) for known in self.whole)


def _encoded(encoding: Encoding, known: KnownCell) -> KnownCell:
    margin, cell = known
    measured, codes = encoding.margin(margin), encoding.cell(margin, encoding.domain.codes(margin, cell))
    return measured, tuple(encoding.encoded[name].values[code] for name, code in zip(measured, codes, strict=True))
