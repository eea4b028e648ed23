"""Whatever is asked of confidential data, in whichever way: all that is known of it before any data is opened.

A plan of tables is asked, a plan of a graph is, a single question is. The ledger, the guarantee in words, and the
commands that plan, release, show and verify work on this, and never ask which kind it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from margrave.budget.units import Budget
from margrave.ledger.values import DataSetName, Notion, Request


@dataclass(frozen=True)
class Sheet:
    """A table of texts for people, under its title."""

    title: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class Asked(Protocol):
    """What is asked. Numbers that carry privacy are exact, and texts wherever they stand in JSON.

    ``way``: the way of asking, by its short name, such as ``release`` or ``graph``. ``cost``: the exact cost for one
    unit. ``notion``: whom it protects, and given what. ``events``: every mechanism that will run. ``exact``: tables
    that are published without noise, since they are the same in all neighbours. ``disclosed``: public facts that are
    published exactly and without protection. ``question``: the SHA-256 of all that determines the distribution and the
    form of the answers; asked again, it is the same. ``forecast``: what to expect of each answer. ``warnings``: what a
    person should know before agreeing to it.
    """

    @property
    def way(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def cost(self) -> Budget: ...

    @property
    def notion(self) -> Notion: ...

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]: ...

    @property
    def exact(self) -> tuple[tuple[str, ...], ...]: ...

    @property
    def disclosed(self) -> tuple[Mapping[str, Any], ...]: ...

    @property
    def question(self) -> str: ...

    @property
    def forecast(self) -> Sequence[object]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...

    def words(self) -> tuple[str, ...]:
        """The guarantee, in sentences for people."""

    def sheets(self, most: int | None = None) -> tuple[Sheet, ...]:
        """What is measured and what to expect of it, in tables of at most ``most`` rows."""

    def to_json(self) -> dict[str, Any]:
        """All of this for scripts."""


class NothingExact:
    """What is asked where every answer has noise and no fact is public."""

    exact: ClassVar[tuple[tuple[str, ...], ...]] = ()
    disclosed: ClassVar[tuple[Mapping[str, Any], ...]] = ()


def request_of(asked: Asked, dataset: DataSetName, account: str, request: str | None = None) -> Request:
    """What is asked of a data set, as a ledger is told. It is the same whenever the answers could be the same."""
    return Request(
        dataset=dataset,
        account=account,
        question=asked.question,
        cost=asked.cost,
        notion=asked.notion,
        id=request,
        title=asked.title,
        mechanisms=asked.events,
        exact=asked.exact,
        disclosed=asked.disclosed,
    )
