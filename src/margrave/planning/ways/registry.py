"""Which way of asking a spec declares, and how it is read and planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from margrave.errors import UsageError
from margrave.ledger.values import Notion
from margrave.planning.asked import Asked
from margrave.planning.promise.exposure import Exposure
from margrave.spec.document import parse_text, spec_text

Source = str | Path | Mapping[str, object]
"""A spec as it is given: a file, TOML text of more than one line, or a mapping in the shape of the TOML file."""


@dataclass(frozen=True)
class Remarks:
    """What is said of a plan beside what it says itself: in sentences, and for scripts."""

    words: tuple[str, ...] = ()
    json: Mapping[str, Any] | None = None


def no_remarks(asked: Any) -> Remarks:
    return Remarks()


def no_formulas(asked: Any) -> tuple[str, ...]:
    return ()


def no_plans_for(spec: Any, wanted: Any) -> Any:
    raise UsageError("only tables are planned for a wanted error, or for several budgets: set the budget in the spec")


def budget_reached(plan: Any) -> str:
    lines = ", ".join(f"{name} = {text}" for name, text in plan.spec.budget.as_dict().items())
    strategy = "" if plan.spec.strategy == "auto" else f', and into [release]: strategy = "{plan.spec.strategy}"'
    return f"Write this budget into [privacy] to release by it: {lines}{strategy}"


@dataclass(frozen=True)
class SpecWay:
    """A way of asking that specs declare.

    ``spec``: the class of its specs, whose attribute ``way`` is the name of the way. ``load`` reads one, ``plan`` plans
    it, ``notion`` says whom releases by it protect, and refuses a spec by which that is not clear. ``remarks`` on a
    plan may take a while, such as what it would be without public facts. ``formulas`` of a plan are published texts
    that a spreadsheet would compute. ``plan_for`` plans for a wanted error, ``reached`` says what it takes, ``sweep``
    plans for several budgets. ``exposure``: what attackers can reach at most.
    ``unkept``: what happens where nobody keeps the answer.
    """

    spec: type[Any]
    load: Callable[[Source], Any]
    plan: Callable[[Any], Asked]
    notion: Callable[[Any], Notion]
    exposure: Callable[[Any], Exposure]
    remarks: Callable[[Any], Remarks] = no_remarks
    formulas: Callable[[Any], tuple[str, ...]] = no_formulas
    plan_for: Callable[[Any, Any], Any] = no_plans_for
    reached: Callable[[Any], str] = budget_reached
    sweep: Callable[[Any, Any], Any] = no_plans_for
    unkept: str = "the budget would be spent and nothing kept"


@dataclass(frozen=True)
class _Home:
    """Where a way stands: the section of a spec file that declares it, and what imports it."""

    section: str
    way: Callable[[], SpecWay]


_WAYS: dict[str, _Home] = {}


def register(name: str, section: str, way: Callable[[], SpecWay]) -> None:
    """Have specs of a way recognised: by its ``name``, that of `Asked.way`, and by the ``section`` no other way has.

    The section of tables is empty: a spec declares them that has none of the others.
    """
    _WAYS[name] = _Home(section, way)


def spec_way(name: str) -> SpecWay:
    """The way of asking of that name."""
    if name not in _WAYS:
        raise UsageError(f"there is no way of asking called {name!r}: there are {', '.join(sorted(_WAYS))}")
    return _WAYS[name].way()


def load_spec(source: Source) -> Any:
    """The spec in a file, in TOML text or in a mapping, whichever way of asking it declares."""
    document = _document(source)
    found = next((home for home in _WAYS.values() if home.section in document), _WAYS["release"])
    return found.way().load(source)


def planned(what: Any) -> Any:
    """The plan of a spec, whichever way of asking it declares; a plan stays what it is."""
    if isinstance(what, str | Path | Mapping):
        what = load_spec(what)
    way = spec_way(what.way)
    return way.plan(what) if isinstance(what, way.spec) else what


def _document(source: Source) -> Mapping[str, object]:
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str) and "\n" in source:
        return parse_text(source, "spec")
    return parse_text(spec_text(Path(source)), str(source))
