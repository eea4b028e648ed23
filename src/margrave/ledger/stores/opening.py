"""The store that a path or URL names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from margrave.errors import UsageError
from margrave.ledger.stores.store import Store


def open_store(url: str | Path, *, create: bool = False, wait: float | None = None) -> Store:
    """The store that a path or URL names."""
    text = str(url)
    options: dict[str, Any] = {} if wait is None else {"wait": wait}
    scheme: Literal["postgresql", "sqlite"] | str = text.partition(":")[0] if ":" in text else "sqlite"
    if scheme in ("postgresql", "postgres"):
        from margrave.ledger.stores.postgres import PostgresStore

        return PostgresStore(text, **options)
    if "://" in text and scheme != "sqlite":
        raise UsageError("a ledger is a file, or a PostgreSQL database named by postgresql://…")
    from margrave.ledger.stores.sqlite import SqliteStore

    path = text.removeprefix("sqlite:").removeprefix("//") if text.startswith("sqlite:") else text
    return SqliteStore(Path(path), create=create, **options)
