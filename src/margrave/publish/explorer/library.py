"""The bundles that an explorer shows: found in a folder, known by their content, opened when somebody asks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from margrave.budget.units import Budget, budget_from_dict
from margrave.errors import BundleError, MargraveError, UsageError
from margrave.messages.catalogue import say
from margrave.planning.promise.guarantee import approximate
from margrave.publish.bundle.account import unsealed
from margrave.publish.bundle.untrusted.reading import manifest_content, opened
from margrave.publish.bundle.words import MANIFEST
from margrave.publish.explorer.checking import Checks
from margrave.publish.explorer.waiting import Waiting
from margrave.publish.released import Released
from margrave.publish.way import TABLES
from margrave.publish.ways.registry import load

KEY = 12
"""A release is known in addresses by so many digits of the SHA-256 of its `release.json`."""
_OPEN = 4
"""Releases that are kept open."""
_REPORTS = 8
"""Reports that are kept."""
_MOST_BUNDLES = 10_000
_LONG = 4 << 20
"""Bytes of `release.json` from which opening a release takes seconds."""


@dataclass(frozen=True)
class Shelved:
    """A bundle on the shelf, by its `release.json` alone; ``digest`` is that file's SHA-256."""

    path: Path
    digest: str
    title: str
    created: str | None
    way: str
    private: bool = True
    promised: Budget | None = None
    tables: int = 0
    files: Mapping[str, int] = field(default_factory=dict, repr=False)
    """The length of each file of the bundle, as its `release.json` says, and of that itself."""

    @property
    def key(self) -> str:
        return self.digest[:KEY]

    @property
    def bytes(self) -> int:
        """How large the files of the bundle are together."""
        return sum(self.files.values())

    @property
    def guarantee(self) -> str:
        """What the release guarantees, in short; empty where its `release.json` has nothing that is known."""
        return "" if self.promised is None else approximate(self.promised)

    @property
    def takes_long(self) -> bool:
        """Whether opening it takes so long that one should be told."""
        return self.files.get(MANIFEST, 0) > _LONG

    @property
    def explorable(self) -> bool:
        """Whether it holds tables; other ways of asking have their report."""
        return self.way == TABLES


@dataclass(frozen=True, eq=False)
class Library:
    """Bundles by their keys; ``skipped`` says which folders and files could not be read, and why."""

    entries: Mapping[str, Shelved]
    skipped: tuple[str, ...] = ()
    typical: dict[str, float | None] = field(default_factory=dict, repr=False)
    """How far a typical interval reaches, by the key of each release of which that was tried."""
    waiting: Waiting = field(default_factory=Waiting, repr=False)
    checks: Checks = field(default_factory=Checks, repr=False)
    reports: OrderedDict[str, bytes] = field(default_factory=OrderedDict, repr=False)
    """The reports that were made last, by their names."""
    _open: OrderedDict[str, Released] = field(default_factory=OrderedDict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)
    _opening: dict[str, Lock] = field(default_factory=dict, repr=False)

    def entry(self, key: str) -> Shelved:
        if key not in self.entries:
            raise UsageError(say("there is no release of that address here"))
        return self.entries[key]

    def release(self, key: str) -> Released:
        """The release of a key, opened when it is first asked for."""
        entry = self.entry(key)
        if not entry.explorable:
            raise UsageError(say("this bundle holds no tables to explore: see its report"))
        with self._lock:
            opening = self._opening.setdefault(key, Lock())
        with opening:  # Whoever wants another release does not wait for this one.
            found = self._open.get(key)
            if found is None:
                found = load(entry.path)
                assert isinstance(found, Released)
            with self._lock:
                self._open[key] = found
                self._open.move_to_end(key)
                while len(self._open) > _OPEN:
                    self._open.popitem(last=False)
            return found

    def keep_report(self, name: str, content: bytes) -> None:
        """Keep a report for the next who wants it; the oldest is forgotten."""
        with self._lock:
            self.reports[name] = content
            while len(self.reports) > _REPORTS:
                self.reports.popitem(last=False)

    def is_open(self, key: str) -> bool:
        return key in self._open

    @property
    def comparable(self) -> list[Shelved]:
        """The releases of tables, the newest first."""
        return [entry for entry in self.search("") if entry.explorable]

    def search(self, text: str) -> list[Shelved]:
        """The entries whose title has all the words, the newest first."""
        words = text.casefold().split()
        found = [one for one in self.entries.values() if all(word in one.title.casefold() for word in words)]
        return sorted(sorted(found, key=lambda one: one.title), key=lambda one: one.created or "", reverse=True)


def library_of(place: Path) -> Library:
    """The library of a bundle, or of all bundles in a folder."""
    if not place.exists():
        raise UsageError(f"{place}: there is no such folder or file")
    if not place.is_dir() or (place / MANIFEST).exists():
        one = _entry(place)
        return Library({one.key: one})
    found, skipped = {}, []
    for path in sorted(place.iterdir())[:_MOST_BUNDLES]:
        if not (path.is_dir() and (path / MANIFEST).exists()) and path.suffix != ".zip":
            continue
        try:
            one = _entry(path)
        except BundleError as error:
            skipped.append(f"{path.name}: {error}")
            continue
        found[one.key] = one
    if not found:
        raise UsageError(f"{place} holds no release: name a bundle, or a folder of bundles")
    return Library(found, tuple(skipped))


def _entry(path: Path) -> Shelved:
    with opened(path) as files:
        content = manifest_content(files)
    said: dict[str, Any] = unsealed(content)
    title, created = said.get("title"), said.get("created")
    return Shelved(
        path,
        sha256(content).hexdigest(),
        title if isinstance(title, str) and title else path.name,
        created if isinstance(created, str) else None,
        said["way"] if isinstance(said.get("way"), str) else TABLES,
        said.get("private") is True,
        _promised(said.get("guarantee")),
        len(said["tables"]) if isinstance(said.get("tables"), list) else 0,
        {MANIFEST: len(content), **_lengths(said.get("files"))},
    )


def _lengths(files: Any) -> dict[str, int]:
    """How long the files of a bundle are, as far as its `release.json` says so."""
    listed = files.items() if isinstance(files, dict) else ()
    return {
        str(name): one["bytes"]
        for name, one in listed
        if isinstance(one, dict) and type(one.get("bytes")) is int and one["bytes"] >= 0
    }


def _promised(said: Any) -> Budget | None:
    """What a release guarantees or, of other ways of asking, costs, as its `release.json` has it; None if unknown."""
    for name in ("guarantee", "cost"):
        try:
            return budget_from_dict(said[name])
        except (MargraveError, KeyError, TypeError, ValueError):
            continue
    return None
