"""Writing a spec as plain values: for TOML with exact numbers and dates, for JSON with the same as text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from margrave.budget.numbers import exact_text
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Edge
from margrave.spec.workload import Pattern, PublicFact, Wanted

if TYPE_CHECKING:
    from margrave.spec.spec import Spec


def spec_dict(spec: Spec, *, with_data: bool) -> dict[str, object]:
    """The spec in the shape of its TOML file; defaults that say nothing are left out."""
    head: dict[str, object] = {}
    if spec.title:
        head["title"] = spec.title
    if spec.licence:
        head["licence"] = spec.licence
    if spec.draft:
        head["draft"] = True
    if with_data and spec.data is not None:
        head["data"] = _data(spec)
    return {
        **head,
        "attributes": {entry.name: entry_dict(entry) for entry in spec.codebook.entries},
        "release": _release(spec),
        "privacy": _privacy(spec),
    }


def json_ready(value: object) -> object:
    """The same value with exact numbers and dates as text, which JSON cannot lose."""
    match value:
        case Fraction():
            return exact_text(value)
        case Decimal():
            return exact_text(Fraction(value))
        case date():
            return value.isoformat()
        case Mapping():
            return {name: json_ready(item) for name, item in value.items()}
        case list() | tuple():
            return [json_ready(item) for item in value]
    return value


def _data(spec: Spec) -> dict[str, object]:
    data = spec.data
    if data is None:
        return {}
    unit = data.unit
    written: dict[str, object | None] = {
        "source": data.source,
        "count": {"column": data.count, "public": True} if data.count_public else data.count,
        "confidential": data.confidential,
        "unit": None if unit is None else {"column": unit.column, "max_records": unit.max_records},
    }
    written |= data.dialect.as_dict()
    return {key: value for key, value in written.items() if value is not None}


def entry_dict(entry: CodebookEntry) -> dict[str, object]:
    """An attribute in the shape of the TOML file."""
    written: dict[str, object] = {"title": entry.title} if entry.title else {}
    rule = entry.rule
    match rule:
        case Categories():
            written["values"] = [value == "true" for value in rule.values] if rule.boolean else list(rule.values)
        case Bins():
            written["bins"] = [_edge(edge) for edge in rule.edges]
            if rule.closed != "left":
                written["closed"] = rule.closed
        case _:
            written["range"] = [rule.low, rule.high]
    extras = {"missing": entry.missing, "other": entry.other}
    written |= {key: value for key, value in extras.items() if value is not None}
    if entry.labels:
        written["labels"] = dict(entry.labels)
    if entry.determines:
        written["determines"] = {target: dict(implied) for target, implied in entry.determines.items()}
    return written


def _edge(edge: Edge) -> object:
    return int(edge) if isinstance(edge, Decimal) and edge == edge.to_integral_value() else edge


def _release(spec: Spec) -> dict[str, object]:
    written: dict[str, object] = {}
    if spec.tables:
        written["tables"] = [_wanted(table) for table in spec.tables]
    if spec.all_ways:
        written["all"] = spec.all_ways
    if spec.public:
        written["public"] = [_fact(fact) for fact in spec.public]
    if spec.impossible:
        written["impossible"] = [_pattern(pattern, spec.codebook) for pattern in spec.impossible]
    if spec.sensitive:
        written["sensitive"] = list(spec.sensitive)
    if spec.expected_size is not None:
        written["expected_size"] = spec.expected_size
    return written | {
        "strategy": spec.strategy,
        "objective": spec.objective,
        "nonnegative": spec.nonnegative,
        "rounding": spec.rounding,
    }


def _wanted(wanted: Wanted) -> object:
    return list(wanted.margin) if wanted.weight == 1 else {"of": list(wanted.margin), "weight": wanted.weight}


def _fact(fact: PublicFact) -> object:
    counts = fact.counts
    if fact.cell is not None:
        cell = {"cell": dict(zip(fact.margin, fact.cell, strict=True))}
        return cell if counts is None else {**cell, "count": counts[0]}
    if counts is None:
        return list(fact.margin)
    return {"of": list(fact.margin), "counts": list(counts)} if fact.margin else {"of": [], "count": counts[0]}


def _pattern(pattern: Pattern, codebook: Codebook) -> dict[str, object]:
    """A pattern with its values in the order of their attribute; a single value stands alone."""
    ordered = {name: [value for value in codebook.domain[name].values if value in pattern[name]] for name in pattern}
    return {name: values[0] if len(values) == 1 else values for name, values in ordered.items()}


def _privacy(spec: Spec) -> dict[str, object]:
    written: dict[str, object] = {name: number for name, _, number in spec.budget.numbers()}
    written["neighbours"] = spec.neighbours
    if spec.induced is not None:
        written["induced"] = spec.induced
    return written
