"""The spec: all that a release is, declared in public before any data is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.budget.units import Budget
from margrave.errors import Problem, SpecError, UsageError, suggest
from margrave.spec.attributes import Names, name_problem, read_attributes
from margrave.spec.choices import (
    INDUCED,
    NEIGHBOURS,
    NONNEGATIVE,
    OBJECTIVES,
    ROUNDING,
    STRATEGIES,
    Induced,
    Neighbours,
    Nonnegative,
    Objective,
    Rounding,
    Strategy,
)
from margrave.spec.codebook import Categories, Codebook
from margrave.spec.contradictions import contradictions
from margrave.spec.dialect import USUAL, Dialect
from margrave.spec.document import parse_text, spec_text, with_lines
from margrave.spec.public import SpecFolder
from margrave.spec.reader import Node, TooManyError
from margrave.spec.sections import (
    DataSection,
    PrivacySection,
    ReleaseSection,
    read_data,
    read_privacy,
    read_release,
)
from margrave.spec.texts import texts_problem
from margrave.spec.toml import dump_document
from margrave.spec.workload import (
    Pattern,
    PublicFact,
    Wanted,
    determined_zeros,
    expand_workload,
    mask_possible,
)
from margrave.spec.write import json_ready, spec_dict

SECTIONS = ("title", "licence", "draft", "data", "attributes", "release", "privacy")


@dataclass(frozen=True)
class Spec:
    """A checked spec. Without its ``data`` it holds nothing confidential and may be published.

    ``tables`` are the tables listed, ``all_ways`` the number of attributes up to which every table is wanted (0: none);
    `workload` is both together. ``sensitive`` is empty unless declared. ``induced`` is None without public facts.
    ``expected_size`` is about how many records there will be, as far as that is public: budgets are shared for it.
    ``licence`` says on what terms the tables may be used, such as ``CC-BY-4.0``.
    ``draft`` marks a spec whose values were read from data and that no person has checked yet.
    """

    way: ClassVar[str] = "release"

    codebook: Codebook
    budget: Budget
    tables: tuple[Wanted, ...] = ()
    all_ways: int = 0
    public: tuple[PublicFact, ...] = ()
    impossible: tuple[Pattern, ...] = field(default=(), hash=False)
    sensitive: Margin = ()
    strategy: Strategy = "auto"
    objective: Objective = "mean"
    nonnegative: Nonnegative = "auto"
    rounding: Rounding = "controlled"
    expected_size: int | None = None
    neighbours: Neighbours = "add-remove"
    induced: Induced | None = None
    data: DataSection | None = None
    title: str = ""
    draft: bool = False
    licence: str = ""

    def __post_init__(self) -> None:
        if not self.codebook.entries:
            raise UsageError("a spec needs at least one attribute")
        if not 0 <= self.all_ways <= len(self.codebook.entries) or not (self.tables or self.all_ways):
            raise UsageError("a spec needs at least one wanted table, of no more attributes than there are")
        if bool(self.public) != (self.induced is not None):
            raise UsageError("a spec has an induced neighbour relation exactly when it has public facts")
        if self.public and self.sensitive:
            raise UsageError("a spec cannot have both public facts and sensitive attributes")
        if self.expected_size is not None and self.expected_size < 1:
            raise UsageError(f"expected_size ({self.expected_size}) must be at least 1")
        if self.counted is not None and self.counted in self.domain.names:
            raise UsageError(f"{self.counted!r} is an attribute; the column of counts cannot be one")
        self._check_words()
        self._check_names()
        self._check_texts()
        for _, text in contradictions(self.domain, self.public, self.structural_zeros):
            raise UsageError(f"public facts: {text}")

    def _check_words(self) -> None:
        for word, options in (
            (self.strategy, STRATEGIES),
            (self.objective, OBJECTIVES),
            (self.nonnegative, NONNEGATIVE),
            (self.rounding, ROUNDING),
            (self.neighbours, NEIGHBOURS),
            (self.induced or INDUCED[0], INDUCED),
        ):
            if word not in options:
                raise UsageError(f"unknown choice {word!r}{suggest(word, options)}")

    def _check_names(self) -> None:
        margins = [*(table.margin for table in self.tables), *(fact.margin for fact in self.public), self.sensitive]
        for margin in margins:
            if self.domain.margin(margin) != margin:
                raise UsageError(f"margin {margin} must name different attributes in the order of the domain")
        cells = [zip(fact.margin, fact.cell, strict=True) for fact in self.public if fact.cell is not None]
        patterns = [((name, value) for name, values in zero.items() for value in values) for zero in self.impossible]
        for name, value in chain(*cells, *patterns):
            self.domain[name].code(value)

    def _check_texts(self) -> None:
        """Whatever is published can be written down: known here, before anything is spent."""
        entries = self.codebook.entries
        for entry in entries:
            if wrong := name_problem(entry.name):
                raise UsageError(wrong)
        listed = (entry.rule.values for entry in entries if isinstance(entry.rule, Categories))
        extras = ((entry.name, entry.title, entry.missing or "", entry.other or "") for entry in entries)
        labels = (text for entry in entries for text in (*entry.labels, *entry.labels.values()))
        if wrong := texts_problem(chain((self.title, self.licence), *listed, *extras, labels)):
            raise UsageError(f"a title, a name, a value or a label {wrong}")

    @classmethod
    def load(cls, source: str | Path | Mapping[str, object]) -> Spec:
        """A spec from a file, from TOML text (text with more than one line), or from a mapping."""
        if isinstance(source, Mapping):
            return cls.from_dict(source)
        if isinstance(source, str) and "\n" in source:
            return cls.parse(source)
        path = Path(source)
        return _parse(spec_text(path), path.parent, str(path))

    @classmethod
    def parse(cls, text: str, base: Path | None = None) -> Spec:
        """A spec from TOML text; relative paths start from ``base``."""
        return _parse(text, base, "spec")

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object], base: Path | None = None) -> Spec:
        """A spec from a mapping in the shape of the TOML file, or from what `public_dict` wrote."""
        spec, problems = _read(mapping, base)
        if spec is None:
            raise SpecError(problems)
        return spec

    @property
    def domain(self) -> Domain:
        return self.codebook.domain

    @cached_property
    def workload(self) -> tuple[Wanted, ...]:
        """Every wanted table with its weight, by size and then in the order of the domain."""
        return expand_workload(self.domain, self.tables, self.all_ways)

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """The margins of the workload, in its order."""
        return tuple(wanted.margin for wanted in self.workload)

    @property
    def confidential(self) -> bool:
        """Whether the data is confidential, which it is unless the spec says otherwise."""
        return self.data is None or self.data.confidential

    @property
    def records_per_unit(self) -> int:
        """How many records one protected unit may own."""
        return 1 if self.data is None or self.data.unit is None else self.data.unit.max_records

    @property
    def dialect(self) -> Dialect:
        """How the file of data is written."""
        return USUAL if self.data is None else self.data.dialect

    @property
    def counted(self) -> str | None:
        """The column that says how many records a row stands for; None where each row is one record."""
        return None if self.data is None else self.data.count

    @cached_property
    def structural_zeros(self) -> tuple[Pattern, ...]:
        """The patterns that no record can match: those declared, then those implied by ``determines``."""
        return self.impossible + determined_zeros(self.codebook)

    def without_data(self) -> Spec:
        """The publishable part."""
        return replace(self, data=None)

    def public_dict(self) -> dict[str, object]:
        """The publishable part as JSON-ready values; `from_dict` reads it back."""
        return cast(dict[str, object], json_ready(spec_dict(self, with_data=False)))

    def to_toml(self) -> str:
        """The spec as TOML text; `parse` reads it back. It includes [data]: use `without_data` before publishing."""
        return dump_document(spec_dict(self, with_data=True))


def possible_mask(spec: Spec, margin: Margin) -> NDArray[np.bool_]:
    """For each cell of a margin, whether a record may fall into it.

    Exact for structural zeros whose attributes all lie inside the margin (or that hold every value of those that do
    not); a cell that is impossible for a subtler reason counts as possible, which is safe.
    """
    return mask_possible(spec.domain, spec.structural_zeros, margin)


def _parse(text: str, base: Path | None, source: str) -> Spec:
    spec, problems = _read(parse_text(text, source), base)
    if spec is None:
        raise SpecError(with_lines(problems, text), source)
    return spec


def _read(document: Mapping[str, object], base: Path | None) -> tuple[Spec | None, list[Problem]]:
    """The spec, or None and what is wrong with it."""
    root = Node(document)
    try:
        return _read_root(root, base), root.problems
    except TooManyError:
        return None, root.problems


def _read_root(root: Node, base: Path | None) -> Spec | None:
    keys = root.table(SECTIONS)
    for section in ("attributes", "release", "privacy"):
        if section not in keys:
            root.problem(f"the section [{section}] is missing")
    title, licence = (keys[name].text() if name in keys else None for name in ("title", "licence"))
    draft = keys["draft"].flag() if "draft" in keys else None
    codebook, names = read_attributes(keys["attributes"]) if "attributes" in keys else (Codebook(()), Names({}, {}))
    data = read_data(keys["data"], names, base) if "data" in keys else None
    # Without attributes every name in [release] would be unknown, which would only bury the one true problem.
    release = ReleaseSection()
    if "release" in keys and names.values:
        secret = data.location if data is not None and data.confidential else None
        release = read_release(keys["release"], names, SpecFolder(base, secret))
    privacy = read_privacy(keys["privacy"], release) if "privacy" in keys else PrivacySection()
    if root.problems or privacy.budget is None:
        return None
    zeros = release.impossible + determined_zeros(codebook)
    for number, text in contradictions(codebook.domain, release.public, zeros):
        keys["release"].child("public", None).child(number, None).problem(text)
    if root.problems:
        return None
    spec = _assemble(codebook, privacy.budget, release, privacy, data)
    return replace(spec, title=title or "", licence=licence or "", draft=draft is True)


def _assemble(
    codebook: Codebook,
    budget: Budget,
    release: ReleaseSection,
    privacy: PrivacySection,
    data: DataSection | None,
) -> Spec:
    return Spec(
        codebook=codebook,
        budget=budget,
        tables=release.tables,
        all_ways=release.all_ways,
        public=release.public,
        impossible=release.impossible,
        sensitive=release.sensitive,
        strategy=release.strategy,
        objective=release.objective,
        nonnegative=release.nonnegative,
        rounding=release.rounding,
        expected_size=release.expected_size,
        neighbours=privacy.neighbours,
        induced=privacy.induced,
        data=data,
    )
