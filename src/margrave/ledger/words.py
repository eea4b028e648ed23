"""The journal for people: what each entry means, and the public statement of all that was released from a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from margrave.budget.units import ZCDP, ApproxDP, Budget, PureDP
from margrave.errors import UsageError
from margrave.ledger.amounts import budget_json, read_limit
from margrave.ledger.journal import Entry, is_public
from margrave.ledger.ledger import Ledger
from margrave.ledger.records import DataSet, Keys, Members, Pool, RequestRecord, Tip
from margrave.ledger.replay import chain
from margrave.ledger.rules.limits import kept
from margrave.ledger.rules.lookup import need_account, need_asked, need_dataset, need_members, need_pool, payers
from margrave.ledger.values import Notion
from margrave.ledger.view import View

_DELTA = Fraction(1, 10**9)
_DIGITS = 6

_HOW: Mapping[str, str] = {
    PureDP.called: "the sum of the ε of all requests",
    ZCDP.called: "the sum of the ρ of all requests, a pure ε counting as ε²/2",
    ApproxDP.called: "the least cap of this δ in which the sum of their ε, or of their ρ, would have room",
}


def brief(budget: Budget | Mapping[str, str] | None) -> str:
    """A budget, perhaps as JSON has it, in so many digits that sums can be compared."""
    if budget is None:
        return "nothing"
    return (read_limit(budget) if isinstance(budget, Mapping) else budget).brief(_DIGITS)


def sentence(entry: Entry) -> str:
    """What an entry did, in words."""
    return _TOLD[entry.kind](entry.body)


def _added(body: Mapping[str, Any]) -> str:
    kind = "the organisation" if body["type"] == "organisation" else "the analyst"
    member = f", a member of {body['organisation']}," if body["organisation"] else ""
    return f"An account for {kind} {body['name']}{member} was added."


def _reserved(body: Mapping[str, Any]) -> str:
    named = f" ({body['title']})" if body["title"] else ""
    return (
        f"{body['account']} asked {body['dataset']} {len(body['mechanisms'])} noisy questions{named} at a "
        f"price of {brief(body['cost'])}, before the data was opened. Request {body['request']}."
    )


def _failed(body: Mapping[str, Any]) -> str:
    return (
        f"The request {body['request']} failed{_why(body)}; data may have been touched, so its charge stays, and "
        "asking again goes on with it."
    )


def _given_up(body: Mapping[str, Any]) -> str:
    stays = "data may have been touched, so its charge stays" if body["charged"] else "its charge was given back"
    return f"The request {body['request']} was given up{_why(body)}; {stays}."


def _why(body: Mapping[str, Any]) -> str:
    return f" ({body['reason']})" if body["reason"] else ""


def told_to(ledger: Ledger, name: str) -> Iterator[tuple[int, Entry]]:
    """What an account may be shown: what it and its organisation were granted, and what it asked.

    Nothing of it depends on data. Entries are numbered as in the public journal.
    """
    with ledger.store.reading() as session:
        names = payers(need_account(View(session.state), name))
        mine: set[str] = set()
        public = (entry for entry, _ in chain(session) if is_public(entry.kind, entry.body))
        for number, entry in enumerate(public, start=1):
            body = entry.body
            match entry.kind:
                case "account":
                    shown = body["name"] in names
                case "grant" | "end":
                    shown = body["account"] in names
                case "reserve":
                    shown = body["account"] == name
                    mine |= {body["request"]} if shown else set()
                case _:
                    shown = body.get("request") in mine
            if shown:
                yield number, entry


def _registered(body: Mapping[str, Any]) -> str:
    people = "about people in no other version, with a cap of its own" if body["disjoint"] else "under one cap by name"
    cap = f" of {brief(body['cap'])} in all" if body["cap"] else ", that of its earlier versions"
    most = f", at most {brief(body['most'])} for one request" if body["most"] else ""
    return f"The data set {body['name']}@{body['version']} was registered, {people}{cap}{most}."


def _granted(body: Mapping[str, Any]) -> str:
    since = f" from {body['starts']}" if body["starts"] else ""
    until = f" until {body['expires']}" if body["expires"] else ""
    most = f", at most {brief(body['most'])} for one request" if body["most"] else ""
    return f"{body['account']} may spend {brief(body['amount'])} on {body['dataset']}{since}{until}{most}."


_TOLD: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "open": lambda body: f"The ledger {body['ledger']} was opened.",
    "rules": lambda body: (
        f"From here on rules {body['rules']} hold; earlier entries are judged by those of their time."
    ),
    "clock": lambda body: (
        "The clock was set back: earlier entries have too late a date. What had ended by then stays ended."
    ),
    "key": lambda body: f"Releases are signed with the key {body['key']} from here on.",
    "dataset": _registered,
    "opened": lambda body: f"{body['dataset']} was opened for questions; its recoded rows are in {body['place']}.",
    "count": lambda body: (
        f"Each row of {body['dataset']} was declared to stand for as many records as its column {body['column']} says."
    ),
    "account": _added,
    "grant": _granted,
    "end": lambda body: f"The grant of {body['account']} from {body['dataset']} was ended.",
    "reserve": _reserved,
    "drawn": lambda body: f"Noisy answers to the request {body['request']} are kept as {body['answers'][:12]}….",
    "failed": _failed,
    "commit": lambda body: f"The request {body['request']} was answered; its bundle is kept as {body['bundle'][:12]}….",
    "void": _given_up,
}
"""What an entry of each kind did."""


def notion_words(notion: Notion) -> Iterator[str]:
    """Whom a data set protects, in sentences. Columns of units and counts are not named: they are not public."""
    unit = "one record" if notion.unit is None else f"one unit, which owns at most {notion.records} records"
    if notion.sensitive:
        yield f"Protected: the value of {', '.join(notion.sensitive)} in {unit}, and nothing else."
    elif notion.neighbours == "replace":
        yield f"Protected: everything about {unit}, as if another had taken its place; not how many there are."
    else:
        yield f"Protected: everything about {unit}, also whether it is in the data."
    if notion.count is not None:
        yield "Each row stands for as many records as are counted in it, and one record is protected, not a row."
    if notion.facts:
        yield f"Held exact, and not protected (neighbours are induced, {notion.induced}): {'; '.join(notion.facts)}."
    else:
        yield "No public facts are held exact."


@dataclass(frozen=True)
class Statement:
    """All that was ever charged to the versions under one cap: for the public, naming no account.

    Nothing in it depends on what became of a request once data was open: ``entries`` and ``hash`` are those of the
    public journal.
    """

    pool: Pool
    versions: tuple[DataSet, ...]
    requests: tuple[Mapping[str, Any], ...]
    ledger: str
    entries: int
    hash: str
    keys: tuple[str, ...] = ()
    """The public keys that releases were signed with, the newest last."""
    early: int = 0
    """How many of the requests were accepted by the first rules, which are right for requests fixed beforehand."""

    def to_json(self) -> dict[str, Any]:
        notion = self.pool.notion(self.versions[0])
        unit: dict[str, Any] = {"records": notion.records, "words": "one record" if notion.unit is None else "one unit"}
        if notion.count is not None:
            unit["counted"] = True
        return {
            "dataset": self.pool.name,
            "versions": [one.name for one in self.versions],
            "unit": unit,
            "neighbours": notion.neighbours,
            "sensitive": list(notion.sensitive),
            "facts_held_exact": list(notion.facts),
            "induced": notion.induced,
            "words": list(notion_words(notion)),
            "cap": budget_json(kept(self.pool.cap)),
            "spent": budget_json(kept(self.pool.cap).together(self.pool.spent)),
            "composition": list(self.composition()),
            "requests": list(self.requests),
            "signing_keys": list(self.keys),
            "ledger": {"id": self.ledger, "entries": self.entries, "hash": self.hash},
        }

    def composition(self) -> Iterator[str]:
        """What it all costs together, in sentences that are right also where a request depended on earlier answers."""
        cap = kept(self.pool.cap)
        spent = cap.together(self.pool.spent)
        if self.pool.spent.empty:
            yield "Nothing has been spent."
            return
        if not cap.holds(self.pool.spent):
            yield from self._overdrawn(cap)
            return
        yield f"All requests together cost {brief(spent)} ({_HOW[cap.called]}), within a cap of {brief(cap)}."
        yield f"A request may depend on earlier answers: whatever is asked, all answers together satisfy {brief(cap)}."
        if not cap.same_unit(also := cap.at_delta(_DELTA)):
            yield f"They then also satisfy {brief(also)}."
        if self.early and cap.delta:
            yield (
                f"The first {self.early} of them were accepted by an earlier rule: this is so if those did not depend "
                "on one another's answers."
            )

    def _overdrawn(self, cap: Budget) -> Iterator[str]:
        """Earlier rules took (ε, δ) caps to be about requests that are fixed beforehand."""
        fixed = self.pool.spent.epsilon_at(cap.delta)
        if fixed is not None:
            yield (
                f"If no request depended on earlier answers, all together satisfy {brief(ApproxDP(fixed, cap.delta))}, "
                f"within a cap of {brief(cap)}."
            )
        yield (
            "If some did, this is not promised: the requests were accepted by an earlier rule, and are beyond what the "
            "cap allows now. Nothing more is charged to it."
        )

    def lines(self) -> Iterator[str]:
        """The statement as text."""
        names = ", ".join(one.name for one in self.versions)
        yield f"# Charged to {self.pool.name}"
        yield ""
        yield f"Versions about the same people: {names}."
        yield from notion_words(self.pool.notion(self.versions[0]))
        yield from self.composition()
        for number, one in enumerate(self.requests, start=1):
            yield ""
            yield f"## {number}. {one['dataset']}, {one['time'][:10]}: {brief(one['cost'])}"
            if one["title"]:
                yield one["title"]
            for mechanism in one["mechanisms"]:
                yield f"- {_mechanism_words(mechanism)}"
            for fact in one.get("disclosed", ()):
                yield f"- {_fact_words(fact)}"
            for margin in one["exact"] if "disclosed" not in one else ():
                yield f"- {_table(margin)}: exact, no noise: the same in all neighbours"
        yield ""
        if self.keys:
            yield f"Releases that are signed are signed with the public key {self.keys[-1]}."
        yield f"Ledger {self.ledger}, {self.entries} entries, head {self.hash}."


def _table(margin: Iterable[str]) -> str:
    return ", ".join(margin) or "the total"


def _fact_words(value: Mapping[str, Any]) -> str:
    """One public fact, in words: that of a table by its margin, any other by what it says itself."""
    margin, cell = value.get("margin", (str(value.get("fact")),)), value.get("cell")
    named = _table(margin if cell is None else [f"{n}={v}" for n, v in zip(margin, cell, strict=True)])
    where = "as the spec gives it" if value.get("source") == "spec" else "as counted in the data"
    return f"{named}: disclosed exactly, {where}; not protected"


def _mechanism_words(value: Mapping[str, Any]) -> str:
    """One measurement, in words: that of a table by its margin, any other by what it says is ``measured``."""
    noise = dict(value.get("noise", {}))
    kind = str(noise.pop("kind", "noise")).replace("-", " ")
    sizes = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in noise.items())
    seen = "".join(f", {part} of {_table(value[part])}" for part in ("contrast", "residual") if value.get(part))
    return f"{value.get('measured') or _table(value.get('margin', ()))}{seen}: {kind}, {sizes}"


def statement(ledger: Ledger, dataset: str) -> Statement:
    """The public statement about a data set, by ``name`` or ``name@version``."""
    with ledger.store.reading() as session:
        view = View(session.state)
        pool_name = dataset if view.get(Members, dataset) else None
        if pool_name is None and "@" in dataset:
            pool_name = need_dataset(view, dataset).pool
        if pool_name is None:
            raise UsageError(f"the data set {dataset} is not registered: see 'margrave ledger show'")
        members = need_members(view, pool_name)
        versions = tuple(need_dataset(view, one) for one in members.versions)
        pool, tip = need_pool(view, pool_name), view.get(Tip)
        assert tip is not None
        keys = (view.get(Keys) or Keys()).keys
        reserved, returned, rules = [], set(), 1
        for one, _ in chain(session):
            rules = one.body.get("rules", 1) if one.kind in ("open", "rules") else rules
            if one.kind == "reserve" and one.body["dataset"] in members.versions:
                reserved.append((one, rules))
            elif one.kind == "void" and not one.body["charged"]:
                returned.add(one.body["request"])
        asked = [(one, need_asked(view, one.body["request"]), rules) for one, rules in reserved]
        charged = [(one, by, rules) for one, by, rules in asked if by.cap and by.id not in returned]
    requests = [_request_json(one, by) for one, by, _ in charged]
    early = sum(rules == 1 for _, _, rules in charged)
    return Statement(pool, versions, tuple(requests), tip.ledger, *tip.mark, keys, early)


def _request_json(entry: Entry, asked: RequestRecord) -> dict[str, Any]:
    body = entry.body
    return {
        "entry": asked.mark[0],
        "time": entry.time,
        "dataset": body["dataset"],
        "title": body["title"],
        "cost": body["cost"],
        "mechanisms": body["mechanisms"],
        "exact": body["exact"],
        **({"disclosed": body["disclosed"]} if "disclosed" in body else {}),
    }
