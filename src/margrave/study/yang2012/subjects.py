"""The four tables of the paper, each with the model whose margins are released."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import prod

import numpy as np

from margrave import examples, pipeline
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.algebra.table import Table
from margrave.models.loglinear import ModelFit, fit
from margrave.models.model import Model
from margrave.score.measures import l1_distance
from margrave.spec.spec import Spec
from margrave.study.yang2012.grid import SUBJECTS


@dataclass(frozen=True, eq=False)
class Subject:
    """One table: its spec, whose wanted tables generate the model, and the true counts. These are public data."""

    name: str
    spec: Spec
    truth: Table

    @property
    def title(self) -> str:
        return SUBJECTS[self.name]

    @property
    def domain(self) -> Domain:
        return self.spec.domain

    @property
    def wanted(self) -> tuple[Margin, ...]:
        """The paper's set 𝒜 of margins to release."""
        return self.spec.margins

    @cached_property
    def closure(self) -> tuple[Margin, ...]:
        """The paper's ℬ: every margin below a wanted one."""
        return downward_closure(self.wanted)

    @property
    def binary(self) -> bool:
        return all(size == 2 for size in self.domain.shape())

    @property
    def total(self) -> int:
        """The number n of records."""
        return int(self.truth.total)

    @cached_property
    def terms(self) -> int:
        """N = Σ_{S∈ℬ} ∏_{j∈S} k_j: how many numbers f^S(x_S) there are."""
        return sum(prod(self.domain.shape(margin)) for margin in self.closure)

    @cached_property
    def model(self) -> Model:
        return Model(self.domain, self.wanted)

    @cached_property
    def letters(self) -> str:
        """The model in the paper's letters: A for the first attribute, and so on."""
        letter = {name: chr(ord("A") + place) for place, name in enumerate(self.domain.names)}
        return "".join(f"[{''.join(letter[name] for name in margin)}]" for margin in self.wanted)

    @cached_property
    def fit(self) -> ModelFit:
        """The model fitted to the truth."""
        return fit(self.model, self.truth)

    @cached_property
    def uniform(self) -> Table:
        return Table(self.domain, self.domain.names, np.ones(self.domain.shape()))

    @cached_property
    def from_uniform(self) -> float:
        """L1 between the fitted and the uniform probabilities: how much there is to be known."""
        return l1_distance(self.fit.fitted, self.uniform)

    def margins(self, table: Table) -> list[Table]:
        """The wanted tables of a full one."""
        return [table.project(margin) for margin in self.wanted]


@cache
def subject(name: str) -> Subject:
    """A table of the paper by its name."""
    spec = Spec.load(examples.path(name))
    whole = spec.domain.names
    return Subject(name, spec, pipeline.count(spec, tables=[whole]).table(whole))
