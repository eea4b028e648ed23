"""The description of all operations: as OpenAPI 3.1 for programs, and as a page for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from margrave.serve.operations.declared import JSON, Operation
from margrave.serve.operations.problems import KINDS, MEDIA, SCHEMA
from margrave.version import __version__

_WHO = {
    "public": "everybody",
    "own": "whoever is logged in",
    "read": "scope read",
    "ask": "scope ask",
    "curate": "scope curate",
}


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """The OpenAPI document of some operations."""
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _described(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Margrave", "version": __version__, "summary": "Questions and answers under privacy."},
        "paths": paths,
        "components": {
            "schemas": {"Problem": SCHEMA},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "login": {"type": "apiKey", "in": "cookie", "name": "margrave"},
            },
        },
    }


def _described(one: Operation) -> dict[str, Any]:
    told: dict[str, Any] = {"operationId": one.name, "summary": one.summary, "responses": _responses(one)}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1, "maxLength": 200}}
        for name in re.findall(r"{(\w+)}", one.path)
    ]
    parameters += [{"name": n, "in": "query", "required": False, "schema": s.schema} for n, s in one.query.items()]
    parameters += [{"name": n, "in": "header", "required": True, "schema": s.schema} for n, s in one.headers.items()]
    if parameters:
        told["parameters"] = parameters
    if one.body is not None:
        told["requestBody"] = {"required": True, "content": {JSON: {"schema": one.body.schema}}}
    if one.who != "public":
        told["security"] = [{"token": []}, {"login": []}]
    return told


def _responses(one: Operation) -> dict[str, Any]:
    def content(media: str) -> dict[str, Any]:
        return {"schema": dict(one.gives)} if media == JSON else {}

    good = {"description": one.summary, "content": {media: content(media) for media in one.media}}
    problem = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    found: dict[str, Any] = {str(one.status): good}
    for kind in KINDS:
        if kind.status < 500:
            found[str(kind.status)] = {"description": kind.title, "content": problem}
    found["503"] = {"description": "The ledger cannot be reached", "content": problem}
    if not one.changes:
        found["304"] = {"description": "What you have is still so"}
    return found


@dataclass(frozen=True)
class ToldOperation:
    """An operation as people read of it."""

    what: str
    who: str
    summary: str
    takes: tuple[str, ...]


def told_operations(operations: Iterable[Operation]) -> list[ToldOperation]:
    """The same for people: what everybody may do comes first."""
    ordered = sorted(operations, key=lambda one: list(_WHO).index(one.who))
    return [
        ToldOperation(f"{one.method} {one.path}", _WHO[one.who], one.summary, (*one.query, *one.headers, *_fields(one)))
        for one in ordered
    ]


def _fields(one: Operation) -> Iterable[str]:
    schema: Mapping[str, Any] = one.body.schema if one.body is not None else {}
    found: Mapping[str, Any] = schema.get("properties", {})
    return found
