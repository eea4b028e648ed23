"""Who takes part in a join: the owners of data and, where there is one, the helper who has none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from margrave.algebra.domain import Margin
from margrave.budget.neighbours import Neighbours
from margrave.errors import UsageError
from margrave.planning.join.ids import ISO
from margrave.spec.dialect import USUAL, Dialect

MOST_PEOPLE = 1 << 26
"""People of one owner. Their points take 32 bytes each, in memory and in a message."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(r"[0-9a-f]{64}")


def is_name(text: str) -> bool:
    """Whether a text can name an owner or a helper."""
    return _NAME.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Whether a text is a public key in hexadecimal digits."""
    return _KEY.fullmatch(text) is not None


@dataclass(frozen=True)
class Owner:
    """One who holds a part of the data.

    ``key``: the public key (Ed25519) of the owner's messages; ``box``: the one (X25519) that secrets are sealed with,
    where there is a helper. ``columns``: the columns of the parts of the id, and ``dates`` how days are written there.
    ``at_most``: a public bound on the number of people. ``records``: a person has at most so many rows, the least of
    whose categories counts; with one, a second row is an error. ``neighbours``: as the owner's data set is registered.
    ``dialect``: how the owner's file is written.
    """

    name: str
    key: str
    columns: tuple[str, ...]
    at_most: int
    attributes: Margin = ()
    box: str = ""
    dates: str = ISO
    records: int = 1
    neighbours: Neighbours = "add-remove"
    dialect: Dialect = USUAL

    def __post_init__(self) -> None:
        if not is_name(self.name) or not is_key(self.key) or not (self.box == "" or is_key(self.box)):
            raise UsageError("an owner has a name, and keys of 64 hexadecimal digits")
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise UsageError(f"{self.name} needs a column for each part of the id")
        if not 1 <= self.at_most <= MOST_PEOPLE or self.records < 1:
            raise UsageError(f"{self.name} has between 1 and {MOST_PEOPLE} people, of one row or more")

        if self.records > 1 and len(self.columns) > 1:
            raise UsageError(f"people of {self.name} with several rows are named by one column, as a ledger names them")

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "key": self.key,
            "box": self.box,
            "columns": list(self.columns),
            "dates": self.dates,
            "at_most": self.at_most,
            "records": self.records,
            "neighbours": self.neighbours,
            "attributes": list(self.attributes),
            **self.dialect.as_dict(),
        }


@dataclass(frozen=True)
class Helper:
    """One who holds no data, matches what owners send, and adds the noise."""

    name: str
    key: str
    box: str

    def __post_init__(self) -> None:
        if not is_name(self.name) or not is_key(self.key) or not is_key(self.box):
            raise UsageError("a helper has a name, and keys of 64 hexadecimal digits")

    def to_json(self) -> dict[str, str]:
        return {"name": self.name, "key": self.key, "box": self.box}
