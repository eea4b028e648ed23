"""Tables that were asked for as a question: what is published of them is an ordinary release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from margrave.crossing import Answer, Measured
from margrave.errors import UsageError
from margrave.files.content import Content
from margrave.planning.questions.several.tables import TablesQuestion
from margrave.publish.charging import Pack
from margrave.publish.release import Release
from margrave.publish.ways.registry import bundle_way


def measured_tables(question: TablesQuestion, numbers: Sequence[int]) -> Measured:
    """The noisy numbers of a question, each where its measurement has it."""
    if len(numbers) != question.numbers:
        raise UsageError("the numbers of an answer do not fit its question")
    plan, at, answers = question.plan, 0, []
    for one in plan.measurements:
        outputs = one.query.outputs(plan.domain)
        part = np.array(numbers[at : at + outputs], dtype=np.int64)
        answers.append(Answer(one, part.reshape(one.query.shape(plan.domain))))
        at += outputs
    return Measured(tuple(answers), {}, True)


class AskedTablesPack:
    """How a ledger keeps tables that were asked for: as it keeps a release of the same plan."""

    at_once = False
    _pack: Pack[Any, Measured, Release] = bundle_way("release").pack

    def check(self, asked: TablesQuestion) -> None:
        self._pack.check(asked.plan)

    def keep(self, asked: TablesQuestion, drawn: Measured) -> Content:
        return self._pack.keep(asked.plan, drawn)

    def kept(self, asked: TablesQuestion, content: Content) -> Measured:
        return self._pack.kept(asked.plan, content)

    def write(self, asked: TablesQuestion, drawn: Measured, charge: Mapping[str, Any]) -> tuple[Content, str]:
        return self._pack.write(asked.plan, drawn, charge)

    def read(self, content: Content) -> Release:
        return self._pack.read(content)
