"""An analyst's session: what may be spent, what can be asked, and what was answered.

It trusts the machine that it runs on: whoever runs Python there can read the ledger and the store. Against analysts
who are not trusted with the machine only a server that stands between holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from margrave import pipeline
from margrave.files.content import Content
from margrave.ledger.ledger import Ledger
from margrave.ledger.purses import Escrow
from margrave.ledger.records import Opened, RequestRecord
from margrave.ledger.statements.allowance import Allowance, allowances, purses_of
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import Question
from margrave.planning.questions.several.batch import Batch
from margrave.planning.questions.several.partition import PricedPartition
from margrave.publish.questions.answers import AnswerTable
from margrave.publish.release import Release
from margrave.session.common import AnySession, chosen_name
from margrave.session.parts import OpenParts


class Session(AnySession):
    """A session of an account with one data set that was opened for questions. Open one with `Session.open`."""

    def __init__(self, ledger: Ledger, account: str, opened: Opened, *, owned: bool = False) -> None:
        super().__init__(account, opened.dataset, DataSpec.load(opened.declared))
        self.ledger = ledger
        self._owned = owned
        self._answerer = pipeline.answerer(opened.place)

    @classmethod
    def open(cls, ledger: Ledger | str | Path, account: str, dataset: str | None = None) -> Session:
        """A session with a ledger (a path or URL) for an account, about a data set; the only one may be left out."""
        found = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
        try:
            opened = {one.dataset: one for one in found.records(Opened)}
            session = cls(found, account, opened[chosen_name(tuple(opened), dataset)], owned=found is not ledger)
            session.allowances()
        except BaseException:
            if found is not ledger:
                found.close()
            raise
        return session

    def close(self) -> None:
        """Stop the worker, and close the ledger if the session opened it; a forked process has neither."""
        self._answerer.close()
        if self._owned and self._answerer.owned:
            self.ledger.close()

    @property
    def datasets(self) -> tuple[str, ...]:
        """Every data set that was opened for questions."""
        return tuple(one.dataset for one in self.ledger.records(Opened))

    def open_parts(self, partition: PricedPartition) -> OpenParts:
        """Charge a partition, once, and fill the purses of its parts; one that is open has what is left in them."""
        self._answerer.check_owner()
        pipeline.open_parts(partition, ledger=self.ledger, dataset=self.dataset)
        return OpenParts(self, partition)

    def purses(self, account: str) -> list[tuple[Escrow, list[Allowance]]]:
        """What an account set apart for the parts of partitions of this data set, and what is left in each purse."""
        self._answerer.check_owner()
        return purses_of(self.ledger, account, self.dataset)

    def charged_questions(self) -> frozenset[str]:
        """The digests of all questions that were charged to the account."""
        return frozenset(one.question for one in self.ledger.records(RequestRecord) if one.account == self.account)

    def _limits(self) -> tuple[Allowance, ...]:
        self._answerer.check_owner()
        return allowances(self.ledger, self.account, self.dataset)

    def _asked(self, question: Question) -> AnswerTable | Release:
        return pipeline.ask(question, self._answerer, ledger=self.ledger, dataset=self.dataset, account=self.account)

    def _asked_batch(self, batch: Batch) -> tuple[AnswerTable, ...]:
        return pipeline.ask_batch(batch, self._answerer, ledger=self.ledger, dataset=self.dataset, account=self.account)

    def _contents(self) -> Iterable[Content]:
        self._answerer.check_owner()
        return self.ledger.answers_of(self.account, self.dataset)
