"""Tokens: what programs come in with. 32 random bytes, shown once, hashed at rest, scoped, expiring, revocable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Literal

from margrave.errors import UsageError
from margrave.serve.kept.people import Person
from margrave.serve.kept.tables import ServerTables, digest, moment, new_secret, now

PREFIX = "mgv_"
Scope = Literal["read", "ask", "curate"]
SCOPES: tuple[Scope, ...] = ("read", "ask", "curate")
"""``read``: what is the account's own, and explain. ``ask``: spend. ``curate``: what curators do."""
ALLOWED: dict[str, tuple[Scope, ...]] = {"analyst": ("read", "ask"), "curator": ("read", "curate")}
"""The scopes that each role can have. A curator is no analyst: who grants does not ask."""
DAYS = 90
MOST_DAYS = 366
_DAY = 86_400


@dataclass(frozen=True)
class TokenRecord:
    """What is known of a token once it was shown."""

    id: str
    name: str
    label: str
    scopes: tuple[str, ...]
    created: int
    expires: int
    revoked: bool

    def to_json(self) -> dict[str, Any]:
        told = {"id": self.id, "name": self.name, "label": self.label, "scopes": list(self.scopes)}
        return {
            **told,
            "created": moment(self.created),
            "expires": moment(self.expires),
            "revoked": self.revoked,
        }


_COLUMNS = "id, name, label, scopes, created, expires, revoked"


class Tokens:
    """The tokens of a server."""

    def __init__(self, tables: ServerTables) -> None:
        self._tables = tables

    def make(
        self, person: Person, scopes: Iterable[str], *, label: str = "", days: int = DAYS
    ) -> tuple[TokenRecord, str]:
        """A new token for somebody, and its secret, which is shown this once."""
        wanted = tuple(dict.fromkeys(scopes))
        if not wanted or not set(wanted) <= set(ALLOWED[person.role]):
            allowed = ", ".join(ALLOWED[person.role])
            raise UsageError(f"a token of this {person.role} has at least one of the scopes {allowed}, and no other")
        if not 1 <= days <= MOST_DAYS:
            raise UsageError(f"a token holds 1 to {MOST_DAYS} days")
        secret = new_secret(PREFIX)
        token = TokenRecord(token_hex(8), person.name, label, wanted, now(), now() + days * _DAY, False)
        with self._tables.writing() as session:
            session.write(
                f"INSERT INTO server_token (digest, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
                (digest(secret), token.id, token.name, label, " ".join(wanted), token.created, token.expires),
            )
        return token, secret

    def holder(self, secret: str) -> tuple[Person, tuple[str, ...]] | None:
        """Who comes in with a token, and for what; nobody if it is unknown, revoked or expired."""
        statement = (
            "SELECT p.name, p.role, t.scopes FROM server_token t JOIN server_person p ON p.name = t.name "
            "WHERE t.digest = ? AND t.revoked = 0 AND t.expires >= ? AND p.disabled = 0"
        )
        with self._tables.reading() as session:
            found = list(session.rows(statement, (digest(secret), now())))
        return (Person(found[0][0], found[0][1]), tuple(found[0][2].split())) if found else None

    def of(self, name: str | None = None) -> list[TokenRecord]:
        """The tokens of somebody, or of all, the newest first."""
        where, parameters = (" WHERE name = ?", (name,)) if name is not None else ("", ())
        with self._tables.reading() as session:
            found = session.rows(f"SELECT {_COLUMNS} FROM server_token{where} ORDER BY created DESC, id", parameters)
            return [_token(row) for row in found]

    def revoke(self, identity: str, name: str | None = None) -> None:
        """Let nobody in with a token any more; with a name, only one of that name."""
        where, parameters = ("", (identity,)) if name is None else (" AND name = ?", (identity, name))
        with self._tables.writing() as session:
            changed = session.rows(f"UPDATE server_token SET revoked = 1 WHERE id = ?{where} RETURNING id", parameters)
            if not list(changed):
                raise LookupError("token")


def _token(row: Any) -> TokenRecord:
    identity, name, label, scopes, created, expires, revoked = row
    return TokenRecord(identity, name, label, tuple(scopes.split()), created, expires, bool(revoked))
