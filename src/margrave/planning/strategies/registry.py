"""The strategies by name. Each is a small file that registers itself when it is imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from margrave.errors import UsageError, suggest
from margrave.planning.strategies.demand import Demand, Shares

Sharing = Callable[[Demand], Shares]
"""Which queries to ask for a demand, and how to share the budget among them."""


@dataclass(frozen=True)
class NamedStrategy:
    """A strategy under the ``name`` that a spec gives it.

    ``wide``: the same without listing margins, for tables that have too many; None where it cannot. ``binary``: it asks
    about binary attributes only, so that others are encoded. ``looks``: these queries get a part of the budget, and the
    rest goes to rounds that choose further ones by looking at the data.
    """

    name: str
    share: Sharing
    wide: Sharing | None = None
    binary: bool = False
    looks: bool = False


_REGISTERED: dict[str, NamedStrategy] = {}


def register(strategy: NamedStrategy) -> None:
    """Make a strategy known by its name."""
    if strategy.name in _REGISTERED:
        raise UsageError(f"there is a strategy {strategy.name!r} already")
    _REGISTERED[strategy.name] = strategy


def strategy_named(name: str) -> NamedStrategy:
    """The strategy of a name."""
    if name not in _REGISTERED:
        raise UsageError(f"unknown strategy {name!r}{suggest(name, _REGISTERED)}; there are {', '.join(_REGISTERED)}")
    return _REGISTERED[name]


def registered() -> tuple[str, ...]:
    """The names of all strategies."""
    return tuple(_REGISTERED)
