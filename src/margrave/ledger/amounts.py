"""Budgets and limits in the journal: as JSON, and read from it. Equal ones are read once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from margrave.budget.units import Budget, budget_from_dict
from margrave.ledger.rules.limits import limit_from_dict


def budget_json(budget: Budget | None) -> dict[str, str] | None:
    """A budget as JSON, its numbers in the order of their names."""
    return None if budget is None else dict(sorted(budget.as_dict().items()))


def budget_text(budget: Budget | None) -> str:
    """A budget as the canonical text of its JSON."""
    return "null" if budget is None else budget.json_text


def read_budget(value: Mapping[str, str]) -> Budget:
    return _read_budget(tuple(value.items()))


@lru_cache(maxsize=1024)
def _read_budget(pairs: tuple[tuple[str, str], ...]) -> Budget:
    return budget_from_dict(dict(pairs))


def read_limit(value: Mapping[str, str]) -> Budget:
    return _read_limit(tuple(value.items()))


@lru_cache(maxsize=1024)
def _read_limit(pairs: tuple[tuple[str, str], ...]) -> Budget:
    return limit_from_dict(dict(pairs))


def limit_or_none(value: Mapping[str, str] | None) -> Budget | None:
    return None if value is None else read_limit(value)


def budget_or_none(value: Mapping[str, str] | None) -> Budget | None:
    return None if value is None else read_budget(value)
