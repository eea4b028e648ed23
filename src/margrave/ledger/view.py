"""Records as they stand at one moment: how they are found by their keys, read, and changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from margrave.errors import MargraveError, VerificationError
from margrave.ledger.purses import Escrow, Purse
from margrave.ledger.records import (
    Account,
    DataSet,
    Grants,
    Keys,
    Members,
    Opened,
    Pool,
    Question,
    Record,
    RequestRecord,
    Tip,
)

R = TypeVar("R", bound=Record)

RECORDS: Mapping[str, type[Record]] = {
    "account": Account,
    "asked": RequestRecord,
    "dataset": DataSet,
    "escrow": Escrow,
    "grants": Grants,
    "head": Tip,
    "keys": Keys,
    "members": Members,
    "opened": Opened,
    "pool": Pool,
    "purse": Purse,
    "question": Question,
}
"""The first part of a key. In the order of the alphabet, what a charge changes comes close together in the store."""

NAMES: Mapping[type[Record], str] = {kind: name for name, kind in RECORDS.items()}

_ONLY = (Tip, Keys)
"""Kinds of which there is one record, without a name."""
_PREFIXES: Mapping[type[Record], str] = {kind: name if kind in _ONLY else f"{name}/" for kind, name in NAMES.items()}

FIXED = ("dataset/", "account/")
"""Records that never change once they are there."""


def decode(key: str, text: str) -> Record:
    """The record with that text."""
    try:
        kind, _, name = key.partition("/")
        return RECORDS[kind].from_json(name, json.loads(text))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, MargraveError):
        raise VerificationError(f"the record {key!r} was changed: see 'margrave ledger verify'") from None


class View:
    """Records as they stand at one moment, read when first needed; what is put is remembered as a change."""

    def __init__(
        self,
        load: Callable[[Iterable[str]], Mapping[str, str]] = lambda _: {},
        load_all: Callable[[str], Iterable[tuple[str, str]]] = lambda _: (),
    ) -> None:
        self._load = load
        self._load_all = load_all
        self.records: dict[str, Record | None] = {}
        self.changes: dict[str, Record] = {}

    def fetch(self, keys: Iterable[str]) -> None:
        """Read some records at once."""
        missing = [key for key in keys if key not in self.records]
        if missing:
            texts = self._load(missing)
            for key in missing:
                self.records[key] = decode(key, texts[key]) if key in texts else None

    def get(self, kind: type[R], name: str = "") -> R | None:
        """The record of a kind and a name, which is what follows the kind in its key."""
        key = _PREFIXES[kind] + name
        if key not in self.records:
            self.fetch((key,))
        return self.records[key]  # type: ignore[return-value]  # the key begins with the kind

    def all(self, kind: type[R], names: Iterable[str]) -> list[R | None]:
        """Some records of a kind, read at once."""
        prefix = _PREFIXES[kind]
        keys = [prefix + name for name in names]
        self.fetch(keys)
        return [self.records[key] for key in keys]  # type: ignore[misc]  # the keys begin with the kind

    def every(self, kind: type[R]) -> list[R]:
        """All records of a kind, by key."""
        for key, text in self._load_all(NAMES[kind]):
            if key not in self.records:
                self.records[key] = decode(key, text)
        return [one for _, one in sorted(self.records.items()) if isinstance(one, kind)]

    def put(self, record: Record) -> None:
        key = record.key
        self.records[key] = self.changes[key] = record
