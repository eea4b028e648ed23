"""Files by their paths: one file, a folder of files, or all that match a pattern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from margrave.errors import DataError, UsageError, suggest
from margrave.measure.sources.registry import (
    Source,
    SourceKind,
    check_columns,
    file_kinds,
    is_url,
    no_dialect,
    register,
    source_kinds,
)
from margrave.spec.dialect import USUAL, Dialect

_TOTAL_FILES = 64
"""Of more files than this the records are not added up beforehand: that would open all of them twice."""


@dataclass(frozen=True)
class Chain:
    """Several files read one after the other, each by its own types. All must have the wanted columns."""

    parts: tuple[Source, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.parts[0].columns

    @property
    def total(self) -> int | None:
        if len(self.parts) > _TOTAL_FILES:
            return None
        totals = [part.total for part in self.parts]
        return None if None in totals else sum(total for total in totals if total is not None)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for position, part in enumerate(self.parts, start=1):
            try:
                check_columns(part, columns)
            except DataError as error:
                # The path of a part can hold a value (a partition's), so it is named by its position.
                raise DataError(f"file {position} of {len(self.parts)}: {error}") from None
        return chain.from_iterable(part.batches(columns) for part in self.parts)


def is_path(data: Any) -> bool:
    """Whether data is named by text: a path, a pattern or a URL."""
    return isinstance(data, str | Path)


def open_path(data: str | Path, base: Path, dialect: Dialect = USUAL) -> Source:
    """The file, the files of the folder, or the files that match."""
    if is_url(data):
        # Not repeated: it may hold a password.
        raise UsageError(
            "data cannot be a URL of this kind: only postgresql://user@host/db?table=people is known, as text (a Path "
            "does not keep it whole)"
        )
    path = base / data
    try:
        return _open_path(path, data, dialect)
    except PermissionError:
        pass
    raise no_permission(path)


def no_permission(path: Path) -> DataError:
    """Said before anything is spent where it can be, and with no more than the path."""
    return DataError(
        f"{path} may not be read: you have no permission for the file, or for a folder above it; ask its owner, or run "
        "this as somebody who may"
    )


def check_readable(path: Path) -> None:
    """Refuse a file that is not there, or that may not be read, before anything is spent."""
    denied = False
    try:
        if not path.exists():
            raise DataError(f"{path} does not exist{suggest(path.name, _siblings(path))}")
        if path.is_file():
            path.open("rb").close()
    except PermissionError:
        denied = True
    if denied:
        raise no_permission(path)


def _siblings(path: Path) -> list[str]:
    try:
        return sorted(other.name for other in path.parent.iterdir())
    except OSError:
        return []


def _open_path(path: Path, data: str | Path, dialect: Dialect) -> Source:
    if path.is_dir():
        if dialect.of_text:
            raise no_dialect("folders")
        return _open_folder(path)
    if path.exists():
        return _open_file(path, dialect)
    if any(letter in str(data) for letter in "*?["):
        pattern = path.absolute()
        files = sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
        if not files:
            raise DataError(f"no file matches {path}")
        return _chain([_open_file(file, dialect) for file in files if file.is_file()])
    raise DataError(f"{path} does not exist")


def _open_folder(path: Path) -> Source:
    """The files of the kinds that a folder may hold; what begins with a dot or an underscore is not data."""
    kinds = [kind for kind in file_kinds() if kind.in_folder is not None]
    parts = [
        kind.in_folder(file, path)
        for file in sorted(path.rglob("*"))
        for kind in kinds
        if kind.in_folder is not None and file.suffix.lower() in kind.extensions and file.is_file()
        if not _hidden(file.relative_to(path))
    ]
    if not parts:
        known = " or ".join(f"{kind.name} files ({', '.join(kind.extensions)})" for kind in kinds)
        raise DataError(f"{path} is a folder without {known}")
    return _chain(parts)


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _open_file(path: Path, dialect: Dialect) -> Source:
    if not path.is_file():
        raise DataError(f"{path} is no ordinary file: a pipe or a device cannot be read twice, and might never end")
    check_readable(path)
    kind = next((kind for kind in file_kinds() if kind.accepts(path)), None)
    if kind is None:
        endings = [*(one.extensions for one in file_kinds()), *(one.extensions for one in source_kinds())]
        known = ", ".join(chain.from_iterable(endings))
        packed = ", ".join(ending for one in file_kinds() for ending in one.compressions)
        raise UsageError(f"{path} has an unknown extension: known are {known}; text may be compressed too ({packed})")
    if not dialect.of_text:
        return kind.open(path)
    if kind.open_as is None:
        raise no_dialect(f"{kind.name} files")
    return kind.open_as(path, dialect)


def _chain(parts: Sequence[Source]) -> Source:
    return parts[0] if len(parts) == 1 else Chain(tuple(parts))


register(SourceKind("files", is_path, open_path, general=True, open_as=open_path))
