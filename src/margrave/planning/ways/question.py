"""A data set for questions: the section [tables]."""

from __future__ import annotations

from typing import NoReturn

from margrave.errors import UsageError
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.ways.registry import SpecWay


def _no_plan(spec: DataSpec) -> NoReturn:
    raise UsageError(
        "this spec declares a data set for questions: open it with 'margrave data open', then ask with 'margrave ask'"
    )


WAY = SpecWay(DataSpec, DataSpec.load, _no_plan, lambda spec: spec.notion, _no_plan)
