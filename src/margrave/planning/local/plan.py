"""The plan of a local collection: what each respondent reports, what protects her, what the reports will tell."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar

from margrave.algebra.domain import Margin
from margrave.algebra.lattice import downward_closure
from margrave.budget.units import PureDP
from margrave.errors import RefusedError, UsageError
from margrave.ledger.values import Notion
from margrave.planning.asked import Sheet
from margrave.planning.describe import asked_html, asked_text
from margrave.planning.local.forecast import LocalForecast, Precisions, Weighing, forecast, largest, useful_size
from margrave.planning.local.mechanism import Mechanism
from margrave.planning.local.odds import Odds
from margrave.planning.local.planner import make_questions
from margrave.planning.local.question import MECHANISMS, WEIGHTS, LocalQuestion, candidates
from margrave.planning.local.shuffle import Shuffled, shuffled
from margrave.planning.local.spec import LocalSpec
from margrave.planning.local.words import guarantee_words, plan_json, sheets
from margrave.planning.promise.exposure import Exposure, reports_exposed
from margrave.spec.workload import Wanted

_MUCH = 5
_DIGITS = 16
"""Hexadecimal digits of a plan's hash in every report."""


@dataclass(frozen=True)
class LocalPlan:
    """What is asked of every respondent: one of the ``questions``, drawn on her device by their weights."""

    way: ClassVar[str] = "local"
    exact: ClassVar[tuple[tuple[str, ...], ...]] = ()
    disclosed: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    notion: ClassVar[Notion] = Notion(neighbours="replace")

    spec: LocalSpec
    questions: tuple[LocalQuestion, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(self.questions))
        if sum(one.weight for one in self.questions) != WEIGHTS:
            raise UsageError("the weights of the questions of a local plan must add up to all draws")
        if any(one.mechanism.odds.ratio > self.odds.ratio for one in self.questions):
            raise UsageError("a question of a local plan has coins that protect less than its budget asks for")
        if any(one.mechanism.shape != self.spec.domain.shape(one.margin) for one in self.questions):
            raise UsageError("a question of a local plan does not have the sizes of its attributes")

    @cached_property
    def odds(self) -> Odds:
        """How much more likely any report is under one answer than under another, at most."""
        return Odds.of(self.spec.epsilon)

    @property
    def title(self) -> str:
        return self.spec.title

    @property
    def cost(self) -> PureDP:
        """ε for one respondent, whoever reads her report."""
        return PureDP(self.spec.epsilon)

    @property
    def exposure(self) -> Exposure:
        """What attackers who read reports can reach at most."""
        return reports_exposed(self.cost, self.spec.shuffler is not None)

    @cached_property
    def asked(self) -> Margin:
        """The attributes that a respondent answers, on her device."""
        return self.spec.domain.margin(name for one in self.questions for name in one.margin)

    @cached_property
    def question(self) -> str:
        """The SHA-256 of all that decides how a report is made and read; not of titles."""
        domain = self.spec.domain
        said = {
            "attributes": [[name, list(domain[name].values)] for name in self.asked],
            "odds": [self.odds.numerator, self.odds.denominator],
            "questions": [one.as_dict() for one in self.questions],
        }
        return sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()

    @property
    def hash(self) -> str:
        """What every report of this plan carries."""
        return self.question[:_DIGITS]

    @cached_property
    def memory_key(self) -> str:
        """What a report is remembered by: the questions and their answers in any order, and nothing else."""
        domain = self.spec.domain
        said = sorted([name, *sorted(domain[name].values)] for name in self.asked)
        return sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()[:_DIGITS]

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(one.as_dict() for one in self.questions)

    @cached_property
    def precisions(self) -> Precisions:
        return Precisions(self.questions)

    @cached_property
    def largest(self) -> dict[Margin, float]:
        """The largest variance of any cell of each wanted table for one respondent, whatever the answers are."""
        shares = [one.weight / WEIGHTS for one in self.questions]
        return largest(Weighing(self.spec.encoding, self.questions, shares), self.spec.told)

    @cached_property
    def forecast(self) -> tuple[LocalForecast, ...]:
        """What to expect of each wanted table if as many answer as are expected."""
        return self.forecast_for(self.spec.expected_size)

    def forecast_for(self, size: int) -> tuple[LocalForecast, ...]:
        """What to expect of each wanted table from so many respondents."""
        return tuple(forecast(self.spec.encoding, self.precisions, self.largest, size))

    def useful(self, margin: Margin) -> int:
        """How many must answer before a table tells anything."""
        return useful_size(self.spec.encoding, margin, self.precisions)

    def shuffled(self, reports: int) -> Shuffled | None:
        """The guarantee of so many reports together, where a shuffler is trusted; None without one."""
        shuffler = self.spec.shuffler
        return None if shuffler is None else shuffled(self.odds, reports, shuffler.delta)

    @cached_property
    def given_up(self) -> dict[Margin, list[tuple[Mechanism, bool]]]:
        """For each residual every mechanism that could tell about it, the best first, and whether it is used."""
        used = {(one.margin, one.mechanism.name) for one in self.questions}
        found = {}
        for margin in downward_closure(one.margin for one in self.spec.workload)[1:]:
            shape = self.spec.domain.shape(margin)
            both = [*candidates(shape, self.odds, whole=True)]
            both += candidates(shape, self.odds, whole=False) if len(shape) > 1 else []
            both.sort(key=lambda one: one.spread(tuple(range(len(one.shape)))))
            found[margin] = [(one, (margin, one.name) in used) for one in both]
        return found

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Which tables will tell nothing, and how many would have to answer."""
        size = self.spec.expected_size
        needed: Counter[int] = Counter()
        least: dict[int, int] = {}
        for margin in self.spec.told:
            if (enough := self.useful(margin)) > size:
                width = len(margin)
                needed[width] += 1
                least[width] = max(least.get(width, 0), enough)
        found = [
            f"{_tables(count, width)} will be mostly noise with {size:,} respondents: about {rounded(least[width]):,} "
            "are needed"
            for width, count in sorted(needed.items())
        ]
        if self.spec.epsilon > _MUCH:
            found.append(f"ε = {float(self.spec.epsilon):g} is above {_MUCH}: a report hides very little")
        return tuple(found)

    def words(self) -> tuple[str, ...]:
        return guarantee_words(self)

    def sheets(self, most: int | None = None) -> tuple[Sheet, ...]:
        return sheets(self, most)

    def to_json(self) -> dict[str, Any]:
        """The plan for scripts."""
        return plan_json(self)

    def __repr__(self) -> str:
        return asked_text(self)

    def _repr_html_(self) -> str:
        return asked_html(self)


def make_local_plan(spec: LocalSpec) -> LocalPlan:
    """The best plan for a spec; refused where no table could tell anything with the respondents expected."""
    plan = LocalPlan(spec, make_questions(spec.domain, spec.workload, Odds.of(spec.epsilon)))
    needs = [plan.useful(margin) for margin in spec.told]
    if needs and min(needs) > spec.expected_size:
        raise RefusedError(_hopeless(plan, max(needs)))
    return plan


def plan_of(spec: LocalSpec, questions: list[dict[str, Any]]) -> LocalPlan:
    """The plan with these questions, as `LocalQuestion.as_dict` wrote them."""
    odds = Odds.of(spec.epsilon)
    found = []
    for said in questions:
        margin = spec.domain.margin(said["margin"])
        mechanism = MECHANISMS[said["mechanism"]](spec.domain.shape(margin), odds)
        found.append(LocalQuestion(margin, mechanism, int(said["weight"])))
    return LocalPlan(spec, tuple(found))


def _hopeless(plan: LocalPlan, needed: int) -> str:
    """What would have to be otherwise for a collection to be of use."""
    spec = plan.spec
    text = (
        f"no table of this collection would tell anything with {spec.expected_size:,} respondents: "
        f"{_tables(len(spec.told), max(map(len, spec.told)), 'of up to')} together need "
        f"about {rounded(needed):,}"
    )
    single = tuple({(name,): None for margin in spec.told for name in spec.encoding.margin(margin)})
    if max(map(len, spec.told)) > 1:
        alone = replace(spec.base, tables=tuple(map(Wanted, single)), all_ways=0)
        fewer = replace(spec, base=alone)
        smaller = LocalPlan(fewer, make_questions(spec.domain, fewer.workload, Odds.of(spec.epsilon)))
        most = max(smaller.useful(margin) for margin in single)
        text += f"; the {len(single)} one-way tables need about {rounded(most):,}"
    return f"{text}. Ask for fewer or smaller tables, a larger ε, or somebody whom respondents trust with their answers"


def _tables(count: int, width: int, having: str = "of") -> str:
    noun = "the table" if count == 1 else f"the {count} tables"
    return f"{noun} {having} {width} attribute{'s' * (width != 1)}"


def rounded(number: int) -> int:
    """Two significant digits."""
    return int(float(f"{number:.2g}"))
