"""The access log: who did what and when. No value of a question, an answer, a path or a header is in it."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

from margrave.serve.kept.tables import ServerTables, moment, now


@dataclass(frozen=True)
class Visit:
    """``operation`` is the name of one that is declared, never a path as it was sent."""

    time: int
    who: str
    address: str
    operation: str
    status: int

    def to_json(self) -> dict[str, Any]:
        told = {"time": moment(self.time), "who": self.who, "address": self.address}
        return {**told, "operation": self.operation, "status": self.status}


class AccessLog:
    """Appends visits: what changes something at once, what only reads together with others, within a second."""

    def __init__(self, tables: ServerTables) -> None:
        self._tables, self._kept, self._lock = tables, list[Visit](), Lock()

    def note(self, who: str, address: str, operation: str, status: int, *, at_once: bool) -> None:
        with self._lock:
            self._kept.append(Visit(now(), who, address, operation, status))
        if at_once:
            self.flush()

    def flush(self) -> None:
        """Write what is kept back."""
        with self._lock:
            kept, self._kept = self._kept, []
        if not kept:
            return
        with self._tables.writing() as session:
            for one in kept:
                session.write(
                    "INSERT INTO server_access (time, who, address, operation, status) VALUES (?, ?, ?, ?, ?)",
                    (one.time, one.who, one.address, one.operation, one.status),
                )

    def latest(self, limit: int) -> list[dict[str, Any]]:
        """The latest visits, the newest first."""
        statement = "SELECT time, who, address, operation, status FROM server_access ORDER BY number DESC LIMIT ?"
        with self._tables.reading() as session:
            return [Visit(*row).to_json() for row in session.rows(statement, (limit,))]

    def visits(self, after: int, limit: int) -> list[tuple[int, Visit]]:
        """Visits with their numbers, the oldest first, behind a number."""
        statement = (
            "SELECT number, time, who, address, operation, status FROM server_access "
            "WHERE number > ? ORDER BY number LIMIT ?"
        )
        with self._tables.reading() as session:
            return [(row[0], Visit(*row[1:])) for row in session.rows(statement, (after, limit))]
