"""The public statement of all that was charged for a data set, in words and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from margrave.algebra.words import cell_parts, in_words
from margrave.budget.units import ZCDP, ApproxDP, Budget, PureDP
from margrave.errors import UsageError
from margrave.ledger.amounts import budget_json
from margrave.ledger.journal import Entry
from margrave.ledger.ledger import Ledger
from margrave.ledger.records import DataSet, Keys, Members, Pool, RequestRecord, Tip
from margrave.ledger.replay import chain
from margrave.ledger.rules.limits import kept
from margrave.ledger.rules.lookup import need_asked, need_dataset, need_members, need_pool
from margrave.ledger.statements.words import brief
from margrave.ledger.values import Notion
from margrave.ledger.view import View

_DELTA = Fraction(1, 10**9)

_HOW: Mapping[str, str] = {
    PureDP.called: "the sum of the ε of all requests",
    ZCDP.called: "the sum of the ρ of all requests, a pure ε counting as ε²/2",
    ApproxDP.called: "the least cap of this δ in which the sum of their ε, or of their ρ, would have room",
}


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
                yield f"- {in_words(margin)}: exact, no noise: the same in all neighbours"
        yield ""
        if self.keys:
            yield f"Releases that are signed are signed with the public key {self.keys[-1]}."
        yield f"Ledger {self.ledger}, {self.entries} entries, head {self.hash}."


def _fact_words(value: Mapping[str, Any]) -> str:
    """One public fact, in words: that of a table by its margin, any other by what it says itself."""
    margin, cell = value.get("margin", (str(value.get("fact")),)), value.get("cell")
    named = in_words(margin if cell is None else cell_parts(margin, cell))
    where = "as the spec gives it" if value.get("source") == "spec" else "as counted in the data"
    return f"{named}: disclosed exactly, {where}; not protected"


def _mechanism_words(value: Mapping[str, Any]) -> str:
    """One measurement, in words: that of a table by its margin, any other by what it says is ``measured``."""
    noise = dict(value.get("noise", {}))
    kind = str(noise.pop("kind", "noise")).replace("-", " ")
    sizes = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in noise.items())
    seen = "".join(f", {part} of {in_words(value[part])}" for part in ("contrast", "residual") if value.get(part))
    return f"{value.get('measured') or in_words(value.get('margin', ()))}{seen}: {kind}, {sizes}"


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
            if one.kind in ("reserve", "escrow") and one.body["dataset"] in members.versions:
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
