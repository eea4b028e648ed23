"""The description of all operations: as OpenAPI 3.1 for programs, and as a page for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
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


def page(operations: Iterable[Operation]) -> str:
    """The same for people, without scripts."""
    rows = "".join(_row(one) for one in operations)
    style = "body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    style += "td,th{text-align:left;vertical-align:top;padding:.3rem .6rem}code{font-size:.9em}"
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><style>{style}</style>"
    intro = (
        "<p>Questions go in, noisy answers come out. Send a token as <code>Authorization: Bearer mgv_…</code>. Numbers "
        "that carry privacy are exact, as texts. Errors are problems of RFC 9457. The same as "
        "<a href='/v1/openapi.json'>OpenAPI 3.1</a>.</p>"
    )
    table = f"<table><thead><tr><th>operation</th><th>who</th><th>what</th></tr></thead><tbody>{rows}</tbody></table>"
    return (
        f"<!doctype html><html lang='en'><head>{head}<title>Margrave: the interface</title></head>"
        f"<body><main><h1>Margrave</h1>{intro}{table}</main></body></html>"
    )


def _row(one: Operation) -> str:
    takes = [f"<code>{escape(name)}</code>" for name in (*one.query, *one.headers, *_fields(one))]
    taken = f"<br>takes {', '.join(takes)}" if takes else ""
    path = f"<code>{one.method} {escape(one.path)}</code>"
    return f"<tr><td>{path}</td><td>{_WHO[one.who]}</td><td>{escape(one.summary)}{taken}</td></tr>"


def _fields(one: Operation) -> Iterable[str]:
    schema: Mapping[str, Any] = one.body.schema if one.body is not None else {}
    found: Mapping[str, Any] = schema.get("properties", {})
    return found
