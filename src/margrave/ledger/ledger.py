"""The ledger: what may be spent on which data by whom, and an account of all that was."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import time_ns
from types import TracebackType
from typing import Any, Self

from margrave.budget.units import Budget
from margrave.errors import LedgerError, RefusedError, UsageError, VerificationError
from margrave.files.content import Content, digest_of
from margrave.ledger.earlier import drawn_answers, earlier, new_id, reserving, stored_answer
from margrave.ledger.journal import START, Entry, canonical, hash_of
from margrave.ledger.records import (
    END,
    FIXED,
    NAMES,
    DataSet,
    Record,
    RequestRecord,
    Tip,
    View,
    budget_json,
    decode,
)
from margrave.ledger.replay import chain, entry_of, remake
from margrave.ledger.rules.charges import active_grants, rows_of
from margrave.ledger.rules.clock import Clock, time_of
from margrave.ledger.rules.entries import NEWEST, apply, limits_in
from margrave.ledger.rules.limits import kept
from margrave.ledger.rules.lookup import (
    answered,
    charge_of,
    need_account,
    need_asked,
    need_dataset,
    need_pool,
    need_question,
    need_reserved,
    payers,
    requests,
)
from margrave.ledger.stores.opening import open_store
from margrave.ledger.stores.store import Session, Store
from margrave.ledger.values import AccountKind, Charge, DataSetName, Head, Notion, Request, check_digest

_MOST_RECENT = 1000


class Ledger:
    """A ledger in a store. Open one with `Ledger.open`, make one with `Ledger.create`."""

    def __init__(self, store: Store, clock: Clock = time_ns, clock_is_right: bool = False) -> None:
        self.store = store
        self._clock = clock
        self._clock_is_right = clock_is_right
        self._fixed: dict[str, Record] = {}
        self._recent: dict[str, tuple[str, Record]] = {}

    @classmethod
    def open(
        cls, url: str | Path, *, wait: float | None = None, clock: Clock = time_ns, clock_is_right: bool = False
    ) -> Ledger:
        """The ledger in a SQLite file (a path) or in a PostgreSQL database (``postgresql://…``).

        ``clock_is_right``: entries are dated by the clock also where it is unusually far ahead of the last one.
        """
        return opened(url, wait=wait, clock=clock, clock_is_right=clock_is_right)

    @classmethod
    def create(
        cls, url: str | Path, *, wait: float | None = None, clock: Clock = time_ns, clock_is_right: bool = False
    ) -> Ledger:
        """A new, empty ledger."""
        ledger = cls(open_store(url, create=True, wait=wait), clock, clock_is_right)
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
        told = notion.to_json() | {"count": notion.count}
        body = {"name": named.name, "version": named.version, "notion": told, "disjoint": disjoint}
        self._write("dataset", {**body, "cap": budget_json(_kept(cap, event_delta)), "most": budget_json(most)})

    def declare_count(self, dataset: str, column: str) -> None:
        """Say, once, that each row stands for as many records as a column says: one of these is what is protected.

        It is about all versions under the cap. Only of data sets that were registered before this was asked for, and
        from which nothing was charged since: for those a row is one record.
        """
        self._write("count", {"dataset": dataset, "column": column})

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

    def hold_key(self, key: str) -> None:
        """Hold the public key, in hexadecimal digits, that releases are signed with from now on."""
        self._write("key", {"key": key})

    def set_clock_back(self) -> None:
        """Date entries by the clock again, after one with a wrong, later date. What had ended by then stays ended."""
        self._write("clock", {})

    def reserve(self, request: Request) -> Charge:
        """Charge a request before any data is opened, or take it up where it was left.

        The charge comes with what is kept for its question: the stored answer, or noisy answers once they are drawn.
        Whoever has paid for the question is not charged again; the account's grants must be active all the same.
        """
        identity = request.id or new_id()
        # What does not depend on the ledger is made before others must wait for it.
        body = reserving(request, identity)
        text, expected = canonical(body), self._expected(request, identity)
        with self.store.writing() as session:
            view = self._view(session, expected)
            data, account = need_dataset(view, body["dataset"]), need_account(view, request.account)
            pool = need_pool(view, data.pool)
            rows_of(pool, data.name, request.notion.count)
            different = pool.notion(data).difference(request.notion)
            if different is not None:
                raise RefusedError(
                    f"{data.name} is registered with another notion of privacy. They differ in {different}"
                )
            asked = earlier(view, request)
            if asked is not None:
                active_grants(view, account, data.pool, self._time(view, "reserve", body))
                return self._charge(session, view, asked)
            tip = self._append(session, view, "reserve", body, text)
            asked = need_asked(view, identity)
            if len(need_question(view, asked).requests) > 1:
                return self._charge(session, view, asked)
        return Charge(identity, request.dataset, Head(tip.ledger, *tip.mark), tip.time)

    def keep(self, charge: Charge, answers: Content) -> Charge:
        """Keep the noisy answers to a question as soon as they are drawn: whatever fails later starts from them.

        The charge that comes back has what is kept: other noisy answers, if some were drawn before these, or even the
        stored answer. Then these are to be forgotten.
        """
        body = {"request": charge.request, "answers": digest_of(answers)}
        with self.store.writing() as session:
            asked, view = self._asked(session, charge)
            if asked.status != "committed":
                need_reserved(view, asked.id)
            if need_question(view, asked).drawn or answered(requests(view, asked.dataset, asked.question)):
                return self._charge(session, view, asked)
            self._append(session, view, "drawn", body, None, (_tip(view).number + 1, answers))
        return replace(charge, drawn=answers)

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
                return stored_answer(session, asked)[1]
            need_reserved(view, asked.id)
            first = answered(requests(view, asked.dataset, asked.question))
            if first is not None:
                return self._close(session, view, asked, first)
            drawn = need_question(view, asked).drawn
            self._append(session, view, "commit", body, text, (asked.number, content))
            if drawn is not None:
                session.forget(drawn)
        return content

    def void(self, charge: Charge, *, touched: bool, reason: str = "") -> None:
        """Give a request up before any data was touched: what nobody else relies on is given back.

        Once data may have been touched nothing is given back, even a failure tells something. Then only the reason is
        noted, and whoever asks again goes on with the request.
        """
        with self.store.writing() as session:
            asked, view = self._asked(session, charge)
            body = {"request": asked.id, "reason": reason}
            if touched:
                self._append(session, view, "failed", body)
            else:
                self._append(session, view, "void", {**body, "charged": False})

    @property
    def head(self) -> Head:
        """Where the ledger stands."""
        with self.store.reading() as session:
            tip = _tip(View(session.state))
            return Head(tip.ledger, tip.number, tip.hash)

    @property
    def public_head(self) -> Head:
        """Where the public journal stands: the entries that depend on no data, numbered and chained by themselves."""
        with self.store.reading() as session:
            tip = _tip(View(session.state))
            return Head(tip.ledger, *tip.mark)

    @property
    def last_time(self) -> str:
        """The date of the last entry."""
        with self.store.reading() as session:
            return _tip(View(session.state)).time

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

    def _asked(self, session: Session, charge: Charge) -> tuple[RequestRecord, View]:
        keys = [f"asked/{charge.request}"]
        known = self._recent.get(keys[0])
        if known is not None and isinstance(known[1], RequestRecord):
            keys.append(f"question/{known[1].dataset}/{known[1].question}")
        view = self._view(session, keys)
        asked = view.get(RequestRecord, charge.request)
        if asked is None:
            raise VerificationError(
                f"the ledger has no request {charge.request}, which it charged before: it was truncated or restored"
            )
        return asked, view

    def _charge(self, session: Session, view: View, asked: RequestRecord) -> Charge:
        """The charge of a request, with what is kept for its question. Whoever is given that has touched the data."""
        asking = requests(view, asked.dataset, asked.question)
        first, paid = answered(asking), charge_of(asking)
        tip, content, drawn = _tip(view), None, None
        time = tip.time if paid.number == tip.number else entry_of(session, paid.number)[0].time
        if first is not None:
            content = self._close(session, view, asked, first)
        elif (found := drawn_answers(session, need_question(view, asked))) is not None:
            digest, drawn = found
            if not asked.touched:
                self._append(session, view, "drawn", {"request": asked.id, "answers": digest})
        # Where the question was charged, whoever asks: a bundle is not to tell who had to ask again.
        return Charge(asked.id, DataSetName.parse(asked.dataset), Head(tip.ledger, *paid.mark), time, content, drawn)

    def _close(self, session: Session, view: View, asked: RequestRecord, first: RequestRecord) -> Content:
        """Close a request with the stored answer to its question, unless it is closed."""
        closing, content = stored_answer(session, first)
        if asked.status == "reserved":
            self._append(session, view, "commit", {**closing, "request": asked.id})
        return content

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
        entry = Entry(number, self._time(view, kind, body), kind, body, previous)
        text = entry.text if body_text is None else entry.text_with(body_text)
        entry_hash = hash_of(text)
        after = apply(view, entry, entry_hash, body_text)
        if len(self._recent) > _MOST_RECENT:
            self._recent.clear()
        state: list[str] = []
        for key, record in view.changes.items():
            written = record.text
            state += (key, written)
            self._recent[key] = (written, record)
        session.append((number, text, entry_hash), state, answer)
        return after

    def _time(self, view: View, kind: str, body: Mapping[str, Any]) -> str:
        """The time of an entry that is written now."""
        return time_of(kind, body, view, self._clock(), self._clock_is_right)


def _kept(limit: Budget | None, events: Fraction) -> Budget | None:
    if limit is None and events:
        raise UsageError("a δ can be set apart only of a limit that is given with it")
    return None if limit is None else kept(limit, events)


def _tip(view: View) -> Tip:
    found = view.get(Tip)
    if found is None:
        raise LedgerError(
            "the ledger is empty, its making was interrupted: make it again with 'margrave ledger init' (if it is a "
            "file, remove it first)"
        )
    return found


def opened(
    url: str | Path, *, wait: float | None = None, clock: Clock = time_ns, clock_is_right: bool = False
) -> Ledger:
    """The ledger at a path or URL."""
    ledger = Ledger(open_store(url, wait=wait), clock, clock_is_right)
    try:
        ledger.store.check_schema(remake)
    except BaseException:
        ledger.close()
        raise
    return ledger
