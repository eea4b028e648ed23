"""What reserving, committing and giving up a request do to the records, and when they are refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from margrave.budget.numbers import readable
from margrave.budget.units import Budget
from margrave.errors import RefusedError
from margrave.ledger.amounts import read_budget
from margrave.ledger.journal import Entry
from margrave.ledger.records import Account, DataSet, Grant, Grants, Pool, Question, RequestRecord
from margrave.ledger.rules.limits import Filter
from margrave.ledger.rules.lookup import (
    answered,
    need_account,
    need_dataset,
    need_pool,
    need_reserved,
    payers,
    requests,
)
from margrave.ledger.rules.totals import Totals
from margrave.ledger.view import View


def reserve(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    data, account = need_dataset(view, body["dataset"]), need_account(view, body["account"])
    cost = read_budget(body["cost"])
    if view.get(RequestRecord, body["request"]) is not None:
        raise RefusedError(f"the request {body['request']} was made before")
    charge_cap(view, data, cost)
    paid = pay(view, account, data.pool, cost, entry.time)
    request, question = body["request"], body["question"]
    known = view.get(Question, f"{data.name}/{question}")
    view.put(Question(data.name, question, (*known.requests, request) if known else (request,)))
    view.put(RequestRecord(request, data.name, account.name, question, cost, entry.number, paid))


def charge_cap(view: View, data: DataSet, cost: Budget) -> None:
    """Charge the cap of a data set, which must have room."""
    pool = need_pool(view, data.pool)
    _check_request(cost, data.most, f"one request to {data.name}")
    spent = pool.spent.plus(cost)
    if not pool.cap.holds(spent):
        raise RefusedError(_too_much(cost, pool.spent, pool.cap, f"the cap of {pool.name}"))
    view.put(pool.with_spent(spent))


def tell_rows(view: View, data: DataSet, column: str | None) -> None:
    """Note what a row of a data set stands for, by a request that weighs rows by a column, or by none."""
    pool = need_pool(view, data.pool)
    counted = rows_of(pool, data.name, column)
    if counted != pool.counted:
        view.put(pool._replace(counted=counted))


def rows_of(pool: Pool, dataset: str, column: str | None) -> str:
    """What a row stands for once a request has weighed rows by a column, or not: from then on it is told."""
    if pool.counted == (column or "") or (pool.counted is None and column is None):
        return column or ""
    if pool.counted is None:
        raise RefusedError(
            f"nothing says yet that rows of {dataset} stand for counted records: if its column {column!r} is their "
            f"number, declare it once, 'margrave ledger dataset {dataset} --count {column}'"
        )
    there = "stands for as many records as a column says that the request does not name" if pool.counted else "is one"
    raise RefusedError(
        f"{dataset} is registered with another notion of privacy: there each row {there}"
        + ("" if pool.counted else f" record, and the request takes it for as many as its column {column!r} says")
    )


def active_grants(view: View, account: Account, pool: str, time: str) -> list[tuple[str, Grants, int]]:
    """The grants that an account spends from now, its own and its organisation's: those there are must be active."""
    found = []
    for payer in payers(account):
        held = view.get(Grants, f"{pool}/{payer}")
        if held is None or not held.grants:
            if payer == account.name and account.organisation is not None:
                continue
            raise RefusedError(f"{payer} holds no grant from {pool}: ask its curator for one")
        index = next((number for number, one in enumerate(held.grants) if one.active(time)), None)
        if index is None:
            raise RefusedError(_inactive(payer, pool, held.grants[-1]))
        found.append((payer, held, index))
    return found


def pay(
    view: View, account: Account, pool: str, cost: Budget, time: str, before: Collection[str] = ()
) -> tuple[tuple[str, int], ...]:
    """Charge the grants of an account, which must all have room, but for those of whoever paid ``before``."""
    paid = []
    for payer, held, index in active_grants(view, account, pool, time):
        if payer in before:
            continue
        grant = held.grants[index]
        _check_request(cost, grant.most, f"one request by {payer}")
        spent = grant.spent.plus(cost)
        if not grant.amount.holds(spent):
            raise RefusedError(_too_much(cost, grant.spent, grant.amount, f"the grant of {payer} from {pool}"))
        view.put(_with_spent(held, index, spent))
        paid.append((payer, index))
    return tuple(paid)


def _with_spent(held: Grants, index: int, spent: Totals) -> Grants:
    one = held.grants[index]
    changed = Grant(one.amount, one.starts, one.expires, one.most, spent)
    return Grants(held.pool, held.account, (*held.grants[:index], changed, *held.grants[index + 1 :]))


def _inactive(payer: str, pool: str, grant: Grant) -> str:
    if grant.expires is not None:
        return f"the grant of {payer} from {pool} expired {grant.expires[:10]}, or is not yet valid: ask for a new one"
    return f"the grant of {payer} from {pool} starts {grant.starts[:10]}"


def _check_request(cost: Budget, most: Budget | None, what: str) -> None:
    if most is not None and not most.holds(Totals().plus(cost)):
        raise RefusedError(f"{what} may cost at most {most}, and this one costs {cost}")


def _too_much(cost: Budget, spent: Totals, limit: Budget, what: str) -> str:
    if limit.parts.pure and not cost.parts.pure:
        return f"{what} is pure ({limit}), and a cost of {cost} is not: only pure releases can be charged to it"
    if isinstance(limit, Filter):
        return _too_much_by_sums(cost, spent, limit, what)
    return f"the request costs {cost}; of {what}, {limit}, only {readable(limit.left(spent))} is left"


def _too_much_by_sums(cost: Budget, spent: Totals, limit: Filter, what: str) -> str:
    if not limit.holds(spent):
        return (
            f"what was charged so far is beyond {what}, {limit}: earlier rules let it, which are right only for "
            "requests that are fixed beforehand; nothing more can be charged"
        )
    if cost.delta and spent.delta + cost.delta > limit.events:
        free = readable(limit.events - spent.delta)
        return f"the request has a δ of its own ({cost}); of {what}, {limit}, a δ of {free} is left for such requests"
    pure, rho = limit.room(spent)
    return (
        f"the request costs {cost}; of {what}, {limit}, what is left for one more request is ε = {readable(pure)} if "
        f"it is pure, or ρ = {readable(rho)} if its noise is Gaussian"
    )


def commit(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    asked = need_reserved(view, body["request"])
    first = answered(requests(view, asked.dataset, asked.question))
    answer = asked.number if first is None else first.answer
    view.put(asked.close(entry.number, answer))


def void(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    asked = need_reserved(view, body["request"])
    others = (one.id for one in requests(view, asked.dataset, asked.question) if one.id != asked.id)
    view.put(Question(asked.dataset, asked.question, tuple(others)))
    view.put(asked.close(entry.number))
    if body["charged"]:
        return
    pool = need_dataset(view, asked.dataset).pool
    refund_cap(view, pool, asked.cost)
    for payer, index in asked.paid:
        refund_grant(view, pool, payer, index, asked.cost)


def refund_cap(view: View, name: str, cost: Budget) -> None:
    pool = need_pool(view, name)
    view.put(pool.with_spent(pool.spent.minus(cost)))


def refund_grant(view: View, pool: str, payer: str, index: int, cost: Budget) -> None:
    held = view.get(Grants, f"{pool}/{payer}")
    assert held is not None
    view.put(_with_spent(held, index, held.grants[index].spent.minus(cost)))
