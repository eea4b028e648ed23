"""How each way of asking publishes what was measured, and how a ledger keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from margrave.errors import UsageError

if TYPE_CHECKING:
    from margrave.publish.charging import Pack


@dataclass(frozen=True)
class BundleWay:
    """A way of asking whose answers are published.

    ``name`` is that of `Asked.way`. ``outcome`` makes, of a plan and what was measured, the value that is published,
    such as a `Release`. ``pack`` writes it for a ledger to keep.
    """

    name: str
    outcome: Callable[[Any, Any], Any]
    pack: Pack[Any, Any, Any]


_WAYS: dict[str, BundleWay] = {}


def register(way: BundleWay) -> None:
    """Have bundles of this way recognised."""
    _WAYS[way.name] = way


def bundle_way(name: str) -> BundleWay:
    """The way of asking of that name."""
    if name not in _WAYS:
        raise UsageError(f"answers to {name!r} are not published: those to {', '.join(sorted(_WAYS))} are")
    return _WAYS[name]
