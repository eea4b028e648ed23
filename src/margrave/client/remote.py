"""A session over the wire: the same questions, explanations and answers, with the data on the other side of a wall.

Questions are built, read and explained here, from the public declaration of the data set. What comes back is checked:
that it is what the server says it is, and the answer to what was asked.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from hashlib import sha256
from secrets import token_urlsafe
from ssl import SSLContext
from typing import Any

from margrave.client.wire import Wire, told_problem
from margrave.errors import FaultError, LedgerError, MargraveError, VerificationError
from margrave.files.content import Content
from margrave.ledger.amounts import read_limit
from margrave.ledger.purses import Escrow
from margrave.ledger.rules.totals import Totals
from margrave.ledger.statements.allowance import Allowance
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import Question
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.batch import Batch
from margrave.planning.questions.several.partition import PricedPartition
from margrave.planning.questions.several.tables import TablesQuestion
from margrave.publish.questions.answers import AnswerTable
from margrave.publish.release import Release
from margrave.publish.verification.verify import verify_stored
from margrave.session.common import AnySession, chosen_name
from margrave.session.parts import OpenParts
from margrave.session.stored import everything_in

_WAIT = 30
_FAULTS = 3
"""How often a question is asked again after a fault of the machine, which is free."""
_CHANGED = "what the server sent is not the answer to what was asked: trust neither it nor what is between"


def connect(url: str, token: str, dataset: str | None = None, *, tls: SSLContext | None = None) -> RemoteSession:
    """A session with a server, about one of its data sets; the only one may be left out.

    ``tls``: what to trust, where that is not what the machine trusts anyway.
    """
    wire = Wire(url, token, tls=tls)
    try:
        me = wire.get("me").value()
        names = _names(wire)
        named = chosen_name(names, dataset)
        declared = wire.get("datasets", named).value()["declared"]
        return RemoteSession(wire, str(me["name"]), named, DataSpec.load(declared))
    except BaseException as error:
        wire.close()
        if isinstance(error, KeyError | TypeError | AttributeError):
            raise LedgerError("the server does not answer as a server of this version does") from None
        raise


def _names(wire: Wire) -> tuple[str, ...]:
    names: list[str] = []
    page: dict[str, Any] = {"next": 0}
    while page["next"] is not None:
        page = wire.get("datasets", after=page["next"]).value()
        names += [str(one["name"]) for one in page["items"]]
    return tuple(names)


class RemoteSession(AnySession):
    """A session of an account with a data set behind a server. Make one with `connect`."""

    def __init__(self, wire: Wire, account: str, dataset: str, data: DataSpec) -> None:
        super().__init__(account, dataset, data)
        self._wire = wire

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    @property
    def datasets(self) -> tuple[str, ...]:
        """Every data set that was opened for questions."""
        return _names(self._wire)

    def open_parts(self, partition: PricedPartition) -> OpenParts:
        """Pay for a partition, once, and fill the purses of its parts; one that is open has what is left in them."""
        body = {"asked": partition.partition.to_json(), "purses": [one.as_dict() for one in partition.purses]}
        found = self._wire.post("datasets", self.dataset, "partitions", body=body, key=token_urlsafe(24)).value()
        if found.get("digest") != partition.question:
            raise VerificationError(_CHANGED)
        return OpenParts(self, partition)

    def purses(self, account: str) -> list[tuple[Escrow, list[Allowance]]]:
        """What the account set apart for the parts of partitions of this data set, and what is left in each purse."""
        found = []
        for one in self._wire.get("datasets", self.dataset, "purses").value()["items"]:
            left = [_allowance(each) for each in one["purses"]]
            found.append((Escrow(self.dataset, one["digest"], account, tuple(each.limit for each in left)), left))
        return found

    def charged_questions(self) -> frozenset[str]:
        """The digests of all questions that were charged to the account."""
        return frozenset(self._wire.get("datasets", self.dataset, "purses").value()["charged"])

    def _limits(self) -> tuple[Allowance, ...]:
        found = self._wire.get("me").value()["allowances"].get(self.dataset, ())
        return tuple(_allowance(one) for one in found)

    def _asked(self, question: Question) -> AnswerTable | Release:
        paid = question.purse.name if question.purse is not None else ""
        body = {"asked": _node(question), "budget": question.budget.as_dict(), "purse": paid}
        content = self._answered(body)
        (found,) = _read(content, 1)
        if isinstance(question, TablesQuestion):
            return _tables(question, found, content)
        return _answer(question, found)

    def _asked_batch(self, batch: Batch) -> tuple[AnswerTable, ...]:
        measured = [{"asked": _node(one), "budget": one.budget.as_dict()} for one in batch.questions]
        wanted = [one.to_json() for one in batch.wanted]
        body = {"measured": measured, "wanted": wanted, "purse": batch.purse.name if batch.purse is not None else ""}
        found = _read(self._answered(body), len(batch.questions))
        return tuple(_answer(question, one) for question, one in zip(batch.questions, found, strict=True))

    def _answered(self, body: dict[str, Any]) -> bytes:
        """Ask under a new key, wait, and fetch the stored answer. After a fault the same key asks again, free."""
        key = token_urlsafe(24)
        job: dict[str, Any] = {}
        for _ in range(_FAULTS):
            job = self._wire.post("datasets", self.dataset, "questions", body=body, key=key).value()
            identity = str(job.get("id", ""))
            while True:
                job = self._wire.get("questions", identity, wait=_WAIT).value()
                if job.get("state") != "waiting":
                    break
            if job.get("state") != "fault":
                break
        if job.get("state") != "answered":
            error = told_problem(job.get("problem", {}))
            raise error if job.get("state") == "refused" else FaultError(str(error))
        content = self._wire.get("questions", identity, "content").content
        if sha256(content).hexdigest() != job.get("digest"):
            raise VerificationError(_CHANGED)
        return content

    def _contents(self) -> Iterable[Content]:
        found = self._wire.get("datasets", self.dataset, "answers").value()
        return [b64decode(text) for text in found["answers"]]


def _allowance(told: dict[str, Any]) -> Allowance:
    return Allowance(told["what"], read_limit(told["limit"]), Totals.from_json(told["spent"]))


def _node(question: Question) -> dict[str, Any]:
    found: dict[str, Any] = question.asked_json()["asked"]
    return found


def _read(content: bytes, many: int) -> tuple[AnswerTable | Release, ...]:
    try:
        found = everything_in(content)
    except (MargraveError, ValueError, AttributeError):
        found = ()
    if len(found) != many:
        raise VerificationError(_CHANGED)
    return found


def _answer(question: PricedQuestion, found: AnswerTable | Release) -> AnswerTable:
    if not isinstance(found, AnswerTable) or found.question.question != question.question:
        raise VerificationError(_CHANGED)
    return found


def _tables(question: TablesQuestion, found: AnswerTable | Release, content: bytes) -> Release:
    """Tables that were asked for: the whole bundle is verified."""
    if not isinstance(found, Release) or found.plan.question != question.plan.question:
        raise VerificationError(_CHANGED)
    verify_stored(content)
    return found
