"""What is looked up in the records by name, and what is said where it is not there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from margrave.errors import RefusedError, UsageError
from margrave.ledger.records import Account, DataSet, Members, Pool, Question, RequestRecord
from margrave.ledger.values import DataSetName, check_account_name

if TYPE_CHECKING:
    from margrave.ledger.view import View


def requests(view: View, dataset: str, question: str) -> list[RequestRecord]:
    """The requests that ask a question, in order, but for those that were given up."""
    known = view.get(Question, f"{dataset}/{question}")
    if known is None:
        return []
    return [one for one in view.all(RequestRecord, known.requests) if one is not None]


def answered(asking: Iterable[RequestRecord]) -> RequestRecord | None:
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


def need_asked(view: View, request: str) -> RequestRecord:
    found = view.get(RequestRecord, request)
    if found is None:
        raise UsageError(f"there is no request {request}")
    return found


def need_reserved(view: View, request: str) -> RequestRecord:
    """A request that is neither committed nor void."""
    found = need_asked(view, request)
    if found.status != "reserved":
        raise RefusedError(f"the request {request} is {found.status} already")
    return found


def need_question(view: View, asked: RequestRecord) -> Question:
    """The question of a request."""
    found = view.get(Question, f"{asked.dataset}/{asked.question}")
    if found is None:
        raise UsageError(f"the question of the request {asked.id} is missing")
    return found


def charge_of(asking: Iterable[RequestRecord]) -> RequestRecord:
    """Of the requests that ask the same, the first that the cap was charged for."""
    return next(one for one in asking if one.cap)


def payers(account: Account) -> tuple[str, ...]:
    """Whose grants a request of this account is charged to."""
    return (account.name,) if account.organisation is None else (account.name, account.organisation)
