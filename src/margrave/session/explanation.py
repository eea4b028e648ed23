"""What a question would cost and be worth, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from margrave.budget.units import Budget
from margrave.ledger.statements.allowance import Allowance
from margrave.planning.questions.every import Question
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.price.expectation import Expectation
from margrave.planning.questions.several.batch import Batch


@dataclass(frozen=True)
class Explanation:
    """Cost, mechanism, sensitivity and its reason, expected error, what would be left, and how long it may take.

    ``rows``: how many rows each group is taken to have, where the error depends on it. ``instead``: the same question
    at a budget of another kind, which is as near.
    """

    question: Question
    allowances: tuple[Allowance, ...] = ()
    rows: int | None = None
    instead: Question | None = None

    @property
    def cost(self) -> Budget:
        return self.question.cost

    @property
    def mechanism(self) -> str:
        return self.question.mechanism_said

    @property
    def sensitivity(self) -> int:
        """How far one unit can move what is summed, in all, in steps of the engine."""
        return self.question.moves

    @property
    def reason(self) -> str:
        return self.question.reason

    @property
    def forecast(self) -> tuple[Expectation, ...]:
        return self.question.forecast

    @property
    def seconds(self) -> float:
        """The time class: when the answer comes, however soon it is there."""
        return self.question.work.seconds

    @property
    def affordable(self) -> bool:
        """Whether every limit would admit it."""
        return all(one.admits(self.cost) for one in self.allowances)

    @property
    def left(self) -> tuple[str, ...]:
        """What would be left of each limit."""
        return left_after(self.allowances, self.cost)

    def lines(self) -> list[tuple[str, str]]:
        """All of it in words, each with what it is about."""
        lines = [
            ("cost", str(self.cost)),
            ("mechanism", self.mechanism),
            ("one unit moves it by", f"at most {self.sensitivity:,}: {self.reason}"),
        ]
        lines += [(one.what, _expected(one, self.rows)) for one in self.forecast]
        lines += [("left afterwards", text) for text in self.left]
        if self.instead is not None:
            lines.append(("or", f"{self.instead.cost}, {self.instead.mechanism_said}"))
            lines += [("left then", text) for text in left_after(self.allowances, self.instead.cost)]
        lines += [("beware", text) for text in self.question.warnings]
        return [*lines, ("answered after", f"{self.seconds:g} s")]

    def __repr__(self) -> str:
        return said_lines(self.question.title, self.lines())

    def _repr_html_(self) -> str:
        return html_table(self.question.title, self.lines())

    def to_json(self) -> dict[str, Any]:
        told = {**self.question.to_json(), "left": list(self.left), "affordable": self.affordable}
        told |= {"warnings": list(self.question.warnings)}
        return told if self.instead is None else {**told, "instead": self.instead.cost.as_dict()}


@dataclass(frozen=True)
class BatchExplanation:
    """What several questions cost together: which are measured, which follow from those, and what to expect of all."""

    batch: Batch
    allowances: tuple[Allowance, ...] = ()

    @property
    def cost(self) -> Budget:
        return self.batch.cost

    @property
    def affordable(self) -> bool:
        """Whether every limit would admit it."""
        return all(one.admits(self.cost) for one in self.allowances)

    def _lines(self) -> list[tuple[str, str]]:
        batch, data = self.batch, self.batch.questions[0].data
        lines = [("cost", str(self.cost))]
        for node in batch.wanted:
            measured = next((one for one in batch.questions if one.aggregate == node), None)
            sources = ", ".join(f"'{one.title}'" for one in batch.follows_from(node) if one is not measured)
            how = f"follows from {sources}"
            if measured is not None:
                how = f"{measured.cost}, {measured.mechanism_said}{f', sharpened by {sources}' if sources else ''}"
            lines.append((said(node), how))
            lines += [("", _expected(one, None)) for one in batch.sharing.expectation(node, data)]
        lines += [("left afterwards", text) for text in left_after(self.allowances, self.cost)]
        lines += [("beware", text) for text in batch.warnings]
        return [*lines, ("answered after", f"{sum(one.work.seconds for one in batch.questions):g} s")]

    def __repr__(self) -> str:
        return said_lines(_BATCH.format(len(self.batch.wanted), len(self.batch.questions)), self._lines())

    def _repr_html_(self) -> str:
        return html_table(_BATCH.format(len(self.batch.wanted), len(self.batch.questions)), self._lines())

    def to_json(self) -> dict[str, Any]:
        left = list(left_after(self.allowances, self.cost))
        warnings = list(self.batch.warnings)
        return {**self.batch.to_json(), "left": left, "affordable": self.affordable, "warnings": warnings}


_BATCH = "{} questions together, {} of them measured"


def left_after(allowances: tuple[Allowance, ...], cost: Budget) -> tuple[str, ...]:
    """What would be left of each limit."""
    return tuple(one.after(cost).said() if one.admits(cost) else f"{one.said()}: not enough" for one in allowances)


def _expected(one: Expectation, rows: int | None) -> str:
    error = f"standard error {one.error_said}, " if one.error_said else ""
    at = f"; {one.half_width / rows:,.4g} for n = {rows:,}" if one.per_row and rows else ""
    return f"{error}95 % within {one.interval_said}{at}"


def said_lines(title: str, lines: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in lines)
    return "\n".join([title, *(f"  {name:<{width}}  {text}" for name, text in lines)])


def html_table(title: str, lines: list[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in lines)
    return f"<div><p><strong>{escape(title)}</strong></p><table>{rows}</table></div>"
