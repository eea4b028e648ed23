"""The pages as routes of a worker: every page behind the same checks, in the same order.

Address, caller, rate, scope, where a form came from, its guard: then the page. What is wrong with a form is shown with
the form; everything else that is wrong has a page of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from hmac import compare_digest
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from margrave.errors import MargraveError
from margrave.serve.headers import SAFE_HEADERS
from margrave.serve.operations.declared import Caller, HttpReply, path_of
from margrave.serve.operations.problems import BAD, FORBIDDEN, UNKNOWN_CALLER, ProblemError, problem_of
from margrave.serve.pages import collected, entrance, office, opening, workbench
from margrave.serve.pages.frame import HTML, PAGE_HEADERS, redirect, rendered, script, style
from margrave.serve.pages.visits import PAGES, PageOfSite, Sight

if TYPE_CHECKING:
    from margrave.serve.app import Worker

ROOMS = (entrance, workbench, office, opening, collected)
_MOST_BYTES = 1 << 17
_MOST_FIELDS = 100
_FORM = "application/x-www-form-urlencoded"


def page_routes(worker: Worker) -> list[Route]:
    """All pages, and the style and the script that they share."""
    assets = {"/pages.css": (style, "text/css"), "/pages.js": (script, "text/javascript")}
    found = [Route(path, _asset(content, media)) for path, (content, media) in assets.items()]
    found += [Route(one.path, _endpoint(worker, one), methods=[one.method]) for one in PAGES]
    return [*found, Route("/explore/{rest:path}", _explored(worker))]


def _asset(content: Callable[[], bytes], media: str) -> Callable[[Request], Any]:
    async def asset(request: Request) -> Response:
        headers = {**SAFE_HEADERS, "Cache-Control": "no-cache"}
        return Response(content(), media_type=f"{media}; charset=utf-8", headers=headers)

    return asset


def _endpoint(worker: Worker, one: PageOfSite) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        caller = Caller(None)
        try:
            worker.check_address(one.door, request)
            caller = await run_in_threadpool(worker.visitor, request)
            look = await _look(worker, one, caller, request)
            if one.waits and look.said("wait"):
                await worker.settled_for(request, caller, look.path["id"])
            reply = await run_in_threadpool(_shown, one, look)
        except ProblemError as problem:
            reply = _problem(worker, caller, request, problem)
        except Exception as error:
            reply = _problem(worker, caller, request, problem_of(error))
        who = caller.person.name if caller.person is not None else ""
        named = ("", "") if one.nameless else (who, worker.address(request))
        with suppress(Exception):
            at_once = one.method != "GET" and one.who != "ask"
            await worker.note(*named, one.name, reply.status, at_once=at_once)
        headers = {**PAGE_HEADERS, **reply.headers}
        return Response(reply.content, reply.status, headers, reply.media)

    return endpoint


def _explored(worker: Worker) -> Callable[[Request], Any]:
    """The explorer: public, and so the same for everybody."""

    async def endpoint(request: Request) -> Response:
        try:
            worker.check_address("", request)
            path, languages = f"/{request.path_params['rest']}", request.headers.get("accept-language", "")
            reply = await run_in_threadpool(worker.shelf.shown, path, request.url.query, languages)
        except Exception as error:
            reply = _problem(worker, Caller(None), request, problem_of(error))
        with suppress(Exception):
            await worker.note("", worker.address(request), "explore", reply.status, at_once=False)
        return Response(reply.content, reply.status, {**PAGE_HEADERS, **reply.headers}, reply.media)

    return endpoint


async def _look(worker: Worker, one: PageOfSite, caller: Caller, request: Request) -> Sight:
    path = path_of(request)
    fields: Mapping[str, list[str]] = _fields(request.url.query)
    if one.who != "public":
        worker.check_account(caller)
        caller.check(one.who)
    if one.method == "POST":
        fields = await _form(worker, request)
        guard = (fields.get("guard") or [""])[0]
        if caller.secret and not compare_digest(guard.encode(), caller.guard.encode()) and not one.door:
            raise ProblemError(FORBIDDEN, "the form is not from this login: go back, load the page again, and send it")
    host, at = _host(worker, request), request.url.path
    return Sight(worker.house, caller, path, fields, worker.secure(request), host=host, at=at)


def _host(worker: Worker, request: Request) -> str:
    """The address of this server as the visitor has it, for what is copied."""
    return f"{'https' if worker.secure(request) else 'http'}://{request.url.netloc}"


def _fields(query: str) -> dict[str, list[str]]:
    try:
        return parse_qs(query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except (ValueError, UnicodeDecodeError):
        raise ProblemError(BAD, "the address, or the form, cannot be read") from None


async def _form(worker: Worker, request: Request) -> dict[str, list[str]]:
    """A form that was sent from a page of this site."""
    # Browsers say where a form comes from; also before there is a login with a guard.
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ProblemError(FORBIDDEN, "forms are taken from pages of this server alone")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise ProblemError(BAD, f"a form is sent as {_FORM}")
    content = await worker.content_of(request, _MOST_BYTES)
    try:
        return _fields(content.decode("ascii"))
    except UnicodeDecodeError:
        raise ProblemError(BAD, "the address, or the form, cannot be read") from None


def _shown(one: PageOfSite, look: Sight) -> HttpReply:
    try:
        return one.show(look)
    except (MargraveError, ProblemError) as error:
        found = problem_of(error)
        if one.again is None or found.kind.status >= 500:
            raise found from None
        reply = one.again(replace(look, problem=found.detail))
        return replace(reply, status=found.kind.status)


def _problem(worker: Worker, caller: Caller, request: Request, problem: ProblemError) -> HttpReply:
    if problem.kind is UNKNOWN_CALLER:
        then = request.url.path + (f"?{request.url.query}" if request.url.query and request.method == "GET" else "")
        return redirect(f"/login?then={quote(then, safe='')}")
    look = Sight(worker.house, caller, {}, {}, problem=problem.detail, at=request.url.path)
    told = rendered("problem.html", look, title=problem.kind.title)
    return HttpReply(content=told.encode(), status=problem.kind.status, headers=problem.headers, media=HTML)
