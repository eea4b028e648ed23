"""The ledger: what may be spent on which data by whom, and an account of all that was."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import time_ns
from types import TracebackType
from typing import Any, Self, TypeVar

from margrave.budget.units import Budget
from margrave.errors import LedgerError, RefusedError, UsageError, VerificationError
from margrave.files.content import Content, digest_of
from margrave.ledger.amounts import budget_json
from margrave.ledger.earlier import drawn_answers, earlier, new_id, reserving, stored_answer
from margrave.ledger.journal import Entry, canonical
from margrave.ledger.records import DataSet, Opened, Record, RequestRecord, Tip
from margrave.ledger.replay import chain, entry_of, remake
from margrave.ledger.rules.charges import active_grants, rows_of
from margrave.ledger.rules.clock import Clock
from margrave.ledger.rules.entries import NEWEST
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
    requests,
)
from margrave.ledger.stores.opening import open_store
from margrave.ledger.stores.store import Store, Transaction
from margrave.ledger.values import AccountKind, Charge, DataSetName, Head, Notion, Request, check_digest
from margrave.ledger.view import NAMES, View, decode
from margrave.ledger.writer import Writer, tip_of

R = TypeVar("R", bound=Record)


class Ledger:
    """A ledger in a store. Open one with `Ledger.open`, make one with `Ledger.create`."""

    def __init__(self, store: Store, clock: Clock = time_ns, clock_is_right: bool = False) -> None:
        self.store = store
        self._writer = Writer(clock, clock_is_right)

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
                    view = ledger._writer.view(session)
                    if view.get(Tip) is not None:
                        raise LedgerError(f"there is a ledger in {ledger.store} already")
                    body = {"format": 1, "ledger": secrets.token_hex(16), "rules": NEWEST}
                    ledger._writer.append(session, view, "open", body)
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

    def check_open(self, dataset: DataSetName | str, notion: Notion) -> None:
        """Refuse to open a data set that is open already, or by a declaration that protects somebody else."""
        with self.store.reading() as session:
            view = View(session.state)
            data = need_dataset(view, str(dataset))
            if view.get(Opened, data.name) is not None:
                raise RefusedError(
                    f"{data.name} is open for questions already: register another version for another recoding"
                )
            different = need_pool(view, data.pool).notion(data).difference(notion)
            if different is not None:
                raise RefusedError(
                    f"{data.name} is registered with another notion of privacy. They differ in {different}"
                )

    def open_questions(self, dataset: DataSetName | str, declared: Mapping[str, Any], place: str) -> None:
        """Note that a data set was recoded for questions, by a public declaration, into a private store at a place."""
        self._write("opened", {"dataset": str(dataset), "declared": declared, "place": place})

    def answers_of(self, account: str, dataset: DataSetName | str, *, without: Collection[str] = ()) -> list[Content]:
        """The stored answers to all that an account has asked of a data set, each once.

        ``without``: requests that nobody is to be told of yet.
        """
        asked = [one for one in self.records(RequestRecord) if (one.account, one.dataset) == (account, str(dataset))]
        with self.store.reading() as session:
            answered_by = {one.answer: one for one in asked if one.status == "committed" and one.id not in without}
            return [stored_answer(session, one)[1] for one in answered_by.values()]

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
        text, expected = canonical(body), self._writer.expected(request, identity)
        with self.store.writing() as session:
            view = self._writer.view(session, expected)
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
                active_grants(view, account, data.pool, self._writer.time(view, request.kind, body))
                return self._charge(session, view, asked)
            tip = self._writer.append(session, view, request.kind, body, text)
            asked = need_asked(view, identity)
            if len(need_question(view, asked).requests) > 1:
                return self._charge(session, view, asked)
        return Charge(identity, request.dataset, Head(tip.ledger, *tip.mark), tip.time)

    def asked_before(self, request: Request) -> bool:
        """Whether the account has been charged for the same already, so that asking again is free."""
        with self.store.reading() as session:
            return earlier(View(session.state), request) is not None

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
            self._writer.append(session, view, "drawn", body, None, (tip_of(view).number + 1, answers))
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
            self._writer.append(session, view, "commit", body, text, (asked.number, content))
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
                self._writer.append(session, view, "failed", body)
            else:
                self._writer.append(session, view, "void", {**body, "charged": False})

    @property
    def head(self) -> Head:
        """Where the ledger stands."""
        with self.store.reading() as session:
            tip = tip_of(View(session.state))
            return Head(tip.ledger, tip.number, tip.hash)

    @property
    def public_head(self) -> Head:
        """Where the public journal stands: the entries that depend on no data, numbered and chained by themselves."""
        with self.store.reading() as session:
            tip = tip_of(View(session.state))
            return Head(tip.ledger, *tip.mark)

    @property
    def last_time(self) -> str:
        """The date of the last entry."""
        with self.store.reading() as session:
            return tip_of(View(session.state)).time

    def entries(self) -> Iterator[tuple[Entry, str]]:
        """All entries with their hashes, each checked against the one before."""
        with self.store.reading() as session:
            yield from chain(session)

    def records(self, kind: type[Record]) -> list[Any]:
        """All records of a kind, by key."""
        with self.store.reading() as session:
            return [decode(key, text) for key, text in session.state_of(NAMES[kind])]

    def record(self, kind: type[R], name: str) -> R | None:
        """The record of a kind and a name."""
        with self.store.reading() as session:
            return View(session.state).get(kind, name)

    def only_dataset(self, named: DataSetName | str | None) -> DataSetName:
        """The data set that is named, or, if none is, the only one there is."""
        if named is not None:
            return named if isinstance(named, DataSetName) else DataSetName.parse(named)
        known = self.records(DataSet)
        if len(known) != 1:
            names = ", ".join(one.name for one in known) or "none yet"
            raise UsageError(f"say which registered data set this is (there are: {names})")
        return DataSetName.parse(known[0].name)

    def _asked(self, session: Transaction, charge: Charge) -> tuple[RequestRecord, View]:
        keys = [f"asked/{charge.request}"]
        known = self._writer.recent(keys[0])
        if isinstance(known, RequestRecord):
            keys.append(f"question/{known.dataset}/{known.question}")
        view = self._writer.view(session, keys)
        asked = view.get(RequestRecord, charge.request)
        if asked is None:
            raise VerificationError(
                f"the ledger has no request {charge.request}, which it charged before: it was truncated or restored"
            )
        return asked, view

    def _charge(self, session: Transaction, view: View, asked: RequestRecord) -> Charge:
        """The charge of a request, with what is kept for its question. Whoever is given that has touched the data."""
        asking = requests(view, asked.dataset, asked.question)
        first, paid = answered(asking), charge_of(asking)
        tip, content, drawn = tip_of(view), None, None
        time = tip.time if paid.number == tip.number else entry_of(session, paid.number)[0].time
        if first is not None:
            content = self._close(session, view, asked, first)
        elif (found := drawn_answers(session, need_question(view, asked))) is not None:
            digest, drawn = found
            if not asked.touched:
                self._writer.append(session, view, "drawn", {"request": asked.id, "answers": digest})
        # Where the question was charged, whoever asks: a bundle is not to tell who had to ask again.
        return Charge(asked.id, DataSetName.parse(asked.dataset), Head(tip.ledger, *paid.mark), time, content, drawn)

    def _close(self, session: Transaction, view: View, asked: RequestRecord, first: RequestRecord) -> Content:
        """Close a request with the stored answer to its question, unless it is closed."""
        closing, content = stored_answer(session, first)
        if asked.status == "reserved":
            self._writer.append(session, view, "commit", {**closing, "request": asked.id})
        return content

    def _write(self, kind: str, body: Mapping[str, Any]) -> None:
        with self.store.writing() as session:
            self._writer.append(session, self._writer.view(session), kind, body)


def _kept(limit: Budget | None, events: Fraction) -> Budget | None:
    if limit is None and events:
        raise UsageError("a δ can be set apart only of a limit that is given with it")
    return None if limit is None else kept(limit, events)


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
