"""What each entry does to the records, and when it is refused. The same rules write the journal and verify it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from margrave.budget.ledger.journal import START, Entry
from margrave.budget.ledger.records import (
    Account,
    Asked,
    DataSet,
    Grant,
    Grants,
    Members,
    Pool,
    Question,
    Tip,
    View,
    budget_or_none,
    read_budget,
)
from margrave.budget.ledger.totals import Totals, amount, fits, left, no_more, same_unit, together
from margrave.budget.ledger.values import DataSetName, Notion, check_account_name, check_data_name, check_day
from margrave.budget.units import ApproxDP, Budget, PureDP, readable
from margrave.errors import RefusedError, UsageError


def apply(view: View, entry: Entry, entry_hash: str) -> Tip:
    """Let an entry have its effect, or raise the reason why it is refused, leaving the view to be thrown away.

    Gives back where the ledger then stands.
    """
    tip = view.get(Tip)
    if (entry.kind == "open") != (tip is None):
        raise UsageError("a ledger is opened once, by its first entry")
    if tip is not None and entry.time < tip.time:
        raise RefusedError(f"entry {entry.number} is dated before the entry that it follows")
    ledger = entry.body["ledger"] if tip is None else tip.ledger
    _RULES[entry.kind](view, entry.body, entry)
    tip = Tip(ledger, entry.number, entry_hash, entry.time)
    view.put(tip)
    return tip


def _open(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    if entry.number != 1 or entry.previous != START:
        raise UsageError("a ledger is opened by its first entry")


def _dataset(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    name, version = body["name"], body["version"]
    check_data_name("the data set", name)
    check_data_name("the version", version)
    full, notion = f"{name}@{version}", Notion.from_json(body["notion"])
    cap, most = budget_or_none(body["cap"]), budget_or_none(body["most"])
    if view.get(DataSet, full) is not None:
        raise RefusedError(
            f"{full} is registered already, and what is registered never changes: new public facts or another unit "
            "would change the price of every release made so far"
        )
    pool = full if body["disjoint"] else name
    if body["disjoint"] and notion.facts:
        raise RefusedError(
            "versions with public facts cannot be declared disjoint: one person's change can move the records of "
            "others to keep a fact true, so their costs add up"
        )
    members = view.get(Members, pool)
    if members is None:
        if cap is None:
            raise UsageError(f"{full} is the first version under its cap: say how much may be spent in all")
        members = Members(pool)
        view.put(Pool(pool, cap))
    else:
        _check_shared(view, members, notion, cap, full)
    if most is not None:
        _check_unit(view, pool, most, "the most for one request")
    view.put(replace(members, versions=(*members.versions, full)))
    view.put(DataSet(full, pool, notion, most))


def _check_shared(view: View, members: Members, notion: Notion, cap: Budget | None, full: str) -> None:
    """A further version is about some of the same people: one cap, one notion."""
    first = need_dataset(view, members.versions[0])
    shared = need_pool(view, members.pool).cap
    if cap is not None and cap != shared:
        raise RefusedError(
            f"{full} shares the cap of {first.name}, {shared}: leave the cap out, or declare the version to be about "
            "disjoint people"
        )
    different = first.notion.difference(notion)
    if different is not None:
        raise RefusedError(f"{full} cannot share the cap of {first.name}: they differ in {different}")


def _account(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    name, kind, organisation = body["name"], body["type"], body["organisation"]
    check_account_name("the account", name)
    if kind not in ("analyst", "organisation"):
        raise UsageError(f"an account is an analyst or an organisation, not {kind!r}")
    if view.get(Account, name) is not None:
        raise RefusedError(f"the account {name} exists already")
    if organisation is not None:
        if kind == "organisation":
            raise UsageError("an organisation cannot belong to another")
        if need_account(view, organisation).type != "organisation":
            raise UsageError(f"{organisation} is an analyst: only an organisation has members")
    view.put(Account(name, kind, organisation))


def _grant(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    account, data = need_account(view, body["account"]), need_dataset(view, body["dataset"])
    granted, most = read_budget(body["amount"]), budget_or_none(body["most"])
    starts, expires = body["starts"], body["expires"]
    if starts is not None:
        check_day("the first day", starts)
    check_day("the day of expiry", expires)
    new = Grant(granted, starts or entry.time, expires, most)
    if new.ended(max(entry.time, new.starts)):
        raise UsageError(f"a grant that starts {new.starts[:10]} and expires {expires} can never be spent")
    _check_unit(view, data.pool, granted, "a grant")
    if most is not None:
        _check_unit(view, data.pool, most, "the most for one request")
    held = view.get(Grants, data.pool, account.name) or Grants(data.pool, account.name)
    if held.grants and not held.grants[-1].ended(new.starts):
        last = held.grants[-1]
        until = f"expires {last.expires}" if last.expires else "never expires"
        raise RefusedError(
            f"{account.name} holds a grant from {data.pool} that {until}: end it, or start this one then"
        )
    view.put(held._replace(grants=(*held.grants, new)))
    if account.organisation is None:
        members = need_members(view, data.pool)
        if account.name not in members.holders:
            view.put(replace(members, holders=(*members.holders, account.name)))
    _check_promises(view, data.pool, entry.time)


def _check_unit(view: View, pool: str, budget: Budget, what: str) -> None:
    cap = need_pool(view, pool).cap
    if not same_unit(budget, cap):
        raise UsageError(f"{what} ({budget}) must be in the unit of the cap of {pool} ({cap})")
    if not no_more(budget, cap):
        raise RefusedError(f"{what} ({budget}) is more than the cap of {pool} ({cap})")


def _check_promises(view: View, pool: str, time: str) -> None:
    """All that was granted at first hand can be spent: grants together stay within the cap."""
    total, delta = promised(view, pool, time)
    cap = need_pool(view, pool).cap
    if total > amount(cap) or (isinstance(cap, ApproxDP) and delta > cap.delta):
        raise RefusedError(
            f"the grants from {pool} would add up to more than its cap ({cap}): end or lower another first"
        )


def promised(view: View, pool: str, time: str) -> tuple[Fraction, Fraction]:
    """The sum of the ε (or ρ), and of the δ, of all grants at first hand; of those that ended, what was spent."""
    total = delta = Fraction(0)
    for holder in need_members(view, pool).holders:
        held = view.get(Grants, pool, holder)
        for grant in held.grants if held else ():
            counted = together(grant.spent, grant.amount) if grant.ended(time) else grant.amount
            if counted is not None:
                total += amount(counted)
                delta += counted.delta if isinstance(counted, ApproxDP) else 0
    return total, delta


def _end(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    account, data = need_account(view, body["account"]), need_dataset(view, body["dataset"])
    held = view.get(Grants, data.pool, account.name)
    running = [one for one in held.grants if not one.ended(entry.time)] if held else []
    if held is None or not running:
        raise UsageError(f"{account.name} holds no grant from {data.pool} that could be ended")
    ended = tuple(_ended(one, entry.time) for one in held.grants)
    view.put(held._replace(grants=ended))


def _ended(grant: Grant, time: str) -> Grant:
    return grant if grant.ended(time) else grant._replace(starts=min(grant.starts, time), expires=time)


def _reserve(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    data, account = need_dataset(view, body["dataset"]), need_account(view, body["account"])
    cost = read_budget(body["cost"])
    if view.get(Asked, body["request"]) is not None:
        raise RefusedError(f"the request {body['request']} was made before")
    pool = need_pool(view, data.pool)
    _check_request(cost, data.most, f"one request to {data.name}")
    spent = pool.spent.plus(cost)
    if not fits(spent, pool.cap):
        raise RefusedError(_too_much(cost, pool.spent, pool.cap, f"the cap of {pool.name}"))
    paid = _pay(view, account, pool, cost, entry.time)
    view.put(Pool(pool.name, pool.cap, spent))
    request, question = body["request"], body["question"]
    known = view.get(Question, data.name, question)
    view.put(Question(data.name, question, (*known.requests, request) if known else (request,)))
    view.put(Asked(request, data.name, account.name, question, cost, entry.number, paid))


def _pay(view: View, account: Account, pool: Pool, cost: Budget, time: str) -> tuple[tuple[str, int], ...]:
    """Charge the account's own grant and its organisation's: whichever there are must all have room."""
    paid = []
    for payer in payers(account):
        held = view.get(Grants, pool.name, payer)
        if held is None or not held.grants:
            if payer == account.name and account.organisation is not None:
                continue
            raise RefusedError(f"{payer} holds no grant from {pool.name}: ask its curator for one")
        index = next((number for number, one in enumerate(held.grants) if one.active(time)), None)
        if index is None:
            raise RefusedError(_inactive(payer, pool.name, held.grants[-1]))
        grant = held.grants[index]
        _check_request(cost, grant.most, f"one request by {payer}")
        spent = grant.spent.plus(cost)
        if not fits(spent, grant.amount):
            raise RefusedError(_too_much(cost, grant.spent, grant.amount, f"the grant of {payer} from {pool.name}"))
        view.put(_with_spent(held, index, spent))
        paid.append((payer, index))
    return tuple(paid)


def _with_spent(held: Grants, index: int, spent: Totals) -> Grants:
    one = held.grants[index]
    changed = Grant(one.amount, one.starts, one.expires, one.most, spent)
    return Grants(held.pool, held.account, (*held.grants[:index], changed, *held.grants[index + 1 :]))


def payers(account: Account) -> tuple[str, ...]:
    """Whose grants a request of this account is charged to."""
    return (account.name,) if account.organisation is None else (account.name, account.organisation)


def _inactive(payer: str, pool: str, grant: Grant) -> str:
    if grant.expires is not None:
        return f"the grant of {payer} from {pool} expired {grant.expires[:10]}, or is not yet valid: ask for a new one"
    return f"the grant of {payer} from {pool} starts {grant.starts[:10]}"


def _check_request(cost: Budget, most: Budget | None, what: str) -> None:
    if most is not None and not fits(Totals().plus(cost), most):
        raise RefusedError(f"{what} may cost at most {most}, and this one costs {cost}")


def _too_much(cost: Budget, spent: Totals, limit: Budget, what: str) -> str:
    if isinstance(limit, PureDP) and not isinstance(cost, PureDP):
        return f"{what} is pure ({limit}), and a cost of {cost} is not: only pure releases can be charged to it"
    return f"the request costs {cost}; of {what}, {limit}, only {readable(left(spent, limit))} is left"


def _commit(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    asked = need_reserved(view, body["request"])
    first = answered(requests(view, asked.dataset, asked.question))
    answer = asked.number if first is None else first.answer
    view.put(asked.close(entry.number, answer))


def _void(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    asked = need_reserved(view, body["request"])
    others = (one.id for one in requests(view, asked.dataset, asked.question) if one.id != asked.id)
    view.put(Question(asked.dataset, asked.question, tuple(others)))
    view.put(asked.close(entry.number))
    if body["charged"]:
        return
    pool = need_pool(view, need_dataset(view, asked.dataset).pool)
    view.put(Pool(pool.name, pool.cap, pool.spent.minus(asked.cost)))
    for payer, index in asked.paid:
        held = view.get(Grants, pool.name, payer)
        assert held is not None
        view.put(_with_spent(held, index, held.grants[index].spent.minus(asked.cost)))


def requests(view: View, dataset: str, question: str) -> list[Asked]:
    """The requests that ask a question, in order, but for those that were given up."""
    known = view.get(Question, dataset, question)
    if known is None:
        return []
    view.fetch(f"asked/{id}" for id in known.requests)
    found = (view.get(Asked, id) for id in known.requests)
    return [one for one in found if one is not None]


def answered(asking: Iterable[Asked]) -> Asked | None:
    """Of the requests that ask the same, the first that was committed: the answer is kept with it."""
    return next((one for one in asking if one.answer == one.number), None)


def need_dataset(view: View, name: str) -> DataSet:
    found = view.get(DataSet, name)
    if found is None:
        DataSetName.parse(name)
        raise UsageError(f"the data set {name} is not registered: see 'margrave ledger dataset'")
    return found


def need_account(view: View, name: str) -> Account:
    found = view.get(Account, name)
    if found is None:
        check_account_name("the account", name)
        raise UsageError(f"there is no account {name}: see 'margrave ledger account'")
    return found


def need_pool(view: View, name: str) -> Pool:
    found = view.get(Pool, name)
    if found is None:
        raise UsageError(f"there is no cap for {name}")
    return found


def need_members(view: View, pool: str) -> Members:
    found = view.get(Members, pool)
    if found is None:
        raise UsageError(f"there is no cap for {pool}")
    return found


def need_reserved(view: View, request: str) -> Asked:
    """A request that is neither committed nor void."""
    found = view.get(Asked, request)
    if found is None:
        raise UsageError(f"there is no request {request}")
    if found.status != "reserved":
        raise RefusedError(f"the request {request} is {found.status} already")
    return found


Rule = Callable[[View, Mapping[str, Any], Entry], None]

_RULES: Mapping[str, Rule] = {
    "open": _open,
    "dataset": _dataset,
    "account": _account,
    "grant": _grant,
    "end": _end,
    "reserve": _reserve,
    "commit": _commit,
    "void": _void,
}
