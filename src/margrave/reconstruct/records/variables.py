"""The variables of a record: the attributes that no other one determines. The values of the others follow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Codes
from margrave.algebra.domain import Domain
from margrave.spec.codebook import Codebook


@dataclass(frozen=True, eq=False)
class Variables:
    """For each attribute of a domain, the variable that it is a function of, and the code that each code implies.

    A variable is a position among ``names``, the attributes that are functions of no other.
    """

    domain: Domain
    names: tuple[str, ...]
    source: dict[str, int]
    implied: dict[str, NDArray[np.int64]]

    def sizes(self) -> list[int]:
        """The number of values of each variable."""
        return [self.domain[name].size for name in self.names]

    def attributes(self, codes: Codes) -> Codes:
        """Records with a column for each attribute, from records with a column for each variable."""
        columns = [self.implied[name][codes[:, self.source[name]]] for name in self.domain.names]
        largest = max((attribute.size for attribute in self.domain), default=1) - 1
        stacked: Codes = np.empty((len(codes), len(columns)), dtype=np.min_scalar_type(largest))
        for axis, column in enumerate(columns):
            stacked[:, axis] = column
        return stacked


def variables(domain: Domain, codebook: Codebook) -> Variables:
    """The variables of a domain whose attributes may determine each other as the codebook says."""
    parents: dict[str, str] = {}
    for name in domain.names:
        parents |= {target: name for target in codebook[name].determines if target in domain.names}
    names = tuple(name for name in domain.names if name not in parents)
    position = {name: index for index, name in enumerate(names)}
    source, implied = {}, {}
    for name in domain.names:
        chain = list(_ancestors(name, parents))
        codes = np.arange(domain[chain[-1]].size)
        for above, below in zip(chain[:0:-1], chain[-2::-1], strict=True):
            values = codebook[above].determines[below]
            codes = np.array([domain[below].code(values[value]) for value in domain[above].values])[codes]
        source[name], implied[name] = position[chain[-1]], codes
    return Variables(domain, names, source, implied)


def _ancestors(name: str, parents: dict[str, str]) -> Iterable[str]:
    """The attribute, the one that determines it, and so on."""
    yield name
    while name in parents:
        name = parents[name]
        yield name
