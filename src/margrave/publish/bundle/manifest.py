"""What `release.json` says: plans, measurements and guarantees as JSON, exact in both directions.

Numbers that carry privacy are written as texts, which no reader of JSON can round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from margrave.algebra.encoding import ENCODINGS
from margrave.budget.events import Protection
from margrave.errors import BundleError, MargraveError, SpecError
from margrave.files.untrusted import MOST_BYTES, MOST_RECORDS, MOST_SPARE
from margrave.planning.defaults import LEVEL
from margrave.planning.describe import STRATEGIES
from margrave.planning.plan import Plan
from margrave.planning.written import measurement_from_json, plan_json
from margrave.publish.bundle.account import FORMAT, LARGE, Checksum, of_kind, read_checksum, read_ledger, unsealed
from margrave.publish.bundle.forms import Forms
from margrave.publish.bundle.parts.layout import MOST_ROWS, Layout
from margrave.publish.bundle.words import MANIFEST, NOT_PRIVATE, composition
from margrave.spec.spec import Spec

MOST_READ = 1 << 28


@dataclass(frozen=True)
class Manifest:
    """What `release.json` says, checked and turned into values.

    ``stated`` is its guarantee as it stands there, ``forms`` the forms of words, report and error bars, ``layout`` how
    the numbers of a large release are spread over files, ``level`` that of all intervals.
    """

    plan: Plan
    private: bool
    created: str | None
    software: str
    files: Mapping[str, Checksum]
    stated: Mapping[str, Any]
    forms: Forms
    ledger: Mapping[str, Any] | None = None
    published: Mapping[str, Any] | None = None
    layout: Layout | None = None
    level: float = LEVEL

    @cached_property
    def longest_file(self) -> int:
        """The most bytes that a file of numbers can have: all numbers, each beside the values of all attributes."""
        plan = self.plan
        rows = _numbers(plan) + (0 if self.published is None else self.published["rows"])
        texts = (text for one in plan.spec.domain for text in (one.name, *one.values))
        width = 32 + 2 * max(len(text.encode()) for text in texts)
        return min(MOST_SPARE + rows * (len(plan.spec.domain) + 8) * width, MOST_BYTES)


@dataclass(frozen=True)
class Writing:
    """What `release.json` says of how a bundle was written, and when, rather than of the release in it."""

    software: str
    forms: Forms
    created: str | None
    files: Mapping[str, Checksum]
    layout: Layout | None


def manifest_json(
    plan: Plan,
    private: bool,
    writing: Writing,
    tables: Sequence[Mapping[str, Any]],
    ledger: Mapping[str, Any] | None = None,
    published: Mapping[str, Any] | None = None,
    level: float = LEVEL,
) -> dict[str, Any]:
    """What `release.json` says. That of a large release, which has a layout, does not list its tables."""
    created, layout = writing.created, writing.layout
    number = 1 if layout is None else LARGE
    found: dict[str, Any] = {"format": FORMAT, "version": number, "software": writing.software}
    found["forms"] = writing.forms.as_dict()
    if plan.spec.title:
        found["title"] = plan.spec.title
    found["private"] = private
    if not private:
        found["warning"] = NOT_PRIVATE
    if created is not None:
        found["created"] = created
    if ledger is not None:
        found["ledger"] = dict(ledger)
    found |= {
        "guarantee": guarantee_json(plan),
        "composition": composition(ledger),
        "spec": plan.spec.public_dict(),
        "plan": plan_json(plan),
        "events": list(plan.events),
        **({"disclosed": list(plan.disclosed)} if plan.disclosed else {}),
        "level": level,
        "published": None if published is None else dict(published),
        **({"tables": list(tables)} if layout is None else {"parts": layout.as_dict()}),
        "files": {name: {"bytes": one.length, "sha256": one.sha256} for name, one in writing.files.items()},
    }
    return found


def read_manifest(content: bytes) -> Manifest:
    """The inverse of `manifest_json` and `sealed`. Unknown formats and versions are refused, and so is any change."""
    found = unsealed(content)
    if found["version"] > LARGE:
        raise BundleError(f"{MANIFEST} is not that of a release of tables: it is of another way of asking")
    try:
        spec = Spec.from_dict(found["spec"])
        created = found.get("created")
        plan = plan_from_json(spec, found["plan"], found["events"], large=found["version"] != 1)
        return Manifest(
            plan=plan,
            private=of_kind(found["private"], bool),
            created=None if created is None else of_kind(created, str),
            software=of_kind(found["software"], str),
            files={name: read_checksum(one) for name, one in found["files"].items()},
            stated=of_kind(found["guarantee"], dict),
            forms=Forms(**of_kind(found.get("forms", {}), dict)),
            ledger=read_ledger(found.get("ledger")),
            published=_published(found["published"]),
            layout=None if found["version"] == 1 else Layout.stated(plan, found["parts"]),
            level=_level(found.get("level", LEVEL)),
        )
    except BundleError:
        raise
    except SpecError as error:
        raise BundleError(f"{MANIFEST} contradicts itself: {error.problems[0]}") from None
    except MargraveError as error:
        raise BundleError(f"{MANIFEST} contradicts itself: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise BundleError(f"{MANIFEST} is incomplete or was changed: it cannot be read") from None


def _published(value: Any) -> Mapping[str, Any] | None:
    """How the published table was made, of which only the number of its rows is looked at here."""
    if value is not None and not 0 <= of_kind(of_kind(value, dict)["rows"], int) <= MOST_RECORDS:
        raise BundleError(f"{MANIFEST} announces {value['rows']} rows of microdata: up to {MOST_RECORDS} can be read")
    found: Mapping[str, Any] | None = value
    return found


def _level(value: Any) -> float:
    if not 0 < of_kind(value, float) < 1:
        raise ValueError
    return float(value)


def guarantee_json(plan: Plan) -> dict[str, Any]:
    """What a release by this plan guarantees, in numbers and in words. All of it follows from the events."""
    guarantee, counted = plan.promise, plan.protection.counted
    return {
        "cost": plan.cost.as_dict(),
        "guarantee": plan.guarantee.as_dict(),
        "groups": {str(size): budget.as_dict() for size, budget in guarantee.groups.items()},
        "neighbours": plan.protection.neighbours,
        "unit": {"records": plan.protection.records, "words": guarantee.unit, **({"counted": True} if counted else {})},
        "words": list(guarantee.words()),
    }


def plan_from_json(
    spec: Spec, value: Mapping[str, Any], events: Sequence[Mapping[str, Any]], *, large: bool = True
) -> Plan:
    """The inverse of `plan_json`, checked against its spec; ``large`` if it may be that of a large release."""
    encoding = ENCODINGS[value["encoding"]](spec.domain)
    protection = value["protection"]
    if value["strategy"] not in STRATEGIES:
        raise KeyError
    plan = Plan(
        spec=spec,
        strategy=value["strategy"],
        measurements=tuple(map(measurement_from_json, of_kind(events, list))),
        protection=Protection(
            protection["neighbours"],
            tuple(of_kind(name, str) for name in of_kind(protection["sensitive"], list)),
            of_kind(protection["records_per_unit"], int),
            of_kind(protection.get("counted", False), bool),
        ),
        exact=tuple(tuple(of_kind(name, str) for name in of_kind(margin, list)) for margin in value["exact"]),
        encoding=encoding,
    )
    _check_plan(plan, large)
    return plan


def _numbers(plan: Plan) -> int:
    """All measured numbers, and the cells of all tables, exact and wanted."""
    measured = sum(one.query.outputs(plan.domain) for one in plan.measurements)
    return measured + sum(map(plan.domain.cells, plan.exact)) + sum(map(plan.spec.domain.cells, plan.spec.margins))


def _check_plan(plan: Plan, large: bool) -> None:
    if not plan.measurements:
        raise BundleError("the release has no measurements")
    named = plan.encoding.attributes(plan.spec.domain.names)
    for margin in (*plan.counted, plan.protection.sensitive):
        if margin != tuple(name for name in named if name in margin):
            raise BundleError(f"the attributes {', '.join(margin)} are not in the order of the spec")
    sizes = [plan.domain.cells(margin) for margin in plan.counted]
    sizes += [plan.domain.cells(plan.measured_margin(margin)) for margin in plan.spec.margins]
    if max(sizes) > MOST_READ:
        raise BundleError("the release has a table that is too large to be read")
    if not large and _numbers(plan) > 4 * MOST_ROWS:
        raise BundleError("the release is too large for version 1 of the format")
    if len({type(one.noise) for one in plan.measurements}) > 1:
        raise BundleError("the release mixes two kinds of noise, which none does")
    for one in plan.measurements:
        one.query.shape(plan.domain)
