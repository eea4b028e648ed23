"""Codebooks that exist: a CSV file of variables and values, CSVW, or a Frictionless table schema. All are public."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from margrave.crossing import ColumnKind, ColumnProfile
from margrave.errors import Problem, SpecError
from margrave.spec.document import public_text

_NAMES = ("name", "variable", "column", "field", "variable name", "attribute")
_VALUES = ("value", "code", "values", "codes")
_LABELS = ("label", "meaning", "value label", "category", "text")
_TITLES = ("title", "description", "question", "variable label")
_TYPES = ("type", "datatype", "format")
_LOWS = ("minimum", "min", "low", "lowest")
_HIGHS = ("maximum", "max", "high", "highest")
_KINDS: Mapping[str, ColumnKind] = {
    **dict.fromkeys(("integer", "int", "long", "short", "nonnegativeinteger", "positiveinteger", "year"), "integers"),
    **dict.fromkeys(("number", "decimal", "double", "float", "numeric"), "numbers"),
    **dict.fromkeys(("date", "datetime", "datetimestamp"), "dates"),
}


def read_codebook(path: Path) -> tuple[ColumnProfile, ...]:
    """The columns that a codebook declares, whichever of the three forms it has."""
    text = public_text(path)
    if not text.lstrip().startswith(("{", "[")):
        found = list(_of_csv(text, path))
    else:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise _fail(path, "is no JSON: a codebook is CSV, CSVW or a Frictionless table schema") from None
        found = list(_of_json(document, path))
    if not found:
        raise _fail(path, "declares no column")
    return tuple(found)


def _fail(path: Path, text: str) -> SpecError:
    return SpecError([Problem("file", text)], str(path))


def _of_json(document: Any, path: Path) -> Iterator[ColumnProfile]:
    schema = document
    for inner in ("resources", "tables"):
        if isinstance(schema, Mapping) and isinstance(schema.get(inner), list) and schema[inner]:
            schema = schema[inner][0]
    for inner in ("schema", "tableSchema"):
        if isinstance(schema, Mapping) and isinstance(schema.get(inner), Mapping):
            schema = schema[inner]
    if isinstance(schema, Mapping) and isinstance(schema.get("fields"), list):
        yield from (_of_field(one) for one in schema["fields"] if isinstance(one, Mapping))
    elif isinstance(schema, Mapping) and isinstance(schema.get("columns"), list):
        yield from (_of_column(one) for one in schema["columns"] if isinstance(one, Mapping) and not one.get("virtual"))
    else:
        raise _fail(path, "has neither fields (Frictionless) nor tableSchema.columns (CSVW)")


def _of_field(field: Mapping[str, Any]) -> ColumnProfile:
    """A field of a Frictionless table schema."""
    rules = field.get("constraints") or {}
    listed = field.get("categories") or rules.get("enum") or ()
    values = {}
    for one in listed:
        told = one if isinstance(one, Mapping) else {"value": one}
        values[_text(told.get("value"))] = str(told.get("label") or "")
    title = field.get("title") or field.get("description") or ""
    missing = not rules.get("required", False)
    low, high = rules.get("minimum"), rules.get("maximum")
    return _column(str(field.get("name", "")), str(field.get("type", "")), values, low, high, str(title), missing)


def _of_column(column: Mapping[str, Any]) -> ColumnProfile:
    """A column of CSVW."""
    kind = column.get("datatype") or "string"
    rules = kind if isinstance(kind, Mapping) else {"base": kind}
    form = rules.get("format")
    listed = form.strip("^$()").split("|") if isinstance(form, str) and "|" in form else []
    titles = column.get("titles") or column.get("name") or ""
    while isinstance(titles, Mapping | list) and titles:
        titles = next(iter(titles.values() if isinstance(titles, Mapping) else titles))
    name = str(column.get("name") or titles)
    low, high = (rules.get(key, rules.get(f"{key[:3]}Inclusive")) for key in ("minimum", "maximum"))
    title = "" if str(titles) == name else str(titles)
    missing = not column.get("required", False)
    return _column(name, str(rules.get("base", "string")), dict.fromkeys(listed, ""), low, high, title, missing)


def _of_csv(text: str, path: Path) -> Iterator[ColumnProfile]:
    """One row for each value of a variable, or one row for a variable with its type and its bounds."""
    first = text.partition("\n")[0]
    delimiter = next((sign for sign in (",", ";", "\t", "|") if sign in first), ",")
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        raise _fail(path, "is no CSV: check its quotes") from None
    heads = {str(name).strip().lower(): name for name in (rows[0] if rows else {})}
    keys = {part: next((heads[one] for one in known if one in heads), None) for part, known in _PARTS.items()}
    if keys["name"] is None:
        raise _fail(path, "needs a column of names, called name or variable, and one of values, called value or code")
    variables: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        told = {part: (row.get(key) or "").strip() if key is not None else "" for part, key in keys.items()}
        if told["name"]:
            variables.setdefault(told["name"], []).append(told)
    for name, parts in variables.items():
        values = {told["value"]: told["label"] for told in parts if told["value"]}
        whole = {part: next((told[part] for told in parts if told[part]), "") for part in _PARTS}
        kind = whole["type"] or ("string" if values else "number")
        yield _column(name, kind, values, whole["low"] or None, whole["high"] or None, whole["title"], True)


_PARTS = {
    "name": _NAMES, "value": _VALUES, "label": _LABELS, "title": _TITLES, "type": _TYPES, "low": _LOWS, "high": _HIGHS,
}  # fmt: skip


def _column(
    name: str, kind: str, values: Mapping[str, str], low: Any, high: Any, title: str, missing: bool
) -> ColumnProfile:
    """What is declared of a column; without values and bounds a person must find them."""
    if kind.lower() == "boolean" and not values:
        values = {"false": "", "true": ""}
    if values:
        labels = {value: label for value, label in values.items() if label and label != value}
        return ColumnProfile(name, "categories", tuple(values), None, None, missing, None, title, labels, True)
    found = _KINDS.get(kind.lower().replace("xsd:", ""))
    if found is None or low is None or high is None:
        return ColumnProfile(name, "unknown", title=title, public=True)
    return ColumnProfile(name, found, (), _text(low), _text(high), missing, None, title, public=True)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
