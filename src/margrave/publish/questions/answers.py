"""The answer to a question: a value for each group, with what its noise lets be said of the exact one.

Intervals are about the recoded data, and about noise alone: they hold with the stated probability whatever the data is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any

from margrave.budget.units import Budget
from margrave.errors import BundleError, MargraveError, UsageError
from margrave.files.content import Content, reader_of
from margrave.ledger.journal import canonical
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.price.mechanisms import Noisy, Selected, Tree
from margrave.planning.questions.price.trees import tree_nodes
from margrave.planning.questions.question import PricedQuestion, read_question
from margrave.planning.questions.several.batch import Batch
from margrave.planning.questions.several.partition import PricedPartition, read_partition
from margrave.publish.questions.answer_values import AnswerRow, noisy_rows, selected_rows
from margrave.publish.questions.distributions import tree_rows

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 12
_UNREADABLE = "the stored answer cannot be read: it was changed, or written by a newer Margrave"


class RowsOfAnswer:
    """What has rows of values, one or many."""

    rows: tuple[AnswerRow, ...]

    def _only(self) -> AnswerRow:
        if len(self.rows) != 1:
            raise UsageError(f"the answer has {len(self.rows):,} values: see rows, or to_pandas()")
        return self.rows[0]

    @property
    def value(self) -> Any:
        """The only value, where there is one."""
        return self._only().value

    @property
    def low(self) -> Any:
        return self._only().low

    @property
    def high(self) -> Any:
        return self._only().high

    @property
    def std_error(self) -> float | None:
        return self._only().std_error

    def to_pandas(self) -> pd.DataFrame:
        """A row for each value: the keys of its group, the value, its standard error and its interval."""
        import pandas as pd

        return pd.DataFrame([row.as_dict() for row in self.rows])


@dataclass(frozen=True)
class AnswerTable(RowsOfAnswer):
    """The noisy whole numbers that answer a question, and what they say.

    ``charge`` says where it was charged. ``left`` is what the account may still spend, in words, where it is known.
    """

    question: PricedQuestion
    numbers: tuple[int, ...]
    charge: Mapping[str, Any] = field(default_factory=dict, compare=False)
    left: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", tuple(self.numbers))
        if len(self.numbers) != numbers_of(self.question) or any(type(one) is not int for one in self.numbers):
            raise UsageError("the numbers of an answer do not fit its question")

    @property
    def cost(self) -> Budget:
        return self.question.cost

    @cached_property
    def rows(self) -> tuple[AnswerRow, ...]:  # type: ignore[override]
        """One for each group, or for each value or share of a distribution in each group."""
        question, mechanism = self.question, self.question.mechanism
        groups = list(product(*(axis.named for axis in question.sought.axes)))
        names = tuple(axis.name for axis in question.sought.axes)
        keys = [dict(zip(names, group, strict=True)) for group in groups]
        if isinstance(mechanism, Noisy):
            return tuple(noisy_rows(question, mechanism, keys, self.numbers))
        if isinstance(mechanism, Selected):
            return tuple(selected_rows(question, mechanism, keys, self.numbers))
        return tuple(tree_rows(question, mechanism, keys, self.numbers))

    def with_left(self, left: str) -> AnswerTable:
        """The same, with what is left."""
        return replace(self, left=left)

    def __repr__(self) -> str:
        head = f"{self.question.title}: cost {self.cost}"
        lines = [f"  {row.said()}" for row in self.rows[:_SHOWN]]
        more = [f"  … and {len(self.rows) - _SHOWN:,} more"] if len(self.rows) > _SHOWN else []
        return "\n".join([head, *lines, *more, *([f"  {self.left}"] if self.left else [])])

    def _repr_html_(self) -> str:
        shown = [row.as_dict() for row in self.rows[:_SHOWN]]
        head = "".join(f"<th>{escape(name)}</th>" for name in shown[0])
        body = "".join("<tr>" + "".join(f"<td>{_cell(one)}</td>" for one in row.values()) + "</tr>" for row in shown)
        more = f"<p>… and {len(self.rows) - _SHOWN:,} more</p>" if len(self.rows) > _SHOWN else ""
        title = f"<p><strong>{escape(self.question.title)}</strong>: cost {escape(str(self.cost))}</p>"
        return f"<div>{title}<table><tr>{head}</tr>{body}</table>{more}<p>{escape(self.left)}</p></div>"


def _cell(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else escape("" if value is None else str(value))


def numbers_of(question: PricedQuestion) -> int:
    """How many whole numbers answer a question: it depends on nothing else."""
    sought, mechanism = question.sought, question.mechanism
    if isinstance(mechanism, Selected):
        return sought.cells * mechanism.selected
    if isinstance(mechanism, Tree):
        return sought.cells * tree_nodes(mechanism.branching, mechanism.levels)
    return sought.cells * len(sought.parts)


class AnswerPack:
    """How a ledger keeps the answer to a question: as one JSON document."""

    at_once = True

    def check(self, asked: PricedQuestion) -> None:
        """Every question that can be asked can be kept: its cells are bounded."""

    def keep(self, asked: PricedQuestion, drawn: Sequence[int]) -> Content:
        # Each number has the same length, so that the size of what is kept says nothing.
        return canonical({"numbers": [format(one, "+041d") for one in drawn]}).encode()

    def kept(self, asked: PricedQuestion, content: Content) -> tuple[int, ...]:
        with reader_of(content) as file:
            return tuple(int(text) for text in json.loads(file.read())["numbers"])

    def write(self, asked: PricedQuestion, drawn: Sequence[int], charge: Mapping[str, Any]) -> tuple[Content, str]:
        answer = AnswerTable(asked, tuple(drawn), charge)
        content = canonical(answer_json(answer)).encode()
        return content, sha256(content).hexdigest()

    def read(self, content: Content) -> AnswerTable:
        with reader_of(content) as file:
            return read_answer(file.read())


class BatchPack:
    """How a ledger keeps the answers to a batch: as one JSON document."""

    at_once = True

    def check(self, asked: Batch) -> None:
        """Every question that can be asked can be kept: its cells are bounded."""

    def keep(self, asked: Batch, drawn: Sequence[Sequence[int]]) -> Content:
        return canonical({"numbers": [[format(one, "+041d") for one in each] for each in drawn]}).encode()

    def kept(self, asked: Batch, content: Content) -> tuple[tuple[int, ...], ...]:
        with reader_of(content) as file:
            return tuple(tuple(int(text) for text in each) for each in json.loads(file.read())["numbers"])

    def write(self, asked: Batch, drawn: Sequence[Sequence[int]], charge: Mapping[str, Any]) -> tuple[Content, str]:
        pairs = zip(asked.questions, drawn, strict=True)
        answers = [answer_json(AnswerTable(question, tuple(numbers), charge)) for question, numbers in pairs]
        content = canonical({"kind": "answers", "answers": answers}).encode()
        return content, sha256(content).hexdigest()

    def read(self, content: Content) -> tuple[AnswerTable, ...]:
        with reader_of(content) as file:
            text = file.read()
        try:
            return tuple(_answer(one) for one in json.loads(text)["answers"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, MargraveError):
            pass
        raise BundleError(_UNREADABLE)


class PartitionPack:
    """How a ledger keeps that a partition was paid for: what it was, and no number."""

    at_once = True

    def check(self, asked: PricedPartition) -> None:
        """Every partition that can be made can be kept: its parts are bounded."""

    def keep(self, asked: PricedPartition, drawn: Sequence[int]) -> Content:
        return b"{}"

    def kept(self, asked: PricedPartition, content: Content) -> tuple[int, ...]:
        return ()

    def write(self, asked: PricedPartition, drawn: Sequence[int], charge: Mapping[str, Any]) -> tuple[Content, str]:
        told = {"kind": "partition", "data": asked.data.public_dict(), **asked.to_json(), "charge": dict(charge)}
        content = canonical(told).encode()
        return content, sha256(content).hexdigest()

    def read(self, content: Content) -> PricedPartition:
        with reader_of(content) as file:
            text = file.read()
        try:
            value = json.loads(text)
            return read_partition(value, DataSpec.load(value["data"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, MargraveError):
            pass
        raise BundleError(_UNREADABLE)


def answer_json(answer: AnswerTable) -> dict[str, Any]:
    """An answer as JSON, exact."""
    return {
        "kind": "answer",
        "question": answer.question.asked_json(),
        "numbers": [str(one) for one in answer.numbers],
        "charge": dict(answer.charge),
    }


def read_answer(content: bytes) -> AnswerTable:
    """The answer that `answer_json` wrote."""
    try:
        return _answer(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, MargraveError):
        pass
    raise BundleError(_UNREADABLE)


def answers_in(content: Content) -> tuple[AnswerTable, ...]:
    """The answers to questions in what a ledger has stored; none where it is something else."""
    with reader_of(content) as file:
        head = file.read(1)
    if head != b"{":
        return ()
    with reader_of(content) as file:
        kind = json.loads(file.read()).get("kind")
    if kind == "partition":
        return ()
    return BatchPack().read(content) if kind == "answers" else (AnswerPack().read(content),)


def _answer(value: Mapping[str, Any]) -> AnswerTable:
    numbers = tuple(int(text) for text in value["numbers"])
    return AnswerTable(read_question(value["question"]), numbers, value["charge"])
