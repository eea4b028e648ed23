"""Which server answers: one at a time for each store, so that there is one slot for each data set.

Two that answer at once would cost nothing and answer nothing differently, as the ledger sees to that; but how long one
waits would tell what the other does.
"""

from __future__ import annotations

from margrave.serve.kept.tables import ServerTables, now

HOLDS = 15
"""Seconds after which a server that no longer says so does not answer."""
_NAME = "answering"


class Holder:
    """The word of one server, by an id of its own, that it answers."""

    def __init__(self, tables: ServerTables, identity: str) -> None:
        self._tables, self._identity = tables, identity

    def held(self) -> bool:
        """Whether this one answers, for some seconds from now."""
        statement = (
            "INSERT INTO server_holder (name, holder, until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE "
            "SET holder = excluded.holder, until = excluded.until "
            "WHERE server_holder.holder = excluded.holder OR server_holder.until < ? RETURNING holder"
        )
        with self._tables.writing() as session:
            return bool(list(session.rows(statement, (_NAME, self._identity, now() + HOLDS, now()))))

    def release(self) -> None:
        """Let another one answer at once."""
        with self._tables.writing() as session:
            session.write("DELETE FROM server_holder WHERE name = ? AND holder = ?", (_NAME, self._identity))
