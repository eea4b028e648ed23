"""An analyst's session: what may be spent, what can be asked, and what was answered.

It trusts the machine that it runs on: whoever runs Python there can read the ledger and the store. Against analysts
who are not trusted with the machine only a server that stands between holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from margrave import pipeline
from margrave.budget.units import amount
from margrave.errors import UsageError, suggest
from margrave.ledger.allowance import Allowance, allowances
from margrave.ledger.journal import canonical
from margrave.ledger.ledger import Ledger
from margrave.ledger.records import Opened
from margrave.planning.questions.batch import Batch
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import Question
from margrave.planning.questions.language.aggregates import Aggregate
from margrave.planning.questions.language.relations import Rows
from margrave.planning.questions.language.sql import read_sql
from margrave.planning.questions.language.text import parsed
from margrave.publish.answers import AnswerTable
from margrave.publish.best_counts import BestCounts, BestTables, best_counts, best_tables
from margrave.publish.release import Release
from margrave.publish.shared import BatchAnswer, batch_answers
from margrave.session.batches import BatchBuilder
from margrave.session.builders import QuestionBuilder, RowsBuilder
from margrave.session.stored import everything_in

_LAST = 5


class SessionTables(tuple[str, ...]):
    """The names of the tables of a session; called, the best tables of counts that its answers give together."""

    _best: Callable[[], BestTables]

    def __new__(cls, names: Iterable[str], best: Callable[[], BestTables]) -> Self:
        found = super().__new__(cls, names)
        found._best = best
        return found

    def __call__(self) -> BestTables:
        return self._best()


class Session:
    """A session of an account with one data set that was opened for questions. Open one with `Session.open`."""

    def __init__(self, ledger: Ledger, account: str, opened: Opened, *, owned: bool = False) -> None:
        self.ledger, self.account, self.dataset = ledger, account, opened.dataset
        self.data = DataSpec.load(opened.declared)
        self.answers: list[AnswerTable | Release] = []
        self._owned = owned
        self._answerer = pipeline.answerer(opened.place)

    @classmethod
    def open(cls, ledger: Ledger | str | Path, account: str, dataset: str | None = None) -> Session:
        """A session with a ledger (a path or URL) for an account, about a data set; the only one may be left out."""
        found = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
        try:
            opened = _chosen(found.records(Opened), dataset)
            session = cls(found, account, opened, owned=found is not ledger)
            session.allowances()
        except BaseException:
            if found is not ledger:
                found.close()
            raise
        return session

    def close(self) -> None:
        """Stop the worker, and close the ledger if the session opened it."""
        self._answerer.close()
        if self._owned:
            self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def datasets(self) -> tuple[str, ...]:
        """Every data set that was opened for questions."""
        return tuple(one.dataset for one in self.ledger.records(Opened))

    @property
    def tables(self) -> SessionTables:
        """The names of the tables of this data set. Called, ``tables()``, the best tables of counts, at no cost.

        These are from everything this account was ever answered about the data set; they agree with each other.
        """
        return SessionTables([table.name for table in self.data.tables], self._best_tables)

    def _best_tables(self) -> BestTables:
        return best_tables(self.data, self._stored())

    def __getitem__(self, table: str) -> RowsBuilder:
        if table not in self.tables:
            hint = suggest(table, self.tables) or f"; there are {', '.join(self.tables)}"
            raise UsageError(f"{self.dataset} has no table {table!r}{hint}")
        return RowsBuilder(self, self.data, Rows(table))

    def ask(self, text: str) -> QuestionBuilder:
        """The question that a text asks: ``people where age in 18-64 by region average income``."""
        return QuestionBuilder(self, self.data, parsed(text, self.data))

    def sql(self, text: str) -> QuestionBuilder:
        """The question that an SQL text asks: ``SELECT region, AVG(income) FROM people GROUP BY region``."""
        return QuestionBuilder(self, self.data, read_sql(text, self.data))

    def allowances(self) -> tuple[Allowance, ...]:
        """What the account may still spend: its grants, and the cap of the data set."""
        return allowances(self.ledger, self.account, self.dataset)

    def answer(self, question: Question) -> AnswerTable | Release:
        """Charge a question and have it answered; one that was asked before comes back as it was."""
        options = {"ledger": self.ledger, "dataset": self.dataset, "account": self.account}
        found = pipeline.ask(question, self._answerer, **options)  # type: ignore[arg-type]
        if isinstance(found, AnswerTable):
            found = found.with_left("; ".join(one.said() for one in self.allowances()))
        self.answers.append(found)
        return found

    def batch(self, *questions: QuestionBuilder, eps: Any = None, rho: Any = None) -> Any:
        """Several questions under one charge, planned together; one that is given twice is asked once.

        Those that follow from the answers to others are not measured. With a budget they are asked, and the answers
        come back in their order: all are answered, or none, and what is refused costs nothing. The same batch again is
        free. Without a budget it is only put together, to `explain` or `release` it.
        """
        found = BatchBuilder(self, self.data, tuple(one.node for one in questions))
        return found if eps is None and rho is None else found.release(eps, rho=rho)

    def answer_batch(self, batch: Batch) -> dict[Aggregate, BatchAnswer]:
        """Charge a batch and have it answered: the answers by what is asked."""
        options = {"ledger": self.ledger, "dataset": self.dataset, "account": self.account}
        found = pipeline.ask_batch(batch, self._answerer, **options)  # type: ignore[arg-type]
        left = "; ".join(one.said() for one in self.allowances())
        measured = [one.with_left(left) for one in found]
        self.answers += measured
        return batch_answers(batch, measured)

    def best(self, question: QuestionBuilder) -> BestCounts:
        """The best estimate of counts from everything this account was ever answered about the data set: free.

        Its intervals assume questions that were not chosen by earlier answers.
        """
        return best_counts(self.data, question.node, self._stored())

    def _stored(self) -> list[AnswerTable | Release]:
        """Everything this account was ever answered. Answers that agree by chance are told apart by their charges."""
        contents = self.ledger.answers_of(self.account, self.dataset)
        return list({_identity(one): one for content in contents for one in everything_in(content)}.values())

    def __repr__(self) -> str:
        lines = [f"{self.account} asks {self.dataset}: {', '.join(self.tables)}"]
        lines += [f"  {one.said()}" for one in self.allowances()]
        lines += [f"  asked: {_said(one)}" for one in self.answers[-_LAST:]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        meters = "".join(
            f"<tr><td>{escape(one.what)}</td><td><meter min='0' max='1' value='{_share(one):.4f}'></meter></td>"
            f"<td>{escape(one.said())}</td></tr>"
            for one in self.allowances()
        )
        asked = "".join(f"<li>{escape(_said(one))}</li>" for one in self.answers[-_LAST:])
        title = f"<p><strong>{escape(self.account)}</strong> asks {escape(self.dataset)}: {', '.join(self.tables)}</p>"
        return f"<div>{title}<table>{meters}</table><ul>{asked}</ul></div>"


def _said(one: AnswerTable | Release) -> str:
    asked = one.plan if isinstance(one, Release) else one.question
    return f"{asked.title} ({asked.cost})"


def _identity(one: AnswerTable | Release) -> tuple[str, str]:
    asked, charge = (one.plan, one.ledger or {}) if isinstance(one, Release) else (one.question, one.charge)
    return asked.question, canonical(dict(charge))


def _share(allowance: Allowance) -> float:
    """The part of a limit that is left."""
    return min(1.0, allowance.left / float(amount(allowance.limit)))


def _chosen(opened: list[Opened], dataset: str | None) -> Opened:
    names = [one.dataset for one in opened]
    if dataset is None and len(opened) == 1:
        return opened[0]
    if dataset not in names:
        there = ", ".join(names) or "none yet"
        raise UsageError(f"say which data set is asked about; open for questions: {there}")
    return opened[names.index(dataset)]
