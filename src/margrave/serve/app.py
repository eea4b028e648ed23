"""One HTTP worker: every operation behind the same checks, in the same order.

Address, size, caller, rate, scope, guard, shape: then the operation. What it finds is told as it is, what it raises as
a problem, and both are noted without a value.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from margrave.serve.headers import SAFE_HEADERS
from margrave.serve.kept.jobs import Job, State
from margrave.serve.kept.tokens import ALLOWED, PREFIX
from margrave.serve.operations import asking, collecting, curating, opening, parting, public
from margrave.serve.operations.declared import JSON, OPERATIONS, Call, Caller, House, HttpReply, Operation, path_of
from margrave.serve.operations.openapi import document
from margrave.serve.operations.problems import (
    BAD,
    FORBIDDEN,
    MEDIA,
    MISSING,
    NO_METHOD,
    SLOW,
    TOO_LARGE,
    TOO_MANY,
    UNKNOWN_CALLER,
    WRONG_MEDIA,
    ProblemError,
    problem_json,
    problem_of,
)
from margrave.serve.pages.explored import Shelf
from margrave.serve.pages.site import page_routes
from margrave.serve.rates import Buckets, Rate, network_of
from margrave.serve.watching import Watch

T = TypeVar("T")
GUARD_HEADER = "x-margrave-guard"
_MOST_WAIT = 60
_PAGE_WAIT = 5
_BODY_WAIT = 30
"""Seconds in which what a request brings along must have arrived."""
_FLUSH = 1.0
DOOR_RATE = Rate(10, 0.1)
_DOORS = ("log_in", "accept")
"""Operations at which secrets could be tried out."""
_OFTEN = ("ask", "question", "explain")
ROOMS = (public, asking, parting, collecting, curating, opening)


@dataclass(frozen=True)
class Rates:
    """For each worker: of an account, of an address, and of tries at a door from one address."""

    account: Rate
    address: Rate
    door: Rate = DOOR_RATE

    @classmethod
    def of(cls, a_second: float) -> Rates:
        """So many requests a second of an account, twice as many of an address, and six times that at once."""
        return cls(Rate(6 * a_second, a_second), Rate(12 * a_second, 2 * a_second))


class Worker:
    """The operations of one HTTP worker as an ASGI application."""

    def __init__(self, house: House, rates: Rates, folder: Path, *, https: bool, behind_proxy: bool) -> None:
        """``folder``: where released bundles may lie while this worker runs."""
        self.house, self._https, self._proxied = house, https, behind_proxy
        self._accounts, self._addresses = Buckets(rates.account), Buckets(rates.address)
        self._doors, self.shelf = Buckets(rates.door), Shelf(house, folder)
        self._watch = Watch(house.jobs, self._looked)
        told = json.dumps(document(OPERATIONS)).encode()
        # Routes are tried in their order: what is asked for most comes first.
        ordered = sorted(OPERATIONS, key=lambda one: one.name not in _OFTEN)
        routes = [Route(one.path, self._endpoint(one), methods=[one.method]) for one in ordered]
        routes += [
            Route("/v1/openapi.json", lambda request: Response(told, media_type=JSON, headers=SAFE_HEADERS)),
            Route("/v1/questions/{id}/events", self._events),
        ]
        routes += page_routes(self)
        handlers: Mapping[Any, Any] = {HTTPException: _unrouted, Exception: _unforeseen}
        self.app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(self._flushing())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await run_in_threadpool(self.house.access.flush)

    async def _flushing(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH)
            with suppress(Exception):
                await run_in_threadpool(self.house.access.flush)

    def address(self, request: Request) -> str:
        """Where a request comes from; behind a proxy, what the proxy says last."""
        told = request.headers.get("x-forwarded-for", "") if self._proxied else ""
        found = told.rsplit(",", 1)[-1].strip() or (request.client.host if request.client else "")
        return found[:64]

    def secure(self, request: Request) -> bool:
        return self._https or (self._proxied and request.headers.get("x-forwarded-proto") == "https")

    def _endpoint(self, one: Operation) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            return await self.run(one, request)

        return endpoint

    async def run(self, one: Operation, request: Request) -> Response:
        """Do an operation, behind all checks."""
        who: list[str] = []
        try:
            self.check_address(one.name, request)
            content = await self._content(one, request)
            done = self._looked if one.brief else run_in_threadpool
            reply, call = await done(self._done, one, request, content, who)
            if one.name == "question" and call.query.get("wait") and reply.value["state"] == "waiting":
                job = await self._waited(request, call.caller.name, call.path["id"], call.query["wait"])
                if job is not None:
                    reply = HttpReply(asking.job_json(job))
            response = _response(reply, request)
        except Exception as error:
            response = _problem(problem_of(error))
        named = ("", "") if one.nameless else ("".join(who), self.address(request))
        with suppress(Exception):
            await self.note(*named, one.name, response.status_code, at_once=one.noted_at_once)
        return response

    async def _looked(self, look: Callable[..., T], *arguments: Any) -> T:
        """What a short look into the store finds: a thread costs more than it, where the store is near."""
        return look(*arguments) if self.house.tables.near else await run_in_threadpool(look, *arguments)

    def _done(self, one: Operation, request: Request, content: bytes, who: list[str]) -> tuple[HttpReply, Call]:
        """What an operation gives, and the call that it was. All of it in one thread: who calls is told as ``who``."""
        caller = self.caller(request)
        if caller.person is not None:
            who.append(caller.person.name)
        self._check(one, caller, request)
        call = self._call(one, caller, request, None if one.body is None else _read(content))
        return one.handler(call), call

    async def note(self, who: str, address: str, name: str, status: int, *, at_once: bool) -> None:
        """Note a visit; what is written later takes no thread now."""
        self.house.access.note(who, address, name, status, at_once=False)
        if at_once:
            await run_in_threadpool(self.house.access.flush)

    def check_address(self, name: str, request: Request) -> None:
        """Refuse an address that comes too often."""
        address = network_of(self.address(request))
        for buckets in (self._addresses, *([self._doors] if name in _DOORS else ())):
            _check_rate(buckets, address)

    def caller(self, request: Request) -> Caller:
        """Who calls: by a token, or as a visitor does. A token that does not hold is nobody's."""
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme:
            found = None
            if scheme.lower() == "bearer" and secret.startswith(PREFIX):
                found = self.house.tokens.holder(secret)
            if found is None:
                detail = "the token is unknown, has expired or was revoked"
                raise ProblemError(UNKNOWN_CALLER, detail, **{"WWW-Authenticate": "Bearer"})
            return Caller(*found)
        return self.visitor(request)

    def visitor(self, request: Request) -> Caller:
        """Who looks at a page: by the cookie of a login."""
        cookie = request.cookies.get(public.COOKIE, "")
        login = self.house.people.logged_in(cookie) if cookie else None
        if login is None:
            return Caller(None)
        return Caller(login.person, ALLOWED[login.person.role], login.secret, login.guard)

    def _check(self, one: Operation, caller: Caller, request: Request) -> None:
        if one.who == "public":
            return
        self.check_account(caller)
        caller.check(one.who)
        brought = request.headers.get(GUARD_HEADER, "")
        if one.changes and caller.secret and not compare_digest(brought.encode(), caller.guard.encode()):
            raise ProblemError(FORBIDDEN, f"a change by login must bring the guard of the login as {GUARD_HEADER}")

    async def content_of(self, request: Request, most: int) -> bytes:
        """What a request brings along, of so many bytes at most."""
        content = bytearray()
        try:
            async with asyncio.timeout(_BODY_WAIT):
                async for chunk in request.stream():
                    content += chunk
                    if len(content) > most:
                        raise ProblemError(TOO_LARGE, f"a request has at most {most:,} bytes")
        except ClientDisconnect:
            raise ProblemError(BAD, "the request broke off") from None
        except TimeoutError:
            raise ProblemError(SLOW, f"the request took longer than {_BODY_WAIT} seconds to arrive") from None
        return bytes(content)

    def check_account(self, caller: Caller) -> None:
        """Refuse an account that comes too often."""
        if caller.person is not None:
            _check_rate(self._accounts, caller.person.name)

    async def _content(self, one: Operation, request: Request) -> bytes:
        if one.body is None:
            return b""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise ProblemError(WRONG_MEDIA, f"the body must be {JSON}")
        return await self.content_of(request, one.most_bytes)

    def _call(self, one: Operation, caller: Caller, request: Request, body: Any) -> Call:
        query: dict[str, Any] = {}
        for name, value in request.query_params.multi_items():
            if name not in one.query or name in query:
                raise ProblemError(BAD, f"the query has only, and each once: {', '.join(one.query) or 'nothing'}")
            query[name] = one.query[name].read(value, f"query.{name}")
        headers = {}
        for name, shape in one.headers.items():
            if name not in request.headers:
                raise ProblemError(BAD, f"the header {name} is needed")
            headers[name] = shape.read(request.headers[name], name)
        if self.secure(request):
            headers["x-margrave-scheme"] = "https"
        read = one.body.read(body, "body") if one.body is not None else None
        path = path_of(request)
        return Call(self.house, caller.person, caller.scopes, caller.secret, path, query, read, headers)

    async def settled_for(self, request: Request, caller: Caller, identity: str) -> None:
        """Wait a little for what becomes of a question of the caller's own."""
        name = caller.person.name if caller.person is not None else ""
        job = await run_in_threadpool(self.house.jobs.found, identity, name)
        if job is not None and job.state == "waiting":
            await self._waited(request, name, identity, _PAGE_WAIT)

    async def _waited(self, request: Request, account: str, identity: str, seconds: float) -> Job | None:
        self._watch.check_place(account)
        with self._watch.place(account):
            return await self._settled(request, identity, seconds)

    async def _settled(self, request: Request, identity: str, seconds: float) -> Job | None:
        """What became of a question that is waited for; whoever was shut out meanwhile is refused."""
        job = await self._watch.settled(identity, seconds)
        (await self._looked(self.caller, request)).check("own")
        return job

    async def _events(self, request: Request) -> Response:
        """The states of a question as server-sent events, at multiples of a tick."""
        one = next(each for each in OPERATIONS if each.name == "question")
        first = await self.run(one, request)
        if first.status_code != 200:
            return first
        identity = str(request.path_params["id"])
        person = (await run_in_threadpool(self.caller, request)).person
        account = person.name if person is not None else ""
        try:
            self._watch.check_place(account)
        except ProblemError as problem:
            return _problem(problem)

        async def told() -> AsyncIterator[str]:
            state: State = "waiting"
            with self._watch.place(account), suppress(ProblemError):
                yield "event: state\ndata: waiting\n\n"
                while state == "waiting" and not await request.is_disconnected():
                    job = await self._settled(request, identity, _MOST_WAIT)
                    state = "waiting" if job is None else job.state
                    yield f"event: state\ndata: {state}\n\n"

        return StreamingResponse(told(), media_type="text/event-stream", headers=SAFE_HEADERS)


def _read(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise ProblemError(BAD, "the body is no JSON") from None


def _check_rate(buckets: Buckets, caller: str) -> None:
    wait = buckets.wait(caller)
    if wait:
        raise ProblemError(TOO_MANY, "you come too often: wait a little", **{"Retry-After": str(int(wait) + 1)})


def _response(reply: HttpReply, request: Request) -> Response:
    content = reply.content if reply.content is not None else json.dumps(reply.value).encode()
    headers = {**SAFE_HEADERS, **reply.headers}
    if request.method == "GET" and reply.status == 200:
        tag = f'"{sha256(content).hexdigest()[:32]}"'
        headers |= {"ETag": tag, "Cache-Control": "private, no-cache"}
        if tag in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=headers)
    return Response(content, reply.status, headers, reply.media)


def _problem(found: ProblemError) -> Response:
    told = json.dumps(problem_json(found.kind, found.detail)).encode()
    return Response(told, found.kind.status, {**SAFE_HEADERS, **found.headers}, MEDIA)


async def _unrouted(request: Request, error: Exception) -> Response:
    """No such path, or not this way."""
    if getattr(error, "status_code", 404) == 405:
        allowed = getattr(error, "headers", None) or {}
        return _problem(ProblemError(NO_METHOD, "the path is there, but not this method", **allowed))
    return _problem(ProblemError(MISSING, "there is no such path: see /v1/about"))


async def _unforeseen(request: Request, error: Exception) -> Response:
    return _problem(problem_of(error))
