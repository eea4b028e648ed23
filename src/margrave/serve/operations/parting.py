"""Partitions over HTTP: paid for once, with a purse for each part that pays for questions about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from margrave.errors import UsageError
from margrave.ledger.ledger import Ledger
from margrave.ledger.purses import MOST_PURSES, Escrow
from margrave.ledger.records import RequestRecord
from margrave.ledger.statements.allowance import Allowance, purses_of
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import Question
from margrave.planning.questions.language.aggregates import Aggregate
from margrave.planning.questions.language.form import read_as
from margrave.planning.questions.language.parts import Partition
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.several.batch import Batch
from margrave.planning.questions.several.partition import PartPurse, PricedPartition
from margrave.publish.questions.purses import fill_purses
from margrave.serve.operations.declared import Call, HttpReply, operation
from margrave.serve.operations.shapes import BUDGET, FieldsShape, ListShape, NodeShape, TextShape
from margrave.session.builders import budget_of
from margrave.session.parts import PartitionExplained, paying_purses, purse_for

PARTITION = FieldsShape(
    needed={"purses": ListShape(BUDGET, 1, MOST_PURSES)},
    optional={"text": TextShape(20_000), "asked": NodeShape()},
    one_of=("text", "asked"),
)


class AccountPurses:
    """An account that asks about a data set, and the purses that it has open."""

    def __init__(self, ledger: Ledger, account: str, dataset: str, data: DataSpec) -> None:
        self.account, self.data = account, data
        self._ledger, self._dataset = ledger, dataset

    @classmethod
    def of(cls, call: Call) -> AccountPurses:
        """Those of whoever calls, for the data set that the path names."""
        name = call.path["dataset"]
        return cls(call.house.ledger, call.caller.name, name, call.house.opened_data(name))

    def purses(self, account: str) -> list[tuple[Escrow, list[Allowance]]]:
        return purses_of(self._ledger, account, self._dataset)

    def charged_questions(self) -> frozenset[str]:
        return frozenset(one.question for one in self._ledger.records(RequestRecord) if one.account == self.account)

    def paying(
        self, nodes: tuple[Aggregate, ...], priced: Callable[[PartPurse], Question | Batch], name: str | None
    ) -> PartPurse | None:
        """The purse of a name, or the one that pays as a matter of course; with an empty name, or without one, none:
        what is asked is then charged to the account's grant, as anything else.
        """
        if name is None:
            return purse_for(self, nodes, priced)
        if not name:
            return None
        for one in paying_purses(self, *nodes):
            if one.name == name:
                return one
        raise UsageError("you have no such purse, or it does not pay for this: open the partition first")


def allowance_json(one: Allowance) -> dict[str, Any]:
    """An allowance, exact."""
    told = {"what": one.what, "limit": one.limit.as_dict(), "spent": json.loads(one.spent.text)}
    return {**told, "said": one.said()}


def _wanted(call: Call, data: DataSpec) -> PricedPartition:
    body = call.body
    node = parsed(body["text"], data) if "text" in body else read_as(body["asked"], Partition)
    if not isinstance(node, Partition):
        raise UsageError("that is no partition: write 'people partition by region'")
    purses = tuple(budget_of(one.get("epsilon"), one.get("rho")) for one in body["purses"])
    if len(purses) == 1:
        return PricedPartition.equal(data, node, purses[0], call.caller.name)
    return PricedPartition(data, node, purses, call.caller.name)


@operation(
    "POST",
    "/v1/datasets/{dataset}/partitions/explain",
    "read",
    "What it would cost to give each part of a partition a purse: one for all, or one for each. Nothing is charged.",
    body=PARTITION,
)
def explain_parts(call: Call) -> HttpReply:
    partition = _wanted(call, call.house.opened_data(call.path["dataset"]))
    told = PartitionExplained(partition, call.house.allowed(call.caller.name, call.path["dataset"]))
    return HttpReply({**told.to_json(), "said": repr(told), "digest": partition.question})


@operation(
    "POST",
    "/v1/datasets/{dataset}/partitions",
    "ask",
    "Pay for a partition, once, and fill the purses of its parts. The same again is free, and changes nothing.",
    status=201,
    body=PARTITION,
)
def open_partition(call: Call) -> HttpReply:
    house, name = call.house, call.path["dataset"]
    partition = _wanted(call, house.opened_data(name))
    fill_purses(partition, ledger=house.ledger, dataset=name)
    told = {"cost": partition.cost.as_dict(), "parts": [str(one) for one in partition.shown]}
    return HttpReply({**told, "digest": partition.question}, 201)


@operation(
    "GET",
    "/v1/datasets/{dataset}/purses",
    "read",
    "What you set apart for the parts of partitions, what is left in each purse, and the digests of what you asked.",
)
def purses(call: Call) -> HttpReply:
    held = AccountPurses.of(call)
    items = [
        {
            "digest": escrow.question,
            "purses": [{"name": f"{escrow.question}/{at}", **allowance_json(one)} for at, one in enumerate(left)],
        }
        for escrow, left in held.purses(held.account)
    ]
    return HttpReply({"items": items, "charged": sorted(held.charged_questions()), "next": None})
