"""The best that can be done against a rule that accepts requests one by one: a dynamic programme.

A request that costs ε is a randomised response: whoever is in the data makes the answer "yes" e^ε times as likely. One
with a δ of its own first gives everything away with probability δ. After each answer the adversary knows the loss so
far (the logarithm of how much likelier the answers are with the person in the data) and picks the next request from a
menu, as long as the rule accepts it. She is after the largest δ for which the whole is not (ε, δ')-private for any
smaller δ': the expectation, with the person in the data, of (1 − e^(ε − loss))⁺ at the end.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

UNIT = 100
"""Every ε is a whole number of hundredths, so that losses lie on a grid."""

_ROUNDING = 2.0**-46
"""More than the relative error of one step in double precision, which only adds and multiplies what is not negative."""


@dataclass(frozen=True)
class Question:
    """A request on the menu: its ε in hundredths, and its δ."""

    epsilon: int
    delta: float = 0.0


Counts = tuple[int, ...]
"""How often each question of the menu was asked."""


def largest_delta(menu: Sequence[Question], accepts: Callable[[Counts], bool], epsilon: int) -> tuple[float, float]:
    """Bounds from below and above for the δ that the best strategy reaches at an ε, in hundredths."""
    accepted = _closure(len(menu), accepts)
    longest = max(_sum(menu, one) for one in accepted) + max(one.epsilon for one in menu)
    losses = np.arange(-longest, longest + 1) / UNIT
    stop = np.maximum(0.0, -np.expm1(epsilon / UNIT - losses))
    value: dict[Counts, np.ndarray] = {}
    for counts in sorted(accepted, key=sum, reverse=True):
        best = stop
        for index, question in enumerate(menu):
            after = value.get(_one_more(counts, index))
            if after is not None:
                best = np.maximum(best, _asked(question, after))
        value[counts] = best
    found = float(value[(0,) * len(menu)][longest])
    steps = 1 + max(map(sum, accepted))
    return found * (1 - _ROUNDING) ** steps, found * (1 + _ROUNDING) ** steps


def _asked(question: Question, after: np.ndarray) -> np.ndarray:
    """What a question is worth at each loss, if what follows is worth ``after``. Beyond the grid nothing is needed."""
    more = 1 / (1 + np.exp(-question.epsilon / UNIT))
    up = np.concatenate((after[question.epsilon :], np.ones(question.epsilon)))
    down = np.concatenate((np.zeros(question.epsilon), after[: -question.epsilon]))
    return question.delta + (1 - question.delta) * (more * up + (1 - more) * down)


def _one_more(counts: Counts, index: int) -> Counts:
    return (*counts[:index], counts[index] + 1, *counts[index + 1 :])


def _sum(menu: Sequence[Question], counts: Counts) -> int:
    return sum(times * one.epsilon for times, one in zip(counts, menu, strict=True))


def _closure(size: int, accepts: Callable[[Counts], bool]) -> set[Counts]:
    """All that can be asked, each request having been accepted; fewer requests first."""
    start = (0,) * size
    found, fresh = {start}, deque([start])
    while fresh:
        counts = fresh.popleft()
        for index in range(size):
            after = _one_more(counts, index)
            if after not in found and accepts(after):
                found.add(after)
                fresh.append(after)
    return found
