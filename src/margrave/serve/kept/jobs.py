"""Questions that wait, and what became of them. A job is written before anybody is told that it was taken.

Its id is the id of the request in the ledger: whatever is stopped, the same job is the same request, charged once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from margrave.errors import RefusedError
from margrave.ledger.journal import canonical
from margrave.ledger.stores.store import Transaction
from margrave.planning.questions.every import Question, read_asked
from margrave.planning.questions.several.batch import Batch, read_batch
from margrave.serve.kept.tables import ServerTables, now
from margrave.serve.kept.together import Together

State = Literal["waiting", "answered", "refused", "fault"]
STATES: tuple[State, ...] = ("waiting", "answered", "refused", "fault")
MOST_WAITING = 256
"""Jobs of one account that may wait at a time."""
_AT_ONCE = 500
_COLUMNS = "id, account, dataset, asked, state, created, result"


@dataclass(frozen=True)
class Job:
    """``asked`` is a question or batch as JSON; ``result`` the stored answer, or why there is none."""

    id: str
    account: str
    dataset: str
    asked: dict[str, Any]
    state: State
    created: int
    result: bytes | None = None


class _Wanted(NamedTuple):
    """A job that is to be taken, its question as text, and the digest by which that is known again."""

    job: Job
    text: str
    digest: str


def asked_in(job: Job) -> Question | Batch:
    """What a job asks."""
    return read_batch(job.asked) if "questions" in job.asked else read_asked(job.asked)


def request_id(account: str, key: str) -> str:
    """The id of a request by the key that an account chose: nobody meets the keys of others."""
    return "q" + sha256(f"{account}\n{key}".encode()).hexdigest()[:40]


class Jobs:
    """The jobs of a server."""

    def __init__(self, tables: ServerTables) -> None:
        self._tables = tables
        self._putting = Together(self._put_all)

    def put(self, identity: str, account: str, dataset: str, asked: dict[str, Any]) -> Job:
        """Take a job, or find it again: the same id stands for the same question, for ever."""
        text = canonical(asked)
        told = sha256(f"{dataset}\n{text}".encode()).hexdigest()
        return self._putting.done(_Wanted(Job(identity, account, dataset, asked, "waiting", now()), text, told))

    def _put_all(self, wanted: Sequence[_Wanted]) -> list[Job | Exception]:
        """Take several jobs, each of which may be refused by itself."""
        found: dict[int, Job | Exception] = {}
        with self._tables.writing() as session:
            # In one order, so that no two transactions wait for each other.
            for at in sorted(range(len(wanted)), key=lambda at: wanted[at].job.id):
                try:
                    found[at] = _put(session, wanted[at])
                except RefusedError as error:
                    found[at] = error
        return [found[at] for at in range(len(wanted))]

    def next(self, dataset: str) -> Job | None:
        """The job of a data set that waits longest."""
        statement = f"SELECT {_COLUMNS} FROM server_job WHERE dataset = ? AND state = 'waiting' ORDER BY number LIMIT 1"
        with self._tables.reading() as session:
            found = list(session.rows(statement, (dataset,)))
        return _job(found[0]) if found else None

    def finish(self, identity: str, state: State, result: bytes) -> None:
        """Note what became of a job; what is noted stays.

        It need not be settled on disk: the ledger has the charge and the answer, and a job whose note was lost with the
        power waits again, to be answered the same.
        """
        with self._tables.writing(settled=False) as session:
            session.write(
                "UPDATE server_job SET state = ?, result = ? WHERE id = ? AND state = 'waiting'",
                (state, result, identity),
            )

    def again(self, identity: str) -> None:
        """Let a job wait again that was given up after a fault: it stays charged, and asking again is free."""
        with self._tables.writing() as session:
            session.write(
                "UPDATE server_job SET state = 'waiting', result = NULL WHERE id = ? AND state = 'fault'", (identity,)
            )

    def found(self, identity: str, account: str | None = None) -> Job | None:
        """A job by its id; with an account, only one of its own."""
        where, parameters = ("", (identity,)) if account is None else (" AND account = ?", (identity, account))
        with self._tables.reading() as session:
            rows = list(session.rows(f"SELECT {_COLUMNS} FROM server_job WHERE id = ?{where}", parameters))
        return _job(rows[0]) if rows else None

    def waiting(self, account: str) -> frozenset[str]:
        """The jobs of an account that wait."""
        statement = "SELECT id FROM server_job WHERE account = ? AND state = 'waiting'"
        with self._tables.reading() as session:
            return frozenset(identity for (identity,) in session.rows(statement, (account,)))

    def settled(self, identities: Sequence[str]) -> dict[str, Job]:
        """Those of several jobs that wait no longer, by their ids."""
        found: dict[str, Job] = {}
        with self._tables.reading() as session:
            for at in range(0, len(identities), _AT_ONCE):
                some = tuple(identities[at : at + _AT_ONCE])
                marks = ", ".join("?" for _ in some)
                statement = f"SELECT {_COLUMNS} FROM server_job WHERE id IN ({marks}) AND state <> 'waiting'"
                found.update((row[0], _job(row)) for row in session.rows(statement, some))
        return found

    def of(self, account: str | None, after: int, limit: int) -> list[tuple[int, Job]]:
        """Jobs with their numbers, the oldest first, behind a number; of one account, or of all."""
        where, parameters = ("", (after, limit)) if account is None else (" AND account = ?", (after, account, limit))
        statement = f"SELECT number, {_COLUMNS} FROM server_job WHERE number > ?{where} ORDER BY number LIMIT ?"
        with self._tables.reading() as session:
            return [(row[0], _job(row[1:])) for row in session.rows(statement, parameters)]

    def latest(self, account: str, limit: int) -> list[Job]:
        """The latest jobs of an account, the newest first."""
        statement = f"SELECT {_COLUMNS} FROM server_job WHERE account = ? ORDER BY number DESC LIMIT ?"
        with self._tables.reading() as session:
            return [_job(row) for row in session.rows(statement, (account, limit))]


def _put(session: Transaction, wanted: _Wanted) -> Job:
    """A job as it is kept, now or since it was first taken."""
    job = wanted.job
    found = list(session.rows(f"SELECT {_COLUMNS}, digest FROM server_job WHERE id = ?", (job.id,)))
    if found:
        if found[0][-1] != wanted.digest:
            raise RefusedError("the key was used for another question: a new question needs a new key")
        return _job(found[0][:-1])
    waiting = "SELECT COUNT(*) FROM server_job WHERE account = ? AND state = 'waiting'"
    ((many,),) = list(session.rows(waiting, (job.account,)))
    if many >= MOST_WAITING:
        raise RefusedError(f"{MOST_WAITING} questions of yours wait already: ask again when some are answered")
    statement = (
        "INSERT INTO server_job (id, account, dataset, asked, digest, state, created) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id"
    )
    values = (job.id, job.account, job.dataset, wanted.text, wanted.digest, job.state, job.created)
    # Where another worker was given the same id meanwhile, it is that one's job which is found.
    return job if list(session.rows(statement, values)) else _put(session, wanted)


def _job(row: Any) -> Job:
    identity, account, dataset, asked, state, created, result = row
    return Job(identity, account, dataset, json.loads(asked), state, created, None if result is None else bytes(result))
