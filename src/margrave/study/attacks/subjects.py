"""Whom an attack is about: records, with the public spec that describes them. Bundled, generated, or the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Domain
from margrave.budget.units import PureDP
from margrave.errors import RefusedError, UsageError
from margrave.examples import path as example
from margrave.noise import Generator
from margrave.pipeline import count, release
from margrave.planning.plan import Plan
from margrave.planning.planner import make_plan
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted

if TYPE_CHECKING:
    import pandas as pd

    from margrave.publish.release import Release


@dataclass(frozen=True, eq=False)
class Subject:
    """Records as codes, one row a record, over a public domain. ``confidential``: nothing of it may be published."""

    domain: Domain
    codes: Integers
    title: str
    confidential: bool = False

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape[1] != len(self.domain):
            raise UsageError("records need one code for each attribute")

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: npt.NDArray[Any]) -> Subject:
        """Some of the records."""
        return replace(self, codes=self.codes[rows])

    def only(self, names: Sequence[str]) -> Subject:
        """Some of the attributes."""
        margin = self.domain.margin(names)
        axes = [self.domain.position(name) for name in margin]
        return replace(self, domain=self.domain.restrict(margin), codes=self.codes[:, axes])

    def column(self, name: str) -> Integers:
        return self.codes[:, self.domain.position(name)]

    def table(self, names: Sequence[str] | None = None) -> Integers:
        """Exact counts of a margin, by default of all attributes."""
        margin = self.domain.names if names is None else self.domain.margin(names)
        axes = [self.domain.position(name) for name in margin]
        counts = np.zeros(self.domain.shape(margin), dtype=np.int64)
        np.add.at(counts, tuple(self.codes[:, axis] for axis in axes), 1)
        return counts

    def frame(self) -> pd.DataFrame:
        """The records with their values, as a release reads them."""
        import pandas as pd

        values = {
            one.name: np.array(one.values, dtype=object)[self.codes[:, axis]] for axis, one in enumerate(self.domain)
        }
        return pd.DataFrame(values, dtype=object)

    def coded(self, frame: pd.DataFrame) -> Integers:
        """Records with values, as synthetic ones come, in codes."""
        columns = [_codes(frame[one.name], one.values) for one in self.domain]
        return np.stack(columns, axis=1) if len(frame) else np.zeros((0, len(self.domain)), dtype=np.int64)

    def spec(self, tables: Sequence[Sequence[str]], epsilon: Fraction, **settings: Any) -> Spec:
        """A spec that asks for some tables of these records."""
        entries = tuple(CodebookEntry(one.name, Categories(one.values)) for one in self.domain)
        wanted = tuple(Wanted(self.domain.margin(table)) for table in tables)
        return Spec(Codebook(entries), PureDP(epsilon), wanted, **settings)

    def plan(self, tables: Sequence[Sequence[str]], epsilon: Fraction, **settings: Any) -> Plan:
        return make_plan(self.spec(tables, epsilon, **settings))

    def released(self, plan: Plan, seed: str) -> Release:
        """A release of these records with noise from a seed."""
        return release(plan, self.frame(), seed=seed)


def bundled(name: str) -> Subject:
    """One of the bundled examples."""
    return of_spec(Spec.load(example(name)))


def of_spec(spec: Spec, data: Any = None, *, curator: bool = False) -> Subject:
    """The records of a spec. Confidential ones only for their curator, who publishes nothing of what comes of it."""
    if spec.confidential and not curator:
        raise RefusedError(
            "attacks show what is in the data, so it must not be confidential: say so in the spec with "
            "'confidential = false' under [data]; or, for your own eyes alone, --i-am-the-curator"
        )
    frame = count(spec, data, tables=[spec.domain.names]).to_pandas(spec.domain.names)
    codes = [_codes(frame[one.name], one.values) for one in spec.domain]
    rows = np.repeat(np.stack(codes, axis=1), frame["count"].to_numpy(dtype=np.int64), axis=0)
    return Subject(spec.domain, rows, spec.title or "the data", spec.confidential)


def _codes(column: pd.Series[Any], values: Sequence[str]) -> Integers:
    found = column.astype(object).map({value: code for code, value in enumerate(values)})
    return np.asarray(found.to_numpy(), dtype=np.int64)


def load(path: Path, data: Any, *, curator: bool) -> Subject:
    """The records that a spec file describes."""
    return of_spec(Spec.load(path), data, curator=curator)


def domain_of(attributes: Mapping[str, Sequence[str]]) -> Domain:
    """A domain from names and values."""
    from margrave.algebra.domain import Attribute

    return Domain(tuple(Attribute(name, tuple(values)) for name, values in attributes.items()))


def uniform(generator: Generator, size: int) -> Floats:
    """Uniform numbers in [0, 1), of 53 bits."""
    return (generator.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def shuffled(generator: Generator, size: int) -> npt.NDArray[np.intp]:
    """The numbers below ``size`` in random order."""
    return np.argsort(uniform(generator, size))


def drawn(generator: Generator, chances: Floats) -> Integers:
    """For each row of probabilities one value."""
    steps = np.cumsum(chances, axis=1)
    picked = (uniform(generator, len(chances))[:, None] >= steps[:, :-1]).sum(axis=1)
    return np.asarray(picked, dtype=np.int64)
