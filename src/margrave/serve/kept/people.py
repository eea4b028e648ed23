"""Who may come in: people with a role, the invitations that make them, their passwords, and their logins.

An analyst has the name of an account of the ledger. Nothing here can be read back: of secrets only digests are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Literal

from margrave.errors import RefusedError, UsageError
from margrave.ledger.values import check_account_name
from margrave.serve.kept.tables import ServerTables, digest, new_secret, now

if TYPE_CHECKING:
    from argon2 import PasswordHasher

    from margrave.ledger.stores.store import Transaction

Role = Literal["analyst", "curator"]
ROLES: tuple[Role, ...] = ("analyst", "curator")

LEAST_PASSWORD = 12
MOST_PASSWORD = 256
INVITED = 7 * 86_400
"""Seconds that an invitation holds."""
LOGGED_IN = 8 * 3_600
"""Seconds that a login holds."""
_HASHING = BoundedSemaphore(8)
_NOBODY = "the name or the password is wrong"
_USED = "the invitation is unknown, was used already, or has expired: ask a curator for a new one"


@dataclass(frozen=True)
class Person:
    """Somebody who may come in."""

    name: str
    role: Role
    disabled: bool = False

    def __post_init__(self) -> None:
        check_account_name("the name", self.name)
        if self.role not in ROLES:
            raise UsageError(f"a role is one of {', '.join(ROLES)}")


@dataclass(frozen=True)
class Login:
    """What a login gives: the secret of the cookie, and the guard that every change must bring along."""

    person: Person
    secret: str
    guard: str


class PeopleTable:
    """The people of a server."""

    def __init__(self, tables: ServerTables) -> None:
        self._tables = tables

    def every(self) -> list[Person]:
        """Everybody, by name."""
        with self._tables.reading() as session:
            found = session.rows("SELECT name, role, disabled FROM server_person ORDER BY name")
            return [Person(name, role, bool(disabled)) for name, role, disabled in found]

    def named(self, name: str) -> Person | None:
        with self._tables.reading() as session:
            return _person(session, name)

    def invite(self, role: Role, name: str | None = None, *, holds: int = INVITED) -> str:
        """A secret, shown once, with which somebody comes in for the first time, or sets a new password."""
        if name is not None:
            Person(name, role)
        secret = new_secret("inv_")
        with self._tables.writing() as session:
            session.write("DELETE FROM server_invitation WHERE expires < ?", (now(),))
            session.write(
                "INSERT INTO server_invitation (digest, name, role, expires) VALUES (?, ?, ?, ?)",
                (digest(secret), name, role, now() + holds),
            )
        return secret

    def accept(self, secret: str, name: str, password: str) -> Person:
        """Come in by an invitation, which is used up, and set a password."""
        _check_password(password, name)
        with _one_of_few():
            kept = _hasher().hash(password)
        with self._tables.writing() as session:
            taken = "DELETE FROM server_invitation WHERE digest = ? AND expires >= ? RETURNING name, role"
            found = list(session.rows(taken, (digest(secret), now())))
            if not found or found[0][0] not in (None, name):
                raise RefusedError(_USED)
            person = Person(name, found[0][1])
            if found[0][0] is None and _person(session, name) is not None:
                raise RefusedError("the name is taken: choose another")
            session.write(
                "INSERT INTO server_person (name, role, password, disabled) VALUES (?, ?, ?, 0) "
                "ON CONFLICT (name) DO UPDATE SET password = excluded.password, disabled = 0",
                (person.name, person.role, kept),
            )
            session.write("DELETE FROM server_login WHERE name = ?", (name,))
        return person

    def disable(self, name: str) -> None:
        """Let nobody in by this name any more, but by a new invitation: logins, tokens and older invitations end."""
        with self._tables.writing() as session:
            changed = session.rows("UPDATE server_person SET disabled = 1 WHERE name = ? RETURNING name", (name,))
            if not list(changed):
                raise UsageError("there is nobody of this name")
            session.write("DELETE FROM server_login WHERE name = ?", (name,))
            session.write("DELETE FROM server_invitation WHERE name = ?", (name,))
            session.write("UPDATE server_token SET revoked = 1 WHERE name = ?", (name,))

    def log_in(self, name: str, password: str) -> Login:
        """A login, if the password is right. Whether there is such a name cannot be told, also not by the time."""
        with self._tables.reading() as session:
            found = list(session.rows("SELECT role, password, disabled FROM server_person WHERE name = ?", (name,)))
        role, kept, disabled = found[0] if found else (ROLES[0], None, 1)
        with _one_of_few():
            fits = _fits(kept or _decoy(), password[:MOST_PASSWORD])
        if not fits or kept is None or disabled:
            raise RefusedError(_NOBODY)
        login = Login(Person(name, role), new_secret(), new_secret())
        with self._tables.writing() as session:
            session.write("DELETE FROM server_login WHERE expires < ?", (now(),))
            session.write(
                "INSERT INTO server_login (digest, name, guard, expires) VALUES (?, ?, ?, ?)",
                (digest(login.secret), name, login.guard, now() + LOGGED_IN),
            )
        return login

    def logged_in(self, secret: str) -> Login | None:
        """The login with the secret of a cookie, while it holds."""
        statement = (
            "SELECT p.name, p.role, l.guard FROM server_login l JOIN server_person p ON p.name = l.name "
            "WHERE l.digest = ? AND l.expires >= ? AND p.disabled = 0"
        )
        with self._tables.reading() as session:
            found = list(session.rows(statement, (digest(secret), now())))
        return Login(Person(found[0][0], found[0][1]), secret, found[0][2]) if found else None

    def log_out(self, secret: str) -> None:
        with self._tables.writing() as session:
            session.write("DELETE FROM server_login WHERE digest = ?", (digest(secret),))


def _person(session: Transaction, name: str) -> Person | None:
    found = list(session.rows("SELECT name, role, disabled FROM server_person WHERE name = ?", (name,)))
    return Person(found[0][0], found[0][1], bool(found[0][2])) if found else None


def _check_password(password: str, name: str) -> None:
    if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
        raise UsageError(f"a password has {LEAST_PASSWORD} to {MOST_PASSWORD} characters")
    if name.lower() in password.lower() or len(set(password)) < 5:
        raise UsageError("the password is too easy to guess: without your name, and with five different characters")


@contextmanager
def _one_of_few() -> Iterator[None]:
    """While a password is hashed, which takes 64 MiB: so not for as many at once as may come from many addresses."""
    if not _HASHING.acquire(blocking=False):
        raise RefusedError("too many come in at this moment: try again in a second")
    try:
        yield
    finally:
        _HASHING.release()


@lru_cache(maxsize=1)
def _hasher() -> PasswordHasher:
    """Argon2id with the library's parameters, those of RFC 9106 for little memory."""
    from argon2 import PasswordHasher

    return PasswordHasher()


@lru_cache(maxsize=1)
def _decoy() -> str:
    """A password that nobody has, so that an unknown name takes as long as a known one."""
    return _hasher().hash(new_secret())


def _fits(kept: str, password: str) -> bool:
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        return _hasher().verify(kept, password)
    except (Argon2Error, InvalidHashError):
        return False
