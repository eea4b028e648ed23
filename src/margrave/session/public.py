"""Public tables in Python: what anybody may know of the values of a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from margrave.errors import UsageError
from margrave.planning.questions.language.public import PublicName, PublicTable
from margrave.planning.questions.public import load_public, public_table


@dataclass(frozen=True)
class PublicRows:
    """A public table: what anybody may know of the values of its key. ``node`` is what a question says of it."""

    table: PublicTable = field(repr=False)
    node: PublicTable | PublicName = field(repr=False)

    def __repr__(self) -> str:
        keys, *others = self.table.columns
        return f"a public table of {len(keys.values):,} rows: {keys.name} → {', '.join(one.name for one in others)}"


def public(columns: Any, *, key: str) -> PublicRows:
    """A public table, from lists by name or from a data frame: ``public({"area": […], "land": […]}, key="area")``.

    It is part of each question that is joined with it: nothing confidential belongs in it.
    """
    if not isinstance(columns, Mapping) and hasattr(columns, "to_dict"):
        columns = {str(name): columns[name].tolist() for name in columns.columns}
    if not isinstance(columns, Mapping) or not all(
        isinstance(name, str) and isinstance(values, list | tuple) for name, values in columns.items()
    ):
        raise UsageError("a public table is made of a list of values for each column, by its name")
    found = public_table(columns, key)
    return PublicRows(found, found)


def public_in(path: str | Path) -> dict[str, PublicRows]:
    """The public tables of a file, by name: ``s.ask("people join places on region count", **public_in(file))``."""
    return {name: PublicRows(table, table) for name, table in load_public(path).items()}
