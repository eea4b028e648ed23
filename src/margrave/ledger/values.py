"""What a ledger is told: whom data sets protect, who may spend, and what is asked of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from margrave.budget.units import Budget
from margrave.errors import UsageError
from margrave.files.content import Content
from margrave.ledger.journal import canonical

AccountKind = Literal["analyst", "organisation"]

_DATA_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ACCOUNT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MOST_RECORDS = 1 << 40


def check_data_name(what: str, name: str) -> None:
    if not isinstance(name, str) or not _DATA_NAME.fullmatch(name):
        raise UsageError(f"{what} {name!r} must be 1 to 64 letters, digits, '.', '_' or '-', the first no sign")


def check_account_name(what: str, name: str) -> None:
    if not isinstance(name, str) or not _ACCOUNT_NAME.fullmatch(name):
        raise UsageError(
            f"{what} {name!r} must be 1 to 128 letters, digits, '.', '_', '-', '@' or '+', the first no sign"
        )


def check_digest(what: str, text: str) -> None:
    if not isinstance(text, str) or not _DIGEST.fullmatch(text):
        raise UsageError(f"{what} must be a SHA-256 in 64 hexadecimal digits")


def check_day(what: str, text: str | None) -> None:
    try:
        good = text is None or date.fromisoformat(text).isoformat() == text
    except (TypeError, ValueError):
        good = False
    if not good:
        raise UsageError(f"{what} {text!r} must be a day such as 2027-01-31")


@dataclass(frozen=True)
class Notion:
    """Whom releases from a data set protect, and given what: all of them must agree on this to be added up.

    A unit owns at most ``records`` records, found by ``unit``, a column, or is one record where that is None.
    ``sensitive``: if not empty, only these attributes are protected. ``facts`` are the public facts, each as canonical
    JSON with the attributes that it speaks of; ``induced`` says how neighbours follow from them. ``count``: the column
    that says how many records a row stands for; None where each row is one.
    """

    unit: str | None = None
    records: int = 1
    neighbours: str = "add-remove"
    sensitive: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    induced: str | None = None
    count: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", tuple(self.sensitive))
        object.__setattr__(self, "facts", tuple(sorted(self.facts)))
        if self.neighbours not in ("add-remove", "replace"):
            raise UsageError(f"neighbours must be 'add-remove' or 'replace', not {self.neighbours!r}")
        if type(self.records) is not int or not 1 <= self.records <= _MOST_RECORDS:
            raise UsageError(f"a unit owns at least one record, and a known number at most, not {self.records!r}")
        if bool(self.facts) != (self.induced is not None):
            raise UsageError("there is an induced neighbour relation exactly where there are public facts")
        if self.count is not None and (not isinstance(self.count, str) or not self.count.strip()):
            raise UsageError("a column of counts has a name")
        if self.count is not None and self.unit is not None:
            raise UsageError("rows that stand for counted records have no units")

    def to_json(self) -> dict[str, Any]:
        found = {
            "unit": self.unit,
            "records": self.records,
            "neighbours": self.neighbours,
            "sensitive": list(self.sensitive),
            "facts": list(self.facts),
            "induced": self.induced,
        }
        return found if self.count is None else found | {"count": self.count}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Notion:
        lists = {"sensitive": tuple(value["sensitive"]), "facts": tuple(value["facts"])}
        return cls(**{**value, **lists})

    def difference(self, other: Notion) -> str | None:
        """The first thing in which another notion differs, in words."""
        if self == other:
            return None
        mine, theirs = self.to_json(), other.to_json()
        for name, called in _CALLED.items():
            if mine.get(name) != theirs.get(name):
                return f"{called}: {_said(mine.get(name))} there, {_said(theirs.get(name))} here"
        return None


_CALLED = {
    "unit": "the column of the unit",
    "records": "the records of a unit",
    "neighbours": "the neighbours",
    "sensitive": "the sensitive attributes",
    "facts": "the public facts",
    "induced": "the induced neighbours",
    "count": "the column that says how many records a row stands for",
}


def _said(value: object) -> str:
    return "none" if value is None or value == [] else canonical(value)


@dataclass(frozen=True)
class DataSetName:
    """A data set by name and version: what "the same data" means. Never a fingerprint of its content."""

    name: str
    version: str

    def __post_init__(self) -> None:
        check_data_name("the data set", self.name)
        check_data_name("the version", self.version)

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    @classmethod
    def parse(cls, text: str) -> DataSetName:
        name, _, version = text.partition("@")
        if not version:
            raise UsageError(f"{text!r} names no version: write it as name@version")
        return cls(name, version)


@dataclass(frozen=True)
class Request:
    """One question to a data set. What it costs depends on nothing else.

    ``question`` is the SHA-256 of all that determines the answers' distribution and form; ``mechanisms`` and ``exact``
    say, for the public statement, what is measured with which noise and which tables are published without any;
    ``disclosed`` which public facts are published exactly, without any protection.
    ``purses``: what is set apart for each part of a partition, a unit being in at most ``parts`` of them; ``purse``:
    the one that pays, where it is asked of a part.
    ``id`` makes a retry the same request; without one, the same account's unfinished request with the same question
    is taken up again.
    """

    dataset: DataSetName
    account: str
    question: str
    cost: Budget
    notion: Notion
    id: str | None = None
    title: str = ""
    mechanisms: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    exact: tuple[tuple[str, ...], ...] = ()
    disclosed: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    purses: tuple[Budget, ...] = ()
    parts: int = 0
    purse: str = ""

    @property
    def kind(self) -> str:
        """The kind of the entry that reserves it."""
        return "spend" if self.purse else "escrow" if self.purses else "reserve"

    def __post_init__(self) -> None:
        check_account_name("the account", self.account)
        check_digest("the question", self.question)
        if self.id is not None:
            check_account_name("the request id", self.id)


@dataclass(frozen=True)
class Head:
    """Where a ledger stood: its identity, the number of an entry, and the hash that covers every entry up to it."""

    ledger: str
    number: int
    hash: str

    def __post_init__(self) -> None:
        check_digest("the hash of an entry", self.hash)
        if type(self.number) is not int or self.number < 1:
            raise UsageError(f"entries are numbered from 1, not {self.number!r}")


@dataclass(frozen=True)
class Charge:
    """A request, and where the public journal stood, at which ``time``, when its question was first charged.

    ``content`` is the stored answer, where the same was answered before; ``drawn`` are the noisy answers, where they
    were drawn and no answer is stored yet.
    """

    request: str
    dataset: DataSetName
    head: Head
    time: str
    content: Content | None = field(default=None, repr=False)
    drawn: Content | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ChargedBundle:
    """What a bundle says of its charge: where it was found, the ledger's head then, and the release's identity.

    ``signer`` is the public key, in hexadecimal digits, with which it is signed, if it is.
    """

    place: str
    head: Head
    release: str
    signer: str | None = None
