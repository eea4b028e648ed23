"""The spec of a join: all that the owners agree on, in public, before any of them opens data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from math import prod
from pathlib import Path

from margrave.budget.numbers import exact_text
from margrave.budget.units import ApproxDP
from margrave.errors import SpecError, UsageError
from margrave.ledger.journal import canonical
from margrave.planning.join.ids import IdPart
from margrave.planning.join.owners import Helper, Owner
from margrave.planning.join.reading import read_join
from margrave.spec.codebook import Codebook
from margrave.spec.document import load_document, read_document, with_lines
from margrave.spec.reader import Node
from margrave.spec.spec import Spec

MOST_CATEGORIES = 1 << 12
"""Categories of one side: each is a batch of its own."""
MOST_PAIRS = 1 << 16
"""Pairs of categories, each with its dummies."""


@dataclass(frozen=True)
class JoinSpec:
    """A checked spec of a join.

    ``table``: the wanted tables over the attributes of all owners, in their order, with the ε of each cell. ``owners``:
    the first offers, the second answers. ``delta``: what the second owner's truncated noise may cost; ``sizes``: what
    hiding the sizes of batches costs; both are None with a helper. ``deadline``: a moment, in UTC.
    """

    table: Spec
    owners: tuple[Owner, ...]
    id: tuple[IdPart, ...]
    deadline: str
    publisher: str
    delta: Fraction | None = None
    sizes: ApproxDP | None = None
    helper: Helper | None = None

    def __post_init__(self) -> None:
        names = [one.name for one in self.owners] + ([] if self.helper is None else [self.helper.name])
        keys = {one.key for one in self.owners} | ({self.helper.key} if self.helper is not None else set())
        if len(set(names)) < len(names) or len(keys) < len(names):
            raise UsageError("owners, and the helper, have different names and keys")
        if self.helper is None and (len(self.owners) != 2 or self.delta is None or self.sizes is None):
            raise UsageError("without a helper there are two owners, a delta, and a budget that hides sizes")
        if len(self.owners) < 2 or self.publisher not in names[: len(self.owners)]:
            raise UsageError("a join has at least two owners, one of whom publishes")
        if tuple(name for one in self.owners for name in one.attributes) != self.table.domain.names:
            raise UsageError("each attribute of a join belongs to one owner, in the order of the owners")
        if any(len(one.columns) != len(self.id) for one in self.owners):
            raise UsageError("each owner has a column for each part of the id")
        if prod(self.shape) > MOST_PAIRS or max(self.shape) > MOST_CATEGORIES:
            raise UsageError(f"a join has at most {MOST_PAIRS:,} cells, and {MOST_CATEGORIES:,} categories of a side")
        parse_moment(self.deadline)

    @classmethod
    def load(cls, source: str | Path | Mapping[str, object]) -> JoinSpec:
        """A spec from a file, from TOML text (text with more than one line), or from a mapping."""
        return load_document(source, _checked)

    @property
    def way(self) -> str:
        return "join"

    @property
    def title(self) -> str:
        return self.table.title

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories of each owner."""
        return tuple(self.table.domain.cells(one.attributes) for one in self.owners)

    def place(self, name: str) -> int:
        """The place of an owner among all."""
        for place, one in enumerate(self.owners):
            if one.name == name:
                return place
        raise UsageError(f"there is no owner {name!r}: the owners are {', '.join(one.name for one in self.owners)}")

    def codebook(self, owner: Owner) -> Codebook:
        """The attributes of an owner."""
        return Codebook(tuple(self.table.codebook[name] for name in owner.attributes))

    @property
    def due(self) -> datetime:
        """The moment after which a session is void."""
        return parse_moment(self.deadline)

    def public_dict(self) -> dict[str, object]:
        """All of it, JSON-ready."""
        found: dict[str, object] = {
            "format": 1,
            "table": self.table.public_dict(),
            "owners": [one.to_json() for one in self.owners],
            "id": [one.to_json() for one in self.id],
            "deadline": self.deadline,
            "publisher": self.publisher,
        }
        if self.helper is not None:
            found["helper"] = self.helper.to_json()
        if self.delta is not None and self.sizes is not None:
            found |= {"delta": exact_text(self.delta), "sizes": self.sizes.as_dict()}
        return found

    @cached_property
    def digest(self) -> str:
        """What the owners agree on, in short: the SHA-256 of all of it."""
        return sha256(canonical(self.public_dict()).encode()).hexdigest()


def parse_moment(text: str) -> datetime:
    """A moment written as ``2027-01-31T12:00:00Z``."""
    try:
        found = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except (TypeError, ValueError):
        raise UsageError("a moment is written as 2027-01-31T12:00:00Z, in UTC") from None
    return found.replace(tzinfo=UTC)


def _checked(document: Mapping[str, object], base: Path | None, source: str, text: str) -> JoinSpec:
    root = Node(document)
    found = read_document(root, read_join, source, text)
    try:
        return JoinSpec(**found)
    except UsageError as error:
        root.problem(str(error))
        raise SpecError(with_lines(root.problems, text), source) from None
