"""The form of a ledger's tables: their columns, keys and guards, as they were made, against as they are found."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from margrave.errors import VerificationError

_WAY_ON = "somebody changed it by other means than Margrave; restore it from a backup"


@dataclass(frozen=True)
class Form:
    """A table as it stands in a store: what kind of thing it is, its columns, its key, and the triggers that guard it.

    ``columns`` says of each whether it must have a value; ``guards`` holds the text of each trigger.
    """

    kind: str
    columns: Mapping[str, bool]
    key: tuple[str, ...]
    guards: Mapping[str, str]


def sqlite_forms(connection: Any) -> dict[str, Form]:
    """The tables and views of a SQLite connection whose names begin as those of a ledger do."""
    found: dict[str, Form] = {}
    things = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    for kind, name, _, _ in things:
        if kind in ("table", "view") and name.startswith("ledger_"):
            columns = connection.execute('SELECT name, pk, "notnull" FROM pragma_table_info(?)', (name,)).fetchall()
            key = sorted((place, column) for column, place, _ in columns if place)
            guards = {
                other: " ".join(text.split())
                for type_, other, table, text in things
                if (type_, table) == ("trigger", name)
            }
            needed = {column: bool(must or place) for column, place, must in columns}
            found[name] = Form(kind, needed, tuple(column for _, column in key), guards)
    return found


def as_made(statements: Iterable[str]) -> dict[str, Form]:
    """The tables that some statements of SQLite make."""
    connection = sqlite3.connect(":memory:")
    try:
        for statement in statements:
            connection.execute(statement)
        return sqlite_forms(connection)
    finally:
        connection.close()


def check_forms(found: Mapping[str, Form], made: Mapping[str, Form], guards: Mapping[str, Mapping[str, str]]) -> None:
    """Every table is there as it was made, with its ``guards`` and no other trigger. Further tables are nobody's."""
    for name, form in made.items():
        here = found.get(name)
        if here is None:
            raise VerificationError(f"the ledger has no table {name}: {_WAY_ON}")
        if here.kind != "table":
            raise VerificationError(f"{name} is no longer an ordinary table, but a {here.kind}: {_WAY_ON}")
        if here.columns != form.columns or here.key != form.key:
            raise VerificationError(f"the table {name} has other columns, constraints or keys than it had: {_WAY_ON}")
        _check_guards(name, here.guards, guards.get(name, {}))


def _check_guards(table: str, found: Mapping[str, str], made: Mapping[str, str]) -> None:
    for name, text in made.items():
        if name not in found:
            raise VerificationError(f"the guard {name} of the table {table} was removed: {_WAY_ON}")
        if found[name] != text:
            raise VerificationError(f"the guard {name} of the table {table} was changed or switched off: {_WAY_ON}")
    for name in sorted(found.keys() - made.keys()):
        raise VerificationError(f"the table {table} has a trigger {name} that no ledger has: {_WAY_ON}")
