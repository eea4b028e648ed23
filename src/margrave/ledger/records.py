"""What follows from the journal, as small records under keys: kept beside it for speed, recomputed to verify it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

from margrave.budget.units import Budget
from margrave.ledger.amounts import budget_json, budget_or_none, budget_text, read_budget, read_limit
from margrave.ledger.journal import NO_MARK, Mark, canonical, quoted
from margrave.ledger.rules.totals import Totals
from margrave.ledger.values import Notion


class Record(Protocol):
    """A value under a key, ``kind/name``, kept as canonical JSON.

    Those that every charge makes are named tuples, which are made faster than data classes, and write their JSON
    themselves: on the way to a commit nothing takes as long as a general encoder. They say where in the journal a
    thing is told, and do not tell it again: what is short is written faster.
    """

    @property
    def key(self) -> str: ...

    @property
    def text(self) -> str: ...

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Self: ...


END = "head"
"""The key of the only `Tip`."""


class Tip(NamedTuple):
    """The last entry: its number, hash and time; the identity of the ledger, and the rules that hold now.

    ``mark`` is where the public journal stands.
    """

    ledger: str
    number: int
    hash: str
    time: str
    rules: int = 1
    mark: Mark = NO_MARK

    @property
    def key(self) -> str:
        return END

    @property
    def text(self) -> str:
        ledger, time = quoted(self.ledger), quoted(self.time)
        return (
            f'{{"hash":"{self.hash}","ledger":{ledger},"mark":{_mark_text(self.mark)},"number":{self.number},'
            f'"rules":{self.rules},"time":{time}}}'
        )

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Tip:
        return cls(**{**value, "mark": _read_mark(value)})


def _mark_text(mark: Mark) -> str:
    return f'[{mark[0]},"{mark[1]}"]'


def _read_mark(value: Mapping[str, Any]) -> Mark:
    number, text = value.get("mark", NO_MARK)
    return number, text


@dataclass(frozen=True)
class DataSet:
    """A registered version of a data set. It never changes. ``pool`` names the cap that it spends from.

    ``notion`` is whom it was registered to protect: `Pool.notion` knows what was declared later.
    """

    name: str
    pool: str
    notion: Notion
    most: Budget | None

    @property
    def key(self) -> str:
        return f"dataset/{self.name}"

    @property
    def text(self) -> str:
        notion = self.notion.to_json()
        return canonical({"most": budget_json(self.most), "name": self.name, "notion": notion, "pool": self.pool})

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> DataSet:
        notion = Notion.from_json(value["notion"])
        return cls(name, value["pool"], notion, budget_or_none(value["most"]))


class Pool(NamedTuple):
    """A cap, the versions that share it, and what was spent from it, by all accounts together.

    ``counted`` is the column that says how many records a row of them stands for. It is empty where each row is one
    record, and None where nobody has told: of data sets that were registered before this was asked.
    """

    name: str
    cap: Budget
    spent: Totals = Totals()
    counted: str | None = None

    def with_spent(self, spent: Totals) -> Pool:
        """The same cap after other charges."""
        return Pool(self.name, self.cap, spent, self.counted)

    def notion(self, data: DataSet) -> Notion:
        """Whom one of the versions protects."""
        return replace(data.notion, count=self.counted) if self.counted else data.notion

    @property
    def key(self) -> str:
        return f"pool/{self.name}"

    @property
    def text(self) -> str:
        counted = "" if self.counted is None else f'"counted":{quoted(self.counted)},'
        return f'{{"cap":{budget_text(self.cap)},{counted}"name":{quoted(self.name)},"spent":{self.spent.text}}}'

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Pool:
        return cls(name, read_limit(value["cap"]), Totals.from_json(value["spent"]), value.get("counted"))


@dataclass(frozen=True)
class Members:
    """What belongs to a pool: its versions, and the accounts that hold a grant of it at first hand."""

    pool: str
    versions: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"members/{self.pool}"

    @property
    def text(self) -> str:
        return canonical({"holders": self.holders, "pool": self.pool, "versions": self.versions})

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Members:
        return cls(name, tuple(value["versions"]), tuple(value["holders"]))


@dataclass(frozen=True)
class Account:
    """An analyst, who may belong to an organisation, or an organisation. It never changes."""

    name: str
    type: str
    organisation: str | None = None

    @property
    def key(self) -> str:
        return f"account/{self.name}"

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "organisation": self.organisation, "type": self.type}

    @property
    def text(self) -> str:
        return canonical(self.to_json())

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Account:
        return cls(name, value["type"], value["organisation"])


class Grant(NamedTuple):
    """A permission to spend up to ``amount`` from ``starts`` on and before ``expires`` (UTC), and what was spent."""

    amount: Budget
    starts: str
    expires: str | None = None
    most: Budget | None = None
    spent: Totals = Totals()

    def active(self, time: str) -> bool:
        """Whether it can be spent. A day sorts before every moment of that day."""
        return self.starts <= time and not self.ended(time)

    def ended(self, time: str) -> bool:
        return self.expires is not None and self.expires <= time

    @property
    def text(self) -> str:
        expires = "null" if self.expires is None else quoted(self.expires)
        return (
            f'{{"amount":{budget_text(self.amount)},"expires":{expires},"most":{budget_text(self.most)},'
            f'"spent":{self.spent.text},"starts":{quoted(self.starts)}}}'
        )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Grant:
        amount, most = read_limit(value["amount"]), budget_or_none(value["most"])
        return cls(amount, value["starts"], value["expires"], most, Totals.from_json(value["spent"]))


class Grants(NamedTuple):
    """All grants of one account from one pool, in the order of their periods, which do not overlap."""

    pool: str
    account: str
    grants: tuple[Grant, ...] = ()

    @property
    def key(self) -> str:
        return f"grants/{self.pool}/{self.account}"

    @property
    def text(self) -> str:
        grants = ",".join([one.text for one in self.grants])
        return f'{{"account":{quoted(self.account)},"grants":[{grants}],"pool":{quoted(self.pool)}}}'

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Grants:
        pool, account = name.split("/")
        return cls(pool, account, tuple(map(Grant.from_json, value["grants"])))


class RequestRecord(NamedTuple):
    """A request, what it cost, and which grants it was charged to.

    Entry ``number`` reserved it. ``paid`` are pairs of an account and the number of its grant; ``cap`` says whether
    the data set's cap was charged for it, and not for another that asks the same. ``purse`` names the purse of a part
    that was charged instead of a cap. Entry ``closed`` committed it or made it void. ``answer``, if it was committed,
    is the ``number`` of the request with which the answer is kept: the first to be committed of all that ask the same.
    ``touched`` says that the journal tells of data opened for it, and ``mark`` where the public journal stood.
    """

    id: str
    dataset: str
    account: str
    question: str
    cost: Budget
    number: int
    paid: tuple[tuple[str, int], ...] = ()
    closed: int | None = None
    answer: int | None = None
    cap: bool = True
    touched: bool = False
    mark: Mark = NO_MARK
    purse: str = ""

    @property
    def key(self) -> str:
        return f"asked/{self.id}"

    @property
    def status(self) -> str:
        return "reserved" if self.closed is None else "void" if self.answer is None else "committed"

    def close(self, number: int, answer: int | None = None, touched: bool | None = None) -> RequestRecord:
        """The request once an entry has committed it, with its answer, or made it void."""
        touched = self.touched if touched is None else touched
        return RequestRecord(*self[:7], number, answer, self.cap, touched, self.mark, self.purse)

    def marked(self, mark: Mark) -> RequestRecord:
        """The request, reserved when the public journal stood there."""
        return RequestRecord(*self[:-2], mark, self.purse)

    @property
    def text(self) -> str:
        answer = "null" if self.answer is None else self.answer
        closed = "null" if self.closed is None else self.closed
        paid = ",".join([f"[{quoted(account)},{index}]" for account, index in self.paid])
        purse = f'"purse":{quoted(self.purse)},' if self.purse else ""
        return (
            f'{{"account":{quoted(self.account)},"answer":{answer},"cap":{_BOOLS[self.cap]},"closed":{closed},'
            f'"cost":{budget_text(self.cost)},"dataset":{quoted(self.dataset)},"mark":{_mark_text(self.mark)},'
            f'"number":{self.number},"paid":[{paid}],{purse}"question":{quoted(self.question)},'
            f'"touched":{_BOOLS[self.touched]}}}'
        )

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> RequestRecord:
        paid = tuple((account, index) for account, index in value["paid"])
        read = {"cost": read_budget(value["cost"]), "paid": paid, "mark": _read_mark(value)}
        return cls(name, **{**value, **read})


_BOOLS = ("false", "true")


class Question(NamedTuple):
    """A question to a data set, and the requests that ask it, in order, but for those that were given up.

    ``drawn`` is the number of the entry with which noisy answers are kept, until the answer is committed.
    """

    dataset: str
    question: str
    requests: tuple[str, ...] = ()
    drawn: int | None = None

    @property
    def key(self) -> str:
        return f"question/{self.dataset}/{self.question}"

    @property
    def text(self) -> str:
        drawn = "null" if self.drawn is None else self.drawn
        return f'{{"drawn":{drawn},"requests":[{",".join(map(quoted, self.requests))}]}}'

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Question:
        dataset, question = name.split("/")
        return cls(dataset, question, tuple(value["requests"]), value.get("drawn"))


@dataclass(frozen=True)
class Keys:
    """The public keys that releases are signed with, in hexadecimal digits, the newest last."""

    keys: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return "keys"

    @property
    def text(self) -> str:
        return canonical({"keys": self.keys})

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Keys:
        return cls(tuple(value["keys"]))


@dataclass(frozen=True)
class Opened:
    """A data set that was opened for questions: once, by a public declaration, into a store at a place. It stays so."""

    dataset: str
    declared: Mapping[str, Any]
    place: str

    @property
    def key(self) -> str:
        return f"opened/{self.dataset}"

    @property
    def text(self) -> str:
        return canonical({"declared": self.declared, "place": self.place})

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Opened:
        return cls(name, value["declared"], value["place"])
