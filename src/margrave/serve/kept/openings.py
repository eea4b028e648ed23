"""Data sets that a curator wants opened: their public declarations, and what became of each.

Whoever takes requests notes them here, and never looks at a file. The process that answers opens them, from the one
folder that whoever runs the server has named; it lists the names of the files there for curators to choose from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Literal

from margrave.errors import RefusedError, UsageError
from margrave.planning.questions.data_spec import DataSpec
from margrave.serve.kept.tables import ServerTables, moment, now
from margrave.spec.document import parse_text

OpeningState = Literal["waiting", "open", "failed"]
MOST_SPEC = 200_000
"""Characters of a declaration."""
MOST_SOURCES = 1_000
_SOURCE = re.compile(r"[A-Za-z0-9_][\w -]*(\.[\w -]+)*(/[A-Za-z0-9_][\w -]*(\.[\w -]+)*)*")
"""A file in the folder, or in one of its folders: no way out, no address, no pattern, nothing hidden."""
_COLUMNS = "id, dataset, spec, state, created, told"


@dataclass(frozen=True)
class Opening:
    """``spec`` is the declaration as TOML; ``told`` why it failed, for curators."""

    id: str
    dataset: str
    spec: str
    state: OpeningState
    created: int
    told: str = ""

    def to_json(self) -> dict[str, Any]:
        told = {"id": self.id, "dataset": self.dataset, "state": self.state, "created": moment(self.created)}
        return {**told, "detail": self.told}


def declared(text: str) -> DataSpec:
    """The declaration that a text is. No file is read for it, and each table names one that may be opened."""
    data = DataSpec.load(parse_text(text, "the declaration"))
    for table in data.tables:
        if table.source is None:
            raise UsageError(f'the table {table.name!r} names no file: source = "{table.name}.csv"')
        if not names_source(table.source):
            raise UsageError(
                f"the source of the table {table.name!r} must be a file in the folder that the server may open: its "
                "name alone, without a way to it"
            )
    return data


def names_source(text: str) -> bool:
    """Whether a text can be the name of a file in the folder of sources."""
    return len(text) <= 200 and _SOURCE.fullmatch(text) is not None


class Openings:
    """The openings of a server, and the names of the files that it may open."""

    def __init__(self, tables: ServerTables) -> None:
        self._tables = tables

    def put(self, dataset: str, spec: str) -> Opening:
        """Have a data set opened; one that is being opened already is not opened twice."""
        declared(spec)
        one = Opening(token_hex(8), dataset, spec, "waiting", now())
        with self._tables.writing() as session:
            waiting = "SELECT id FROM server_opening WHERE dataset = ? AND state = 'waiting'"
            if list(session.rows(waiting, (dataset,))):
                raise RefusedError(f"{dataset} is being opened already: wait until that is done")
            session.write(
                "INSERT INTO server_opening (id, dataset, spec, state, created, told) VALUES (?, ?, ?, ?, ?, '')",
                (one.id, dataset, spec, one.state, one.created),
            )
        return one

    def next(self) -> Opening | None:
        """The opening that waits longest."""
        statement = f"SELECT {_COLUMNS} FROM server_opening WHERE state = 'waiting' ORDER BY number LIMIT 1"
        with self._tables.reading() as session:
            found = list(session.rows(statement))
        return Opening(*found[0]) if found else None

    def found(self, identity: str) -> Opening | None:
        with self._tables.reading() as session:
            rows = list(session.rows(f"SELECT {_COLUMNS} FROM server_opening WHERE id = ?", (identity,)))
        return Opening(*rows[0]) if rows else None

    def finish(self, identity: str, state: OpeningState, told: str = "") -> None:
        """Note what became of an opening; what is noted stays."""
        with self._tables.writing() as session:
            statement = "UPDATE server_opening SET state = ?, told = ? WHERE id = ? AND state = 'waiting'"
            session.write(statement, (state, told, identity))

    def of(self, after: int, limit: int) -> list[tuple[int, Opening]]:
        """Openings with their numbers, the oldest first, behind a number."""
        statement = f"SELECT number, {_COLUMNS} FROM server_opening WHERE number > ? ORDER BY number LIMIT ?"
        with self._tables.reading() as session:
            return [(row[0], Opening(*row[1:])) for row in session.rows(statement, (after, limit))]

    def latest(self) -> dict[str, Opening]:
        """The latest opening of each data set."""
        statement = f"SELECT {_COLUMNS} FROM server_opening ORDER BY number"
        with self._tables.reading() as session:
            return {row[1]: Opening(*row) for row in session.rows(statement)}

    def sources(self) -> list[str]:
        """The names of the files that may be opened."""
        with self._tables.reading() as session:
            return [name for (name,) in session.rows("SELECT name FROM server_source ORDER BY name")]

    def list_sources(self, names: Iterable[str]) -> None:
        """Say which files may be opened, by whoever may look."""
        wanted = sorted(names)[:MOST_SOURCES]
        if wanted == self.sources():
            return
        with self._tables.writing() as session:
            session.write("DELETE FROM server_source")
            for name in wanted:
                session.write("INSERT INTO server_source (name) VALUES (?)", (name,))
