"""Errors as RFC 9457 has them. A text says what was wrong and what to do; none depends on data."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from typing import Any

from margrave.errors import (
    BundleError,
    DataError,
    FaultError,
    LedgerError,
    MargraveError,
    RefusedError,
    SpecError,
    UsageError,
    VerificationError,
)

MEDIA = "application/problem+json"


@dataclass(frozen=True)
class ProblemKind:
    """A kind of problem: the last word of its type, its status, and its title."""

    name: str
    status: int
    title: str


BAD = ProblemKind("bad-request", 400, "The request is wrong, whatever the data")
UNKNOWN_CALLER = ProblemKind("not-logged-in", 401, "Log in, or send a token")
FORBIDDEN = ProblemKind("not-allowed", 403, "This is not yours to do")
MISSING = ProblemKind("not-found", 404, "There is no such thing")
NO_METHOD = ProblemKind("no-such-method", 405, "This cannot be done here")
SLOW = ProblemKind("too-slow", 408, "The request took too long to arrive")
REFUSED = ProblemKind("refused", 409, "Understood, and refused")
TOO_LARGE = ProblemKind("too-large", 413, "The request is too large")
WRONG_MEDIA = ProblemKind("wrong-media", 415, "Send JSON")
TOO_MANY = ProblemKind("too-many", 429, "Too many requests")
BROKEN = ProblemKind("fault", 500, "A fault of the server")
AWAY = ProblemKind("unavailable", 503, "The ledger cannot be reached")

_OF_CALLERS = (BAD, UNKNOWN_CALLER, FORBIDDEN, MISSING, NO_METHOD, SLOW, REFUSED, TOO_LARGE, WRONG_MEDIA, TOO_MANY)
KINDS = (*_OF_CALLERS, BROKEN, AWAY)
_KINDS_OF: tuple[tuple[type[MargraveError], ProblemKind], ...] = (
    (UsageError, BAD),
    (SpecError, BAD),
    (RefusedError, REFUSED),
    (FaultError, AWAY),
    (LedgerError, AWAY),
    (VerificationError, REFUSED),
    (BundleError, REFUSED),
    (DataError, AWAY),
)
_PLACES = 5
_HIDDEN = (LedgerError, DataError)
"""Their texts name places on the curator's machine: callers are told the title alone."""


class ProblemError(Exception):
    """A problem of a kind that the routes themselves find."""

    def __init__(self, kind: ProblemKind, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.headers = kind, detail, headers


def problem_json(kind: ProblemKind, detail: str) -> dict[str, Any]:
    """A problem as JSON."""
    return {"type": f"urn:margrave:{kind.name}", "title": kind.title, "status": kind.status, "detail": detail}


def problem_of(error: Exception) -> ProblemError:
    """The problem that an error is told as. An unforeseen one says nothing, not even its kind."""
    if isinstance(error, ProblemError):
        return error
    for known, kind in _KINDS_OF:
        if isinstance(error, known):
            return ProblemError(kind, kind.title if isinstance(error, _HIDDEN) else str(error))
    note_fault(error)
    return ProblemError(BROKEN, "the server has a fault, which its curator finds in what the server printed")


def note_fault(error: Exception) -> None:
    """Print where something unforeseen happened, and of which kind it is: no text of it, which could hold a value."""
    places = [f"{Path(one.filename).name}:{one.lineno}" for one in extract_tb(error.__traceback__)[-_PLACES:]]
    print(f"fault: {type(error).__name__} at {' > '.join(places)}", file=sys.stderr, flush=True)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}
