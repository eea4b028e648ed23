"""A plan as JSON, exact in both directions; whom it protects and what it asks, as a ledger is told.

Numbers that carry privacy are written as texts, which no reader of JSON can round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from margrave.algebra.query import Query
from margrave.budget.events import Disclosure, Measurement, Round, Selection
from margrave.budget.numbers import exact_number, exact_text
from margrave.budget.units import Budget
from margrave.errors import BundleError, MargraveError
from margrave.ledger.journal import canonical
from margrave.ledger.values import Notion
from margrave.noise import NOISES, Noise
from margrave.noise.selection import checked_rate
from margrave.planning.expected import expected_rmse
from margrave.planning.promise.belief import SUSPICIONS

if TYPE_CHECKING:
    from margrave.planning.plan import Plan
    from margrave.planning.promise.guarantee import Guarantee
    from margrave.spec.spec import Spec

EXPONENTIAL, PERMUTED = "exponential", "permute-and-flip"
"""The rules by which tables are selected, as bundles name them."""
_WEIGHT_BITS = 32
"""No plan has weights that need more."""


def notion_of(spec: Spec) -> Notion:
    """Whom a release by this spec protects, given which public facts. Facts stand with the attributes they speak of."""
    public = spec.public_dict()
    attributes, declared = public["attributes"], public["release"]
    assert isinstance(attributes, Mapping) and isinstance(declared, Mapping)
    facts = [
        canonical({"fact": text, "attributes": {name: attributes[name] for name in fact.margin}})
        for fact, text in zip(spec.public, declared.get("public", ()), strict=True)
    ]
    unit = None if spec.data is None or spec.data.unit is None else spec.data.unit.column
    protected = unit, spec.records_per_unit, spec.neighbours, spec.sensitive
    return Notion(*protected, tuple(facts), spec.induced, spec.counted)


def question_of(plan: Plan) -> str:
    """The digest of what a plan asks. Two plans ask the same when their bundles could be the same."""
    # The column says already that rows are counted: so a question has the same name as before plans said so, too.
    uncounted = replace(plan, protection=replace(plan.protection, counted=False))
    asked = {
        "spec": plan.spec.public_dict(),
        "plan": plan_json(uncounted),
        "events": plan.events,
        "count": plan.spec.counted,
    }
    return digest_of(asked)


def digest_of(asked: Mapping[str, Any]) -> str:
    """The digest by which a question is known again."""
    return sha256(canonical(asked).encode()).hexdigest()


def plan_json(plan: Plan) -> dict[str, Any]:
    """What a plan is beside its spec and its measurements."""
    protection = plan.protection
    return {
        "strategy": plan.strategy,
        "encoding": plan.encoding.name,
        "exact": [list(margin) for margin in plan.exact],
        "protection": {
            "neighbours": protection.neighbours,
            "sensitive": list(protection.sensitive),
            "records_per_unit": protection.records,
            **({"counted": True} if protection.counted else {}),
        },
        **looking_json(plan),
    }


def looking_json(plan: Plan) -> dict[str, Any]:
    """What is still to come of looks at the data, and of what is divided after them."""
    rounds = {"rounds": [round_json(one) for one in plan.rounds]} if plan.rounds else {}
    rest = {"rest": {"parts": plan.rest.parts, "part": exact_text(plan.rest.part)}} if plan.rest else {}
    return rounds | rest


def round_json(one: Round) -> dict[str, Any]:
    """One look at the data that is still to come."""
    return {"selected": selection_json(one.selection), "noise": noise_json(one.noise)}


def disclosure_json(disclosure: Disclosure) -> dict[str, Any]:
    """Counts that are published exactly and without protection: which, and where they come from."""
    found: dict[str, Any] = {"margin": list(disclosure.margin)}
    if disclosure.cell is not None:
        found["cell"] = list(disclosure.cell)
    return found | {"exact": True, "protected": False, "source": "spec" if disclosure.given else "data"}


def measurement_json(measurement: Measurement) -> dict[str, Any]:
    """One measurement: its margin, how its attributes are seen, and its noise."""
    query, noise = measurement.query, measurement.noise
    found: dict[str, Any] = {"margin": list(query.margin)}
    if query.contrast:
        found["contrast"] = list(query.contrast)
    if query.residual:
        found["residual"] = list(query.residual)
    selected = {} if measurement.selection is None else {"selected": selection_json(measurement.selection)}
    parts = {"parts": measurement.parts} if measurement.parts else {}
    return found | {"noise": noise_json(noise)} | selected | parts


def selection_json(selection: Selection) -> dict[str, Any]:
    """How a table was selected."""
    rule = PERMUTED if selection.pure else EXPONENTIAL
    return {"rule": rule, "rate": exact_text(selection.rate), "weight": selection.weight}


def _selection_from_json(value: Mapping[str, Any] | None) -> Selection | None:
    if value is None:
        return None
    rule, weight = value["rule"], value["weight"]
    if rule not in (PERMUTED, EXPONENTIAL) or type(weight) is not int or weight.bit_length() > _WEIGHT_BITS:
        raise KeyError
    return Selection(checked_rate(exact_number(value["rate"])), rule == PERMUTED, weight)


def noise_json(noise: Noise) -> dict[str, str]:
    """A kind of noise and its parameters."""
    return {"kind": noise.kind} | {name: exact_text(value) for name, value in noise.parameters.items()}


def measurement_from_json(value: Mapping[str, Any]) -> Measurement:
    """The inverse of `measurement_json`."""
    try:
        parts = (tuple(map(str, value.get(name, ()))) for name in ("margin", "contrast", "residual"))
        selection = _selection_from_json(value.get("selected"))
        given = value.get("parts", 0)
        if type(given) is not int:
            raise KeyError
        return Measurement(Query(*parts), noise_from_json(value["noise"]), selection, given)
    except (KeyError, TypeError, AttributeError, MargraveError):
        pass
    raise BundleError("a measurement in the bundle is not readable: it was changed, or written by a newer Margrave")


def noise_from_json(value: Mapping[str, Any]) -> Noise:
    """The inverse of `noise_json`; a KeyError or a TypeError where there is no such noise."""
    return _noise(**value)


@lru_cache(maxsize=4096)
def _noise(kind: str, **parameters: str) -> Noise:
    return NOISES[kind].of(**{name: exact_number(text) for name, text in parameters.items()})


def account_json(plan: Plan) -> dict[str, Any]:
    """A plan for scripts: what it costs and guarantees, what is measured, and what to expect of it."""
    guarantee = plan.promise
    return {
        "way": plan.way,
        "strategy": plan.strategy,
        "cost": plan.cost.as_dict(),
        "guarantee": _numbers(plan.guarantee),
        "groups": {str(size): _numbers(budget) for size, budget in guarantee.groups.items()},
        "words": list(plan.words()),
        "beliefs": _beliefs(guarantee),
        "measurements": list(plan.events),
        **looking_json(plan),
        "exact": [list(margin) for margin in plan.exact],
        **({"disclosed": list(plan.disclosed)} if plan.disclosed else {}),
        "rmse": plan.rmse,
        **({} if plan.spec.expected_size is None else {"expected_rmse": expected_rmse(plan)}),
        "forecast": [
            {
                "table": list(row.margin),
                "cells": row.cells,
                "std_error": row.std_error,
                "half_width_95": row.half_width,
                "all_cells_95": row.all_cells,
                "expected_l1": row.expected_l1,
            }
            for row in plan.forecast
        ],
        "memory_bytes": plan.memory,
        "seconds_after_reading": plan.seconds,
        "warnings": list(plan.warnings),
    }


def _numbers(budget: Budget) -> dict[str, float]:
    """A budget in plain numbers; the exact one is the cost."""
    return {name: float(value) for name, _, value in budget.numbers()}


def _beliefs(promise: Guarantee) -> list[dict[str, Any]]:
    """How far suspicions can grow, of one unit and of several together; no numbers where nothing is promised."""
    found = []
    for suspicion in promise.suspicions:
        for units in promise.suspected_together:
            bound = promise.belief(suspicion, units)
            told = None if bound.says_little else bound.factor
            after = {} if told is None else {f"{before:g}": bound.after(before) for before in SUSPICIONS}
            found.append(
                {"about": suspicion.topic, "units": units, "odds": told, "except": bound.chance, "after": after}
            )
    return found
