"""What a question would cost and be worth, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from margrave.budget.units import Budget
from margrave.ledger.allowance import Allowance
from margrave.planning.questions.every import Question
from margrave.planning.questions.expectation import Expectation


@dataclass(frozen=True)
class Explanation:
    """Cost, mechanism, sensitivity and its reason, expected error, what would be left, and how long it may take.

    ``rows``: how many rows each group is taken to have, where the error depends on it.
    """

    question: Question
    allowances: tuple[Allowance, ...] = ()
    rows: int | None = None

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
        return tuple(
            one.after(self.cost).said() if one.admits(self.cost) else f"{one.said()}: not enough"
            for one in self.allowances
        )

    def _lines(self) -> list[tuple[str, str]]:
        lines = [
            ("cost", str(self.cost)),
            ("mechanism", self.mechanism),
            ("one unit moves it by", f"at most {self.sensitivity:,}: {self.reason}"),
        ]
        for one in self.forecast:
            error = f"standard error {one.error_said}, " if one.error_said else ""
            at = f"; {one.half_width / self.rows:,.4g} for n = {self.rows:,}" if one.per_row and self.rows else ""
            lines.append((one.what, f"{error}95 % within {one.interval_said}{at}"))
        lines += [("left afterwards", text) for text in self.left]
        return [*lines, ("answered after", f"{self.seconds:g} s")]

    def __repr__(self) -> str:
        lines = self._lines()
        width = max(len(name) for name, _ in lines)
        return "\n".join([self.question.title, *(f"  {name:<{width}}  {text}" for name, text in lines)])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self._lines())
        return f"<div><p><strong>{escape(self.question.title)}</strong></p><table>{rows}</table></div>"

    def to_json(self) -> dict[str, Any]:
        return {**self.question.to_json(), "left": list(self.left), "affordable": self.affordable}
