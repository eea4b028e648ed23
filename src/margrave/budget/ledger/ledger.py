"""The ledger: what may be spent on which data by whom, and an account of all that was."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from os import urandom
from pathlib import Path
from time import time_ns
from types import TracebackType
from typing import Any, Literal, Self

from margrave.budget.ledger.clock import Clock, time_after
from margrave.budget.ledger.content import Content, digest_of
from margrave.budget.ledger.journal import START, Entry, canonical, hash_of
from margrave.budget.ledger.limits import kept
from margrave.budget.ledger.lookup import answered, need_account, need_dataset, need_reserved, payers, requests
from margrave.budget.ledger.records import (
    END,
    FIXED,
    NAMES,
    Asked,
    DataSet,
    Record,
    Tip,
    View,
    budget_json,
    decode,
)
from margrave.budget.ledger.replay import chain, entry_of, remake
from margrave.budget.ledger.rules import NEWEST, apply, limits_in
from margrave.budget.ledger.store import Session, Store
from margrave.budget.ledger.values import AccountKind, Charge, DataSetName, Head, Notion, Request, check_digest
from margrave.budget.units import Budget
from margrave.errors import LedgerError, RefusedError, UsageError, VerificationError

_MOST_RECENT = 1000


class Ledger:
    """A ledger in a store. Open one with `Ledger.open`, make one with `Ledger.create`."""

    def __init__(self, store: Store, clock: Clock = time_ns) -> None:
        self.store = store
        self._clock = clock
        self._fixed: dict[str, Record] = {}
        self._recent: dict[str, tuple[str, Record]] = {}

    @classmethod
    def open(cls, url: str | Path, *, wait: float | None = None, clock: Clock = time_ns) -> Ledger:
        """The ledger in a SQLite file (a path) or in a PostgreSQL database (``postgresql://…``)."""
        return opened(url, wait=wait, clock=clock)

    @classmethod
    def create(cls, url: str | Path, *, wait: float | None = None, clock: Clock = time_ns) -> Ledger:
        """A new, empty ledger."""
        ledger = cls(open_store(url, create=True, wait=wait), clock)
        try:
            with ledger.store.made():
                ledger.store.migrate(remake)
                with ledger.store.writing() as session:
                    view = ledger._view(session)
                    if view.get(Tip) is not None:
                        raise LedgerError(f"there is a ledger in {ledger.store} already")
                    body = {"format": 1, "ledger": secrets.token_hex(16), "rules": NEWEST}
                    ledger._append(session, view, "open", body)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def register(
        self,
        dataset: DataSetName | str,
        notion: Notion,
        cap: Budget | None = None,
        *,
        most: Budget | None = None,
        disjoint: bool = False,
        event_delta: Fraction = Fraction(0),
    ) -> None:
        """Register a version of a data set, with whom it protects. Versions share one cap unless ``disjoint``.

        ``cap`` is what may be spent in all; a further version under the same cap leaves it out. ``most`` is the
        highest cost of one request. ``disjoint`` declares that nobody in this version is in another one.
        ``event_delta`` is the part of the δ of a cap that requests with a δ of their own may have together.
        """
        named = dataset if isinstance(dataset, DataSetName) else DataSetName.parse(dataset)
        body = {"name": named.name, "version": named.version, "notion": notion.to_json(), "disjoint": disjoint}
        self._write("dataset", {**body, "cap": budget_json(_kept(cap, event_delta)), "most": budget_json(most)})

    def add_account(self, name: str, kind: AccountKind = "analyst", *, organisation: str | None = None) -> None:
        """Add an analyst, perhaps as a member of an organisation, or an organisation."""
        self._write("account", {"name": name, "type": kind, "organisation": organisation})

    def grant(
        self,
        account: str,
        dataset: str,
        amount: Budget,
        *,
        starts: str | None = None,
        expires: str | None = None,
        most: Budget | None = None,
        event_delta: Fraction = Fraction(0),
    ) -> None:
        """Let an account spend up to ``amount`` on a data set, from a day on and until it expires at another's start.

        Grants at first hand together stay within the cap. A member of an organisation spends from the organisation's
        grant; a grant of the member's own is a further limit. A grant is renewed by one that starts when it expires.
        ``event_delta`` is the part of the δ of the amount that requests with a δ of their own may have together.
        """
        limit = budget_json(_kept(amount, event_delta))
        body = {"account": account, "dataset": dataset, "amount": limit, "starts": starts}
        self._write("grant", {**body, "expires": expires, "most": budget_json(most)})

    def end_grant(self, account: str, dataset: str) -> None:
        """End the grants of an account now. What was not spent can be granted anew."""
        self._write("end", {"account": account, "dataset": dataset})

    def reserve(self, request: Request) -> Charge:
        """Charge a request before any data is opened, or find its stored answer, or take it up where it was left."""
        identity = request.id or _new_id()
        # What does not depend on the ledger is made before others must wait for it.
        body = _reserving(request, identity)
        text, expected = canonical(body), self._expected(request, identity)
        with self.store.writing() as session:
            view = self._view(session, expected)
            data = need_dataset(view, body["dataset"])
            need_account(view, request.account)
            different = data.notion.difference(request.notion)
            if different is not None:
                raise RefusedError(
                    f"{data.name} is registered with another notion of privacy. They differ in {different}"
                )
            asked = _earlier(view, request)
            if asked is not None:
                return self._charge(session, view, request, asked)
            tip = self._append(session, view, "reserve", body, text)
        return Charge(identity, request.dataset, Head(tip.ledger, tip.number, tip.hash), tip.time)

    def commit(self, charge: Charge, content: Content, release: str) -> Content:
        """Close a request with its answer, and give back the answer to publish.

        ``release`` is the identity of the release in ``content``, a SHA-256. What comes back is the stored answer:
        another one, if the same question was answered meanwhile.
        """
        check_digest("the identity of a release", release)
        body = {"request": charge.request, "bundle": digest_of(content), "release": release}
        text = canonical(body)
        with self.store.writing() as session:
            asked, view = self._asked(session, charge)
            if asked.status == "committed":
                return _stored(session, asked)[1]
            need_reserved(view, asked.id)
            first = answered(requests(view, asked.dataset, asked.question))
            if first is None:
                self._append(session, view, "commit", body, text, (asked.number, content))
            else:
                closing, content = _stored(session, first)
                self._append(session, view, "commit", {**closing, "request": asked.id})
        return content

    def void(self, charge: Charge, *, touched: bool, reason: str = "") -> None:
        """Give a request up. Once data may have been touched, the charge stays: even a failure tells something."""
        with self.store.writing() as session:
            asked, view = self._asked(session, charge)
            self._append(session, view, "void", {"request": asked.id, "charged": touched, "reason": reason})

    @property
    def head(self) -> Head:
        """Where the ledger stands."""
        with self.store.reading() as session:
            tip = _tip(View(session.state))
            return Head(tip.ledger, tip.number, tip.hash)

    def entries(self) -> Iterator[tuple[Entry, str]]:
        """All entries with their hashes, each checked against the one before."""
        with self.store.reading() as session:
            yield from chain(session)

    def records(self, kind: type[Record]) -> list[Any]:
        """All records of a kind, by key."""
        with self.store.reading() as session:
            return [decode(key, text) for key, text in session.state_of(NAMES[kind])]

    def only_dataset(self, named: DataSetName | str | None) -> DataSetName:
        """The data set that is named, or, if none is, the only one there is."""
        if named is not None:
            return named if isinstance(named, DataSetName) else DataSetName.parse(named)
        known = self.records(DataSet)
        if len(known) != 1:
            names = ", ".join(one.name for one in known) or "none yet"
            raise UsageError(f"say which registered data set this is (there are: {names})")
        return DataSetName.parse(known[0].name)

    def _expected(self, request: Request, identity: str) -> Iterable[str]:
        """The records that a request will need, as far as can be told: reading them at once saves round trips."""
        dataset = str(request.dataset)
        keys = [f"dataset/{dataset}", f"account/{request.account}"]
        keys += [f"question/{dataset}/{request.question}", f"asked/{identity}"]
        data, account = self._fixed.get(keys[0]), self._fixed.get(keys[1])
        if data is not None and account is not None:
            pool = data.pool  # type: ignore[attr-defined]
            keys += [f"pool/{pool}", *(f"grants/{pool}/{payer}" for payer in payers(account))]  # type: ignore[arg-type]
        return keys

    def _view(self, session: Session, keys: Iterable[str] = ()) -> View:
        """The records as they stand when writing begins, the end of the journal being where they say it is.

        Where older rules hold, the first entry to be written says that from it on the newest do.
        """
        view = View(session.state, session.state_of)
        missing = [END]
        for key in keys:
            fixed = self._fixed.get(key)
            if fixed is None:
                missing.append(key)
            else:
                view.records[key] = fixed
        *texts, number, last = session.begin(missing)
        for key, text in zip(missing, texts, strict=True):
            view.records[key] = record = None if text is None else self._decoded(key, text)
            if record is not None and key.startswith(FIXED):
                self._fixed[key] = record
        tip = view.get(Tip)
        if (number, last) != ((None, None) if tip is None else (tip.number, tip.hash)):
            raise VerificationError(
                "the end of the journal is not where the ledger stood: entries were removed or added by other means; "
                "see 'margrave ledger verify'"
            )
        if tip is not None and tip.rules != NEWEST:
            self._renew(session, view, tip)
        return view

    def _renew(self, session: Session, view: View, tip: Tip) -> None:
        if tip.rules > NEWEST:
            raise LedgerError(f"the ledger follows rules {tip.rules} by now: use a newer Margrave")
        self._append(session, view, "rules", {"rules": NEWEST, "limits": limits_in(view)})

    def _decoded(self, key: str, text: str) -> Record:
        """A record from its text, which is most often the one that was written last."""
        known = self._recent.get(key)
        return known[1] if known is not None and known[0] == text else decode(key, text)

    def _asked(self, session: Session, charge: Charge) -> tuple[Asked, View]:
        keys = [f"asked/{charge.request}"]
        known = self._recent.get(keys[0])
        if known is not None and isinstance(known[1], Asked):
            keys.append(f"question/{known[1].dataset}/{known[1].question}")
        view = self._view(session, keys)
        asked = view.get(Asked, charge.request)
        if asked is None:
            raise VerificationError(
                f"the ledger has no request {charge.request}, which it charged before: it was truncated or restored"
            )
        return asked, view

    def _charge(self, session: Session, view: View, request: Request, asked: Asked) -> Charge:
        entry, entry_hash = entry_of(session, asked.number)
        head = Head(_tip(view).ledger, asked.number, entry_hash)
        content = _stored(session, asked)[1] if asked.status == "committed" else None
        return Charge(asked.id, request.dataset, head, entry.time, content)

    def _write(self, kind: str, body: Mapping[str, Any]) -> None:
        with self.store.writing() as session:
            self._append(session, self._view(session), kind, body)

    def _append(
        self,
        session: Session,
        view: View,
        kind: str,
        body: Mapping[str, Any],
        body_text: str | None = None,
        answer: tuple[int, Content] | None = None,
    ) -> Tip:
        tip = view.get(Tip)
        number, previous = (tip.number + 1, tip.hash) if tip else (1, START)
        entry = Entry(number, time_after(tip.time if tip else None, self._clock()), kind, body, previous)
        text = entry.text if body_text is None else entry.text_with(body_text)
        entry_hash = hash_of(text)
        after = apply(view, entry, entry_hash)
        if len(self._recent) > _MOST_RECENT:
            self._recent.clear()
        state: list[str] = []
        for key, record in view.changes.items():
            written = record.text
            state += (key, written)
            self._recent[key] = (written, record)
        session.append((number, text, entry_hash), state, answer)
        return after


def _kept(limit: Budget | None, events: Fraction) -> Budget | None:
    if limit is None and events:
        raise UsageError("a δ can be set apart only of a limit that is given with it")
    return None if limit is None else kept(limit, events)


def _reserving(request: Request, identity: str) -> dict[str, Any]:
    """What the entry that reserves a request says."""
    body = {
        "request": identity,
        "dataset": str(request.dataset),
        "account": request.account,
        "question": request.question,
        "cost": budget_json(request.cost),
        "title": request.title,
        "mechanisms": list(request.mechanisms),
        "exact": [list(margin) for margin in request.exact],
    }
    return body | {"disclosed": list(request.disclosed)} if request.disclosed else body


def _new_id() -> str:
    """An id that nobody can guess, in the order of time, which keeps neighbours in time together in the store."""
    return f"r{time_ns() // 10**6:013}-{urandom(8).hex()}"


def _tip(view: View) -> Tip:
    found = view.get(Tip)
    if found is None:
        raise LedgerError(
            "the ledger is empty, its making was interrupted: make it again with 'margrave ledger init' (if it is a "
            "file, remove it first)"
        )
    return found


def _earlier(view: View, request: Request) -> Asked | None:
    """The request that already answers this one, or that is this one; None if it is new."""
    dataset = str(request.dataset)
    asked = view.get(Asked, request.id) if request.id is not None else None
    if asked is not None:
        if (asked.dataset, asked.account, asked.question) != (dataset, request.account, request.question):
            raise UsageError(f"the request id {asked.id} was used for another question: a new question needs a new id")
        if asked.status == "void":
            raise RefusedError(f"the request {asked.id} was given up after data may have been touched: use a new id")
        return asked
    asking = requests(view, dataset, request.question)
    first = answered(asking)
    if first is not None or request.id is not None:
        return first
    unfinished = (one for one in reversed(asking) if one.account == request.account)
    return next(unfinished, None)


def _stored(session: Session, asked: Asked) -> tuple[Mapping[str, Any], Content]:
    """What the commit of a request says, and the stored answer."""
    body = entry_of(session, asked.closed)[0].body
    content = session.answer(asked.answer) if asked.answer is not None else b""
    if digest_of(content) != body["bundle"]:
        raise VerificationError(f"the stored answer to the request {asked.id} is missing or was changed")
    return body, content


def opened(url: str | Path, *, wait: float | None = None, clock: Clock = time_ns) -> Ledger:
    """The ledger at a path or URL."""
    ledger = Ledger(open_store(url, wait=wait), clock)
    try:
        ledger.store.check_schema(remake)
    except BaseException:
        ledger.close()
        raise
    return ledger


def open_store(url: str | Path, *, create: bool = False, wait: float | None = None) -> Store:
    """The store that a path or URL names."""
    text = str(url)
    options: dict[str, Any] = {} if wait is None else {"wait": wait}
    scheme: Literal["postgresql", "sqlite"] | str = text.partition(":")[0] if ":" in text else "sqlite"
    if scheme in ("postgresql", "postgres"):
        from margrave.budget.ledger.postgres import PostgresStore

        return PostgresStore(text, **options)
    if "://" in text and scheme != "sqlite":
        raise UsageError("a ledger is a file, or a PostgreSQL database named by postgresql://…")
    from margrave.budget.ledger.sqlite import SqliteStore

    path = text.removeprefix("sqlite:").removeprefix("//") if text.startswith("sqlite:") else text
    return SqliteStore(Path(path), create=create, **options)
