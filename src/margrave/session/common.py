"""What every session has, wherever the ledger and the data are: what may be spent, asked, and was answered.

It opens no data and no ledger: those who do so say how a question is answered, and what is left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from types import TracebackType
from typing import Any, Self

from margrave.budget.units import amount
from margrave.errors import UsageError, suggest
from margrave.files.content import Content
from margrave.ledger.journal import canonical
from margrave.ledger.purses import Escrow
from margrave.ledger.statements.allowance import Allowance
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import Question
from margrave.planning.questions.language.aggregates import Aggregate
from margrave.planning.questions.language.form import LanguageNode, read_form
from margrave.planning.questions.language.parts import Partition
from margrave.planning.questions.language.public import PublicName, PublicTable
from margrave.planning.questions.language.relations import Rows
from margrave.planning.questions.language.sql import read_sql
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.several.batch import Batch
from margrave.planning.questions.several.partition import PartPurse, PricedPartition
from margrave.publish.questions.answers import AnswerTable
from margrave.publish.questions.best_counts import BestCounts, BestTables, best_counts, best_tables
from margrave.publish.questions.shared import BatchAnswer, batch_answers
from margrave.publish.release import Release
from margrave.session.batches import BatchBuilder
from margrave.session.builders import QuestionBuilder, RowsBuilder
from margrave.session.parts import OpenParts, PartitionBuilder, purse_for, purse_left
from margrave.session.public import PublicRows
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


class AnySession(ABC):
    """A session of an account with one data set that was opened for questions."""

    def __init__(self, account: str, dataset: str, data: DataSpec) -> None:
        self.account, self.dataset, self.data = account, dataset, data
        self.answers: list[AnswerTable | Release] = []

    @abstractmethod
    def close(self) -> None:
        """Give back what the session holds."""

    @property
    @abstractmethod
    def datasets(self) -> tuple[str, ...]:
        """Every data set that was opened for questions."""

    @abstractmethod
    def open_parts(self, partition: PricedPartition) -> OpenParts:
        """Charge a partition, once, and fill the purses of its parts; one that is open has what is left in them."""

    @abstractmethod
    def purses(self, account: str) -> list[tuple[Escrow, list[Allowance]]]:
        """What an account set apart for the parts of partitions of this data set, and what is left in each purse."""

    @abstractmethod
    def charged_questions(self) -> frozenset[str]:
        """The digests of all questions that were charged to the account."""

    @abstractmethod
    def _limits(self) -> tuple[Allowance, ...]:
        """What the account may still spend: its grants, and the cap of the data set."""

    @abstractmethod
    def _asked(self, question: Question) -> AnswerTable | Release:
        """Have a question charged and answered."""

    @abstractmethod
    def _asked_batch(self, batch: Batch) -> tuple[AnswerTable, ...]:
        """Have a batch charged and answered."""

    @abstractmethod
    def _contents(self) -> Iterable[Content]:
        """The stored answers to all that this account has asked of the data set."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
            hint = suggest(str(table), self.tables) or f"; there are {', '.join(self.tables)}"
            raise UsageError(f"{self.dataset} has no table {table!r}{hint}")
        return RowsBuilder(self, self.data, Rows(table))

    @property
    def public(self) -> dict[str, PublicRows]:
        """The public tables that are declared with the data set, by name."""
        return {name: PublicRows(table, PublicName(name)) for name, table in self.data.public_tables}

    def ask(self, text: str, **public: PublicRows) -> QuestionBuilder | PartitionBuilder:
        """The question that a text asks: ``people where age in 18-64 by region average income``.

        ``public``: public tables that the text may name, beside those that are declared.
        """
        return self.asked(parsed(_text(text), self.data, _tables(public)))

    def sql(self, text: str, **public: PublicRows) -> QuestionBuilder:
        """The question that an SQL text asks: ``SELECT region, AVG(income) FROM people GROUP BY region``."""
        found = read_sql(_text(text), self.data, _tables(public))
        return QuestionBuilder(self, self.data, found)

    def json(self, value: object) -> QuestionBuilder | PartitionBuilder:
        """The question that JSON values write: what `to_json` of a node gives, or of what was read from a text."""
        return self.asked(read_form(value))

    def asked(self, node: LanguageNode) -> QuestionBuilder | PartitionBuilder:
        """The question, or the partition, of a tree of the language."""
        if isinstance(node, Partition):
            return self.parted(node)
        if not isinstance(node, Aggregate):
            raise UsageError(f"a {node.kind!r} is no question: ask for a count, a sum, an average, …")
        return QuestionBuilder(self, self.data, node)

    def parted(self, node: Partition) -> PartitionBuilder:
        """A partition that is to be paid for."""
        return PartitionBuilder(self, self.data, node)

    def purse_for(
        self, nodes: tuple[Aggregate, ...], priced_from: Callable[[PartPurse], Question | Batch] | None = None
    ) -> PartPurse | None:
        """The purse that pays for questions, where all are about a part of a partition that the account has open."""
        return purse_for(self, nodes, priced_from)

    def allowances(self, purse: PartPurse | None = None) -> tuple[Allowance, ...]:
        """What the account may still spend: its grants, and the cap of the data set; or what is left in a purse."""
        return self._limits() if purse is None else purse_left(self, purse)

    def answer(self, question: Question) -> AnswerTable | Release:
        """Charge a question and have it answered; one that was asked before comes back as it was."""
        found = self._asked(question)
        if isinstance(found, AnswerTable):
            found = found.with_left("; ".join(one.said() for one in self.allowances(question.purse)))
        self.answers.append(found)
        return found

    def batch(self, *questions: QuestionBuilder, eps: Any = None, rho: Any = None) -> Any:
        """Several questions under one charge, planned together; one that is given twice is asked once.

        Those that follow from the answers to others are not measured. With a budget they are asked, and the answers
        come back in their order: all are answered, or none, and what is refused costs nothing. The same batch again is
        free. Where all are about one part, its purse pays. Without a budget it is only put together, to `explain` or
        `release` it.
        """
        if any(not isinstance(one, QuestionBuilder) for one in questions):
            raise UsageError("a batch is made of questions, such as s.batch(people.count(), visits.count(), eps=0.1)")
        if any(one.session is not self for one in questions):
            raise UsageError("a question of a batch is from another session, or about another data set")
        purses = [one.purse for one in questions if one.purse is not None]
        if purses and any(one.purse != purses[0] for one in questions):
            raise UsageError(
                "a batch is charged as a whole: to the purse of one part, if all its questions are about that part, or "
                "outside the partition, if none is"
            )
        found = BatchBuilder(self, self.data, tuple(one.node for one in questions), purses[0] if purses else None)
        return found if eps is None and rho is None else found.release(eps, rho=rho)

    def answer_batch(self, batch: Batch) -> dict[Aggregate, BatchAnswer]:
        """Charge a batch and have it answered: the answers by what is asked."""
        found = self._asked_batch(batch)
        left = "; ".join(one.said() for one in self.allowances(batch.purse))
        measured = [one.with_left(left) for one in found]
        self.answers += measured
        return batch_answers(batch, measured)

    def best(self, question: QuestionBuilder) -> BestCounts:
        """The best estimate of counts from everything this account was ever answered about the data set: free.

        Its intervals assume questions that were not chosen by earlier answers.
        """
        if not isinstance(question, QuestionBuilder):
            raise UsageError("best takes a question, such as s.best(people.count())")
        return best_counts(self.data, question.node, self._stored())

    def _stored(self) -> list[AnswerTable | Release]:
        """Everything this account was ever answered. Answers that agree by chance are told apart by their charges."""
        return list({_identity(one): one for content in self._contents() for one in everything_in(content)}.values())

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


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise UsageError(f"a question is written as a text, not as a {type(given).__name__}")
    return given


def _tables(given: Mapping[str, PublicRows]) -> dict[str, PublicTable]:
    for name, one in given.items():
        if not isinstance(one, PublicRows):
            raise UsageError(f"{name!r} is no public table: make it with mg.public({{…}}, key=…)")
    return {name: one.table for name, one in given.items()}


def _share(allowance: Allowance) -> float:
    """The part of a limit that is left."""
    return min(1.0, allowance.left / float(amount(allowance.limit)))


def chosen_name(names: Sequence[str], dataset: str | None) -> str:
    """The data set that is meant: the only one may be left out."""
    if dataset is None and len(names) == 1:
        return names[0]
    if dataset is None or dataset not in names:
        there = ", ".join(names) or "none yet"
        raise UsageError(f"say which data set is asked about; open for questions: {there}")
    return dataset
