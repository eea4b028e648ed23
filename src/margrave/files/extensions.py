"""How the names of files of data end, by kind. Whoever reads data, and whoever must not, asks here."""

from __future__ import annotations

from pathlib import Path

DELIMITED = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
DUCKDB = (".duckdb", ".ddb")
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
SURVEYS = (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt")
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}
"""What may follow after the extension of text, and the name of the compression."""

_SPECS_TOO = (".txt",)
"""A spec may be called so as well as data may."""
_DATA = frozenset((*DELIMITED, *PARQUET, *ARROW, *DUCKDB, *SPREADSHEETS, *SURVEYS, *COMPRESSIONS)) - frozenset(
    _SPECS_TOO
)


def is_data(path: Path) -> bool:
    """Whether a file is data by its name, so that it is no text that is meant to be public."""
    return path.suffix.lower() in _DATA
