"""The spec of a local collection: attributes, tables and ε as in every spec, and a section [local] beside them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.encoding import Plain
from margrave.budget.numbers import exact_text
from margrave.budget.units import Budget
from margrave.errors import Problem, SpecError, UsageError
from margrave.planning.defaults import DELTA
from margrave.spec.document import load_document, with_lines
from margrave.spec.reader import Node, TooManyError
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted

LOCAL_KEYS = ("expected_size", "shuffler", "delta")


@dataclass(frozen=True)
class Shuffler:
    """Who is trusted to mix the reports and take the tokens off, by name; ``delta`` of the guarantee that follows."""

    name: str
    delta: Fraction = DELTA

    def __post_init__(self) -> None:
        if not self.name or not 0 < self.delta < 1:
            raise UsageError("a shuffler needs a name, and a δ between 0 and 1")


@dataclass(frozen=True)
class LocalSpec:
    """A checked spec. ``expected_size``: how many reports are hoped for, which serves the forecast and nothing else."""

    way: ClassVar[str] = "local"
    data: ClassVar[None] = None

    base: Spec
    expected_size: int
    shuffler: Shuffler | None = None

    def __post_init__(self) -> None:
        if self.expected_size < 1:
            raise UsageError("a local collection expects at least one respondent")
        for place, text in _unfit(self.base):
            raise UsageError(f"{place}: {text}")

    @property
    def domain(self) -> Domain:
        return self.base.domain

    @property
    def margins(self) -> tuple[Margin, ...]:
        return self.base.margins

    @cached_property
    def encoding(self) -> Plain:
        """Attributes of one value are declared and published, and nobody reports on them."""
        return Plain(self.domain)

    @property
    def workload(self) -> tuple[Wanted, ...]:
        """The wanted tables, by the attributes that are reported on."""
        return tuple(Wanted(self.encoding.margin(one.margin), one.weight) for one in self.base.workload)

    @property
    def told(self) -> tuple[Margin, ...]:
        """The wanted tables that reports tell about: all but those of attributes of one value."""
        return tuple(margin for margin in self.margins if self.encoding.margin(margin))

    @property
    def title(self) -> str:
        return self.base.title

    @property
    def budget(self) -> Budget:
        return self.base.budget

    @property
    def epsilon(self) -> Fraction:
        return self.base.budget.parts.pure

    @classmethod
    def load(cls, source: str | Path | Mapping[str, object]) -> LocalSpec:
        """A spec from a file, from TOML text (text with more than one line), or from a mapping."""
        return load_document(source, _checked)

    def public_dict(self) -> dict[str, Any]:
        """The spec as JSON-ready values; `load` reads it back."""
        local: dict[str, Any] = {"expected_size": self.expected_size}
        if self.shuffler is not None:
            local |= {"shuffler": self.shuffler.name, "delta": exact_text(self.shuffler.delta)}
        return {**self.base.public_dict(), "local": local}


def _checked(document: Mapping[str, object], base: Path | None, source: str, text: str) -> LocalSpec:
    problems: list[Problem] = []
    rest = {name: value for name, value in document.items() if name != "local"}
    found, local = None, None
    try:
        found = Spec.from_dict(rest, base)
    except SpecError as error:
        problems += error.problems
    node = Node(document.get("local"), "local", problems)
    with suppress(TooManyError):
        local = _read_local(node)
    if found is not None:
        problems += [Problem(place, text) for place, text in _unfit(found)]
    if problems or found is None or local is None:
        raise SpecError(with_lines(problems, text) if text else problems, source)
    return LocalSpec(found, *local)


def _read_local(node: Node) -> tuple[int, Shuffler | None] | None:
    keys = node.table(LOCAL_KEYS)
    if "expected_size" not in keys:
        node.needs(keys, "expected_size, the number of respondents hoped for (it serves the forecast only)")
        return None
    size = keys["expected_size"].whole()
    if size is not None and not 1 <= size <= 10**12:
        keys["expected_size"].problem("must be between 1 and 10^12")
    name = keys["shuffler"].text() if "shuffler" in keys else None
    delta = keys["delta"].positive() if "delta" in keys else DELTA
    if "delta" in keys and "shuffler" not in keys:
        keys["delta"].problem("is for the guarantee that a shuffler adds; without one it is pure: leave delta out")
    elif delta is not None and delta >= 1:
        keys["delta"].problem("must be less than 1")
    if size is None or node.problems:
        return None
    return size, None if name is None else Shuffler(name, delta or DELTA)


def _unfit(spec: Spec) -> list[tuple[str, str]]:
    """What other specs have and no local collection can."""
    found = []
    if not spec.budget.parts.pure:
        found.append(("privacy", "a local collection needs epsilon alone: the coins on a device give pure privacy"))
    if spec.data is not None:
        found.append(("data", "nobody holds the data of a local collection: leave [data] out"))
    if spec.public:
        found.append(("release.public", "exact tables need somebody who counts them: leave public out"))
    if spec.sensitive:
        found.append(("release.sensitive", "every answer is protected by the respondent herself: leave sensitive out"))
    if spec.strategy != "auto":
        found.append(("release.strategy", "a local collection has a strategy of its own: leave strategy out"))
    if spec.objective != "mean":
        found.append(("release.objective", "reports are planned for the mean error: leave objective out"))
    if not any(size > 1 for margin in spec.margins for size in spec.domain.shape(margin)):
        found.append(("release", "no wanted table has an attribute with two values: there is nothing to ask"))
    return found
