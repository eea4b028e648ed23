"""The private store: a folder with one database file, which says by which declaration it was made."""

from __future__ import annotations

import json
from typing import Any

from margrave.errors import DataError
from margrave.planning.questions.data_spec import DataSpec

STORE = "store.duckdb"
FORMAT = 1


def stored_spec(connection: Any) -> DataSpec:
    """The declaration that a store was made by."""
    told = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    if told.get("format") != str(FORMAT):
        raise DataError("the private store has another format: open the data set anew under another version")
    return DataSpec.load(json.loads(told["spec"]))
